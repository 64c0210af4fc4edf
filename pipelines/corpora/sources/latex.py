"""Folders of LaTeX: each main file an item, joined with the parts that it reads in.

Odd: a part is a record only inside its main file, so a `.tex` file without `\\documentclass` becomes a reject that says
so. An archive is one document's folder, as preprint servers keep them. What is read in never comes from elsewhere.
"""

import posixpath
from collections.abc import Callable, Iterator
from typing import Annotated

from msgspec import Meta

from trivium.data.stage import Content, Drop, Outcome
from trivium.data.text.charset import decode
from trivium.data.text.latex.source import declared, is_main, join
from trivium.pipelines.corpora.sources import archives, files
from trivium.pipelines.corpora.sources.base import Place, RefusedError
from trivium.pipelines.corpora.sources.folder import readable_path
from trivium.pipelines.corpora.sources.packed import Packed


class LatexFolder(Packed, kw_only=True, tag="latex_folder"):
    """LaTeX documents below a folder or in archives; `max_bytes` is of a file and of what it becomes when joined.

    `parts`: whether files without `\\documentclass` are items too. `max_archive`: bytes of LaTeX in one archive.
    """

    GIVES = Content.LATEX

    suffixes: tuple[str, ...] = (".tex", ".ltx", ".latex", ".tex.gz")
    max_bytes: int = 8 << 20
    mime: str = "application/x-tex"
    parts: bool = False
    max_archive: Annotated[int, Meta(ge=1)] = 64 << 20

    def split(self, place: Place) -> Iterator[Place | Drop]:
        yield place

    def read(self, place: Place, corpus: str, domain: str) -> Iterator[Outcome]:
        if self._archive(place):
            yield from self._archived(place, corpus, domain)
            return
        try:
            for _, body in self._bodies(place):
                assert not isinstance(body, RefusedError)  # only members of archives are
                yield self._joined(place.address, body, self._beside(place), corpus, domain)
        except RefusedError as why:
            yield self.refused(place.address, why)

    def _archived(self, place: Place, corpus: str, domain: str) -> Iterator[Outcome]:
        held: dict[str, bytes] = {}
        try:
            for name, found in self._members(place):
                if isinstance(found, RefusedError):
                    yield self.refused(f"{place.address}/{name}", found)
                    continue
                held[name] = found
                if sum(map(len, held.values())) > self.max_archive:
                    raise RefusedError("too_large", f"more than {self.max_archive:,} bytes of LaTeX (max_archive)")
        except RefusedError as why:
            yield self.refused(place.address, why)
        for name, body in held.items():
            folder = posixpath.dirname(name)
            beside = {posixpath.relpath(other, folder or "."): data for other, data in held.items()}
            yield self._joined(f"{place.address}/{name}", body, beside.get, corpus, domain)

    def _members(self, place: Place) -> Iterator[tuple[str, bytes | RefusedError]]:
        if archives.one_pass(place.address):
            skip = len(place.address) + 1
            yield from ((address[skip:], body) for address, body in self._streamed(place))
            return
        path = readable_path(place)
        for member in archives.members(path, place.root, self.max_ratio):
            if not self.wants(member.name):
                continue
            try:
                if member.wrong is not None:
                    raise member.wrong
                limit, size = self.max_bytes, member.size
                body = archives.read_member(path, place.root, member.name, member.offset, size, limit)
                yield member.name, files.bounded(body, limit, lambda size=size: size)  # type: ignore[misc]
            except RefusedError as why:
                yield member.name, why

    def _beside(self, place: Place) -> Callable[[str], bytes | None]:
        """What reads a file of the same folder or below; nothing where there is none, or it leads elsewhere."""
        folder = place.path.rpartition("/")[0]

        def read(name: str) -> bytes | None:
            try:
                return files.read_whole(files.joined(folder, name), self.max_bytes, place.root)
            except RefusedError:
                return None

        return read

    def _joined(
        self, address: str, body: bytes, read: Callable[[str], bytes | None], corpus: str, domain: str
    ) -> Outcome:
        if not self.parts and not is_main(body):
            return self.drop(address, "part", "no \\documentclass: it is read where a main file has it read in")
        encodings = declared(body)

        def part(name: str) -> str | None:
            found = read(name)
            return None if found is None else decode(found, encodings)[0]

        text, _ = join(decode(body, encodings)[0], part, self.max_bytes, posixpath.basename(address))
        whole = text.encode("utf-8", "replace")
        if len(whole) > self.max_bytes:
            detail = f"{len(whole):,} bytes when joined, limit {self.max_bytes:,}"
            return self.drop(address, "too_large", detail)
        return self.raw(corpus, domain, address=address, body=whole, mime=self.mime)
