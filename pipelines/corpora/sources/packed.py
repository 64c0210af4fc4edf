"""Folders of files that may lie in archives or be compressed: the base of text, Markdown, LaTeX, PDF and code."""

from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, ClassVar

from msgspec import Meta

from trivium.data.stage import Drop, Outcome
from trivium.pipelines.corpora.sources import archives, files, streams
from trivium.pipelines.corpora.sources.base import Place, RefusedError
from trivium.pipelines.corpora.sources.folder import Folder, file_places, readable_path


class Packed(Folder, kw_only=True):
    """Matching files below `path`, or of `path` itself, and with `archives` those inside tars and zips.

    A member's address is the archive's name, `/`, the member's. Archives inside archives are not opened.
    `max_ratio`: how many times its size on disk a compressed file or archive may unpack to.
    """

    UNPACKS: ClassVar[bool] = True  # whether a compressed file is one of the kind (`page.txt.gz`)

    archives: bool = True
    max_ratio: Annotated[float, Meta(ge=1)] = 200.0

    def places(self, base: Path) -> Iterator[Place]:
        suffixes = (*self.suffixes, *archives.SUFFIXES) if self.archives else self.suffixes
        yield from file_places(self.where(base), suffixes, one=True)

    def split(self, place: Place) -> Iterator[Place | Drop]:
        """One place for each member of an archive that can be read at random."""
        if not self._archive(place) or archives.one_pass(place.address):
            yield place
            return
        try:
            for member in archives.members(readable_path(place), place.root, self.max_ratio):
                if not self.wants(member.name):
                    continue
                address = f"{place.address}/{member.name}"
                if member.wrong is not None:
                    yield self.refused(address, member.wrong)
                    continue
                yield Place(
                    path=place.path,
                    address=address,
                    offset=member.offset,
                    length=member.size,
                    member=member.name,
                    root=place.root,
                )
        except RefusedError as why:
            yield self.refused(place.address, why)

    def read(self, place: Place, corpus: str, domain: str) -> Iterator[Outcome]:
        try:
            for address, body in self._bodies(place):
                if isinstance(body, RefusedError):
                    yield self.refused(address, body)
                else:
                    yield from self.records(address, body, corpus, domain)
        except RefusedError as why:
            yield self.refused(place.address, why)

    def records(self, address: str, body: bytes, corpus: str, domain: str) -> Iterator[Outcome]:
        """What one file gives; a kind that looks inside overrides this."""
        yield self.raw(corpus, domain, address=address, body=body, mime=self.mime)

    def wants(self, name: str) -> bool:
        """Whether a member of an archive is of this kind."""
        return name.lower().endswith(self.suffixes)

    def _archive(self, place: Place) -> bool:
        return self.archives and not place.member and archives.is_archive(place.address)

    def _bodies(self, place: Place) -> Iterator[tuple[str, bytes | RefusedError]]:
        if self._archive(place):
            yield from self._streamed(place)
            return
        path = readable_path(place)
        if place.member:
            limit = self.max_bytes
            body = archives.read_member(path, place.root, place.member, place.offset, place.length, limit)
            yield place.address, files.bounded(body, limit, lambda: place.length)
        elif self.UNPACKS and streams.coding_of(path):
            with streams.unpacked(files.opened(path, place.root), path, self.max_ratio) as file:
                body = file.read(self.max_bytes + 1)
            yield place.address, files.bounded(body, self.max_bytes, lambda: len(body))
        else:
            yield place.address, files.read_whole(path, self.max_bytes, place.root)

    def _streamed(self, place: Place) -> Iterator[tuple[str, bytes | RefusedError]]:
        for member, read in archives.streamed(readable_path(place), place.root, self.max_ratio):
            if not self.wants(member.name):
                continue
            body: bytes | RefusedError
            try:
                if member.wrong is not None:
                    raise member.wrong
                size = member.size
                body = files.bounded(read(self.max_bytes), self.max_bytes, lambda size=size: size)  # type: ignore[misc]
            except RefusedError as why:
                body = why
            yield f"{place.address}/{member.name}", body
