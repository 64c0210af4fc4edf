"""Folders of plain text and of Markdown: whole files, or files cut into records where a stated line begins one."""

import io
import re
from collections.abc import Iterator
from typing import Annotated

from msgspec import Meta

from trivium.data.stage import Content, Drop, Outcome
from trivium.data.text.charset import decode
from trivium.pipelines.corpora.sources import files, lines, streams
from trivium.pipelines.corpora.sources.base import Place, RefusedError
from trivium.pipelines.corpora.sources.folder import line_blocks, readable_path
from trivium.pipelines.corpora.sources.packed import Packed

_WIDE_BOMS = (b"\xff\xfe", b"\xfe\xff", b"\0\0\xfe\xff")


class MarkdownFolder(Packed, kw_only=True, tag="markdown_folder"):
    """Markdown files below a folder or in archives."""

    GIVES = Content.MARKDOWN

    suffixes: tuple[str, ...] = (".md", ".markdown", ".mdx")
    mime: str = "text/markdown"


class ManFolder(Packed, kw_only=True, tag="man_folder"):
    """Manual pages below a folder, as distributions lay them: `man1/ls.1.gz`."""

    GIVES = Content.ROFF

    suffixes: tuple[str, ...] = tuple(f".{section}{end}" for section in "12345678" for end in ("", ".gz"))
    mime: str = "text/troff"


class TextFolder(Packed, kw_only=True, tag="text_folder"):
    """Text files below a folder or in archives, each a record of its own.

    With `begins` a record begins at each line that this regular expression matches (an entry of a dictionary, a letter
    of a mailbox) and, with `ends_apart`, that line itself is left out (a rule between records). Files above 32 MiB are
    then read in blocks by many workers; `max_bytes` is of a record, and a file in UTF-16 must not be longer. `gather`:
    records that follow each other become one, of at most so many bytes.
    """

    GIVES = Content.PLAIN

    suffixes: tuple[str, ...] = (".txt", ".text", ".txt.gz")
    mime: str = "text/plain"
    begins: str = ""
    ends_apart: bool = False
    gather: Annotated[int, Meta(ge=0)] = 0

    def __post_init__(self) -> None:
        try:
            re.compile(self.begins)
        except re.error as error:
            raise ValueError(f"begins: {self.begins!r} is no regular expression: {error}") from None
        for name in ("ends_apart", "gather"):
            if getattr(self, name) and not self.begins:
                raise ValueError(f"{name} is about the records that `begins` makes; give that too")

    def split(self, place: Place) -> Iterator[Place | Drop]:
        if not self.begins or self._archive(place) or streams.coding_of(place.path):
            yield from super().split(place)
            return
        try:
            yield from line_blocks(place)
        except RefusedError as why:
            yield self.refused(place.address, why)

    def read(self, place: Place, corpus: str, domain: str) -> Iterator[Outcome]:
        if not self.begins or self._archive(place) or place.member:
            yield from super().read(place, corpus, domain)
            return
        try:
            path = readable_path(place)
            with streams.unpacked(files.opened(path, place.root), path, self.max_ratio) as file:
                wide = file.read(4).startswith(_WIDE_BOMS) if place.offset >= 0 else False
                if wide and place.offset:
                    return  # the first block's reader takes it whole: its lines end in two bytes
                if place.offset >= 0:
                    file.seek(0)
                if wide:
                    whole = files.bounded(file.read(self.max_bytes + 1), self.max_bytes, lambda: place.length)
                    yield from self.records(place.address, whole, corpus, domain)
                else:
                    yield from self._cut(place, file, corpus, domain)
        except RefusedError as why:
            yield self.refused(place.address, why)

    def records(self, address: str, body: bytes, corpus: str, domain: str) -> Iterator[Outcome]:
        """A file that was read whole, from an archive, say: cut too."""
        if not self.begins:
            yield from super().records(address, body, corpus, domain)
            return
        text = decode(body)[0].encode() if body.startswith(_WIDE_BOMS) else body
        yield from self._cut(Place(path="", address=address), io.BytesIO(text), corpus, domain)

    def _cut(self, place: Place, file: io.BufferedIOBase, corpus: str, domain: str) -> Iterator[Outcome]:
        first, held = "", b""  # what is gathered: the address of its first record, its bytes
        for address, body in self._pieces(place, file):
            if isinstance(body, RefusedError):
                yield self.refused(address, body)
                continue
            if held and len(held) + len(body) > self.gather:
                yield from super().records(first, held, corpus, domain)
                held = b""
            first, held = (first, held + body) if held else (address, body)
        if held:
            yield from super().records(first, held, corpus, domain)

    def _pieces(self, place: Place, file: io.BufferedIOBase) -> Iterator[tuple[str, bytes | RefusedError]]:
        pattern = re.compile(self.begins.encode())
        found = lines.records(file, self.max_bytes, offset=max(0, place.offset), length=place.length, begins=pattern)
        for record in found:
            address = f"{place.address}@{record.offset}"
            body = record.body
            if body is None:
                yield address, RefusedError("too_large", f"more than {self.max_bytes:,} bytes")
                continue
            rule = pattern.match(body.partition(b"\n")[0]) if self.ends_apart else None
            if rule is not None:
                body = body.partition(b"\n")[2]
            if body.strip():
                yield address, body
            elif rule is None or record.offset:  # a rule at the very beginning parts nothing
                yield address, RefusedError("empty", "nothing but white space")
