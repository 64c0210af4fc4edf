"""Where scenes come from: folders of POV-Ray and OpenSCAD code and of meshes, and the generators."""

import posixpath
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Annotated, Self

import msgspec
from msgspec import Meta

from trivium.data.pairs import bundle
from trivium.data.scene import generators
from trivium.data.scene.closure import SCENES, OutsideError, closure
from trivium.data.scene.shapes import MESHES
from trivium.data.stage import Content, Outcome, Raw
from trivium.pipelines.corpora.sources import Counted, Place, RefusedError, Source, files
from trivium.pipelines.corpora.sources.base import AbsentError
from trivium.pipelines.corpora.sources.folder import file_places, readable_path


class SceneFolder(Source, kw_only=True, tag="scene_folder"):
    """POV-Ray scenes, OpenSCAD files and meshes below a folder, each with all files that it names (a bundle).

    A scene that names anything outside `path` and `libraries` is refused (`external_reference`). `licenses`: licence by
    the beginning of an address, the longest that fits, where a folder has several. `libraries`: folders that code may
    name files of, by the paths inside them.
    """

    GIVES = Content.SCENES

    suffixes: tuple[str, ...] = (*SCENES, *MESHES)  # ends of the names of files that are items
    skip: tuple[str, ...] = ()  # beginnings of addresses that are passed over
    licenses: dict[str, str] = {}
    libraries: tuple[str, ...] = ()
    max_bytes: Annotated[int, Meta(ge=1)] = 16 << 20  # of an item with all its files; a larger one is a reject

    def paths(self) -> dict[tuple[str | int, ...], str]:
        return {("path",): self.path, **{("libraries", at): path for at, path in enumerate(self.libraries)}}

    def with_paths(self, paths: Mapping[tuple[str | int, ...], str]) -> Self:
        found = tuple(paths.get(("libraries", at), path) for at, path in enumerate(self.libraries))
        return msgspec.structs.replace(self, path=paths.get(("path",), self.path), libraries=found)

    def check(self, base: Path) -> None:
        super().check(base)
        for at, path in enumerate(self.libraries):
            if not (base / Path(path).expanduser()).is_dir():
                raise AbsentError(f"source {self.name!r}: the library {path} is no folder", ("libraries", at))

    def places(self, base: Path) -> Iterator[Place]:
        libraries = "\n".join(str((base / Path(path).expanduser()).absolute()) for path in self.libraries)
        for place in file_places(self.where(base), self.suffixes):
            if not place.address.startswith(self.skip):
                yield msgspec.structs.replace(place, member=libraries)

    def read(self, place: Place, corpus: str, domain: str) -> Iterator[Outcome]:
        try:
            yield self._bundle(place, corpus, domain)
        except RefusedError as why:
            yield self.refused(place.address, why)

    def _bundle(self, place: Place, corpus: str, domain: str) -> Raw:
        content = files.read_whole(readable_path(place), self.max_bytes, place.root)
        roots = [place.root, *filter(None, place.member.split("\n"))]
        left = self.max_bytes - len(content)

        def find(path: str) -> bytes | None:
            nonlocal left
            for root in roots:
                try:
                    found = files.read_whole(str(Path(root) / path), self.max_bytes, root)
                except RefusedError as why:
                    if why.reason in ("symlink_escape", "too_large"):
                        raise
                    continue
                left -= len(found)
                if left < 0:
                    raise RefusedError("too_large", f"more than {self.max_bytes:,} bytes with the files that it names")
                return found
            return None

        try:
            beside = closure(place.address, content, find)
        except OutsideError as error:
            raise RefusedError("external_reference", str(error)) from None
        body = bundle.pack(place.address, {**beside, place.address: content})
        fitting = [start for start in self.licenses if place.address.startswith(start)]
        license_ = self.licenses[max(fitting, key=len)] if fitting else self.license
        title = _title(place.address)
        raw = self.raw(corpus, domain, address=place.address, body=body, mime=bundle.MIME, title=title)
        return msgspec.structs.replace(raw, license=license_)


def _title(address: str) -> str:
    """Words of the file's name."""
    stem = posixpath.splitext(posixpath.basename(address))[0]
    return " ".join(stem.replace("_", " ").replace("-", " ").split())


class SceneGenerator(Counted, kw_only=True, tag="scene_generator"):
    """`count` scenes that the generators write from `seed`, all kinds alike often; no file is read."""

    GIVES = Content.SCENES
    CHUNK = 1

    kinds: tuple[str, ...] = generators.USUAL  # which generators; `market` writes long scenes, for sessions

    def __post_init__(self) -> None:
        for kind in self.kinds:
            if kind not in generators.KINDS:
                raise ValueError(f"kinds: {kind!r} is none; there are {', '.join(generators.KINDS)}")

    def address(self, number: int) -> str:
        return f"{self.kinds[number % len(self.kinds)]}-{number:08d}"

    def read(self, place: Place, corpus: str, domain: str) -> Iterator[Outcome]:
        kind = self.kinds[place.offset % len(self.kinds)]
        made = generators.scene(kind, self.seed, place.offset)
        body = bundle.pack(made.name, {made.name: made.code.encode()})
        yield self.raw(corpus, domain, address=place.address, body=body, mime=bundle.MIME, title=made.title)
