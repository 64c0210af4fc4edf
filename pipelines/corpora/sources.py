"""Where a recipe's items come from: the contract of sources, and folders of files.

A source lists its places in the driver (names only), splits a place into records inside a worker, and reads a record's
bytes inside a worker. Only places travel through Beam's shuffle, never bytes.
"""

import os
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Annotated, ClassVar, Self

import msgspec

from trivium.data.config import Strict
from trivium.data.records import source_id
from trivium.data.stage import Content, Drop, Raw
from trivium.errors import InputError

READ = "read"  # the stage name of drops that a reader makes


class Place(msgspec.Struct, frozen=True, kw_only=True):
    """One item to read: a file (`path` absolute) or the record at `offset` in it; `address` is its lasting name."""

    path: str
    address: str
    offset: int = -1  # -1: the whole file


class AbsentError(InputError):
    """An input is not there; `keys` lead from the source to the path that names it."""

    def __init__(self, message: str, keys: tuple[str | int, ...]) -> None:
        super().__init__(message)
        self.keys = keys


class Source(Strict, kw_only=True, tag_field="kind"):
    """Fields and behaviour that every source has; a kind adds its own fields, `GIVES`, `places` and `read`.

    `path` is relative to the recipe's folder; `inputs` names the entry of examples/inputs.yaml that brings it.
    """

    GIVES: ClassVar[Content]

    name: str
    path: str
    license: str
    language: str = ""
    inputs: str = ""

    def paths(self) -> dict[tuple[str | int, ...], str]:
        """Every path or address that the source names, by the keys that lead to it."""
        return {("path",): self.path}

    def with_paths(self, paths: Mapping[tuple[str | int, ...], str]) -> Self:
        """The same source with some of `paths()` replaced."""
        return msgspec.structs.replace(self, path=paths.get(("path",), self.path))

    def root(self, base: Path) -> Path:
        return (base / Path(self.path).expanduser()).absolute()

    def reads(self, base: Path) -> tuple[Path, ...]:
        """The local files and folders that the source reads: no place for what a build writes."""
        return (self.root(base),)

    def check(self, base: Path) -> None:
        """Raises InputError before any work when the input is not there."""
        root = self.root(base)
        if not root.exists():
            name = self.inputs or "NAME"
            hint = "" if self.inputs else " (names: trivium inputs list)"
            relative = (
                "" if Path(self.path).expanduser().is_absolute() else f" (path {self.path}, relative to the recipe)"
            )
            raise InputError(
                f"source {self.name!r}: {root.resolve()} does not exist{relative}; bring it with "
                f"`trivium inputs fetch {name}`{hint} or mend `path` in the recipe"
            )

    def places(self, base: Path) -> Iterator[Place]:
        """The files to read, sorted, names only; runs in the driver."""
        raise NotImplementedError

    def split(self, place: Place) -> Iterator[Place | Drop]:
        """The records of one place; runs in a worker, before a reshuffle. A whole file stays one item."""
        yield place

    def read(self, place: Place, corpus: str, domain: str) -> Iterator[Raw | Drop]:
        """The bytes of one item; runs in a worker."""
        raise NotImplementedError

    def drop(self, address: str, reason: str, detail: str = "", *, error: bool = False) -> Drop:
        return Drop(
            source_id=source_id(self.name, address),
            source=self.name,
            address=address,
            stage=READ,
            reason=reason,
            detail=detail,
            error=error,
        )


class Folder(Source, kw_only=True):
    """Base of sources that read each matching file below a folder as one item."""

    suffixes: tuple[str, ...]
    max_bytes: Annotated[int, msgspec.Meta(ge=1)] = 8 << 20
    mime: str = "application/octet-stream"

    def places(self, base: Path) -> Iterator[Place]:
        root = self.root(base)
        for relative in list_files(root, self.suffixes):
            yield Place(path=str(root / relative), address=relative)

    def read(self, place: Place, corpus: str, domain: str) -> Iterator[Raw | Drop]:
        path = Path(place.path)
        root = path
        for _ in Path(place.address).parts:
            root = root.parent
        if not path.resolve().is_relative_to(root.resolve()):
            yield self.drop(place.address, "symlink_escape", f"leads to {path.resolve()}, outside {root}")
            return
        try:
            with path.open("rb") as file:
                body = file.read(self.max_bytes + 1)
        except OSError as error:
            yield self.drop(place.address, "unreadable", error.strerror or str(error), error=True)
            return
        if len(body) > self.max_bytes:
            size = path.stat().st_size
            yield self.drop(place.address, "too_large", f"{size:,} bytes, limit {self.max_bytes:,}")
            return
        if not body:
            yield self.drop(place.address, "empty", "0 bytes")
            return
        yield Raw(
            corpus=corpus,
            domain=domain,
            source=self.name,
            address=place.address,
            license=self.license,
            body=body,
            mime=self.mime,
            language=self.language,
        )


def list_files(root: Path, suffixes: tuple[str, ...]) -> list[str]:
    """Files below `root` (POSIX paths relative to it) with one of the suffixes, sorted; linked folders not entered."""
    if root.is_file():
        raise InputError(f"{root} is a file; this kind of source reads a folder")
    found = []
    for folder, _, names in os.walk(root, followlinks=False):
        for name in names:
            if name.lower().endswith(suffixes):
                found.append((Path(folder) / name).relative_to(root).as_posix())
    if not found:
        raise InputError(f"{root} holds no file ending in {', '.join(suffixes)}; mend `path` or `suffixes`")
    return sorted(found)


class HtmlFolder(Folder, kw_only=True, tag="html_folder"):
    """HTML pages below a folder, as a website's mirror or a documentation package lays them."""

    GIVES = Content.HTML

    suffixes: tuple[str, ...] = (".html", ".htm", ".xhtml")
    mime: str = "text/html"
