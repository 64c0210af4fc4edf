"""JSON as a source: a record a line, or `.json` files that are one array, one object, or lines all the same.

Odd: an uncompressed file of lines is cut into blocks by size, a compressed one is read in one pass; either way a
record's place is its byte in the unpacked file.
"""

import io
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Any, BinaryIO

import msgspec
from msgspec import Meta

from trivium.data.stage import Drop, Outcome
from trivium.pipelines.corpora.sources import files, lines, streams
from trivium.pipelines.corpora.sources.base import Place, RefusedError
from trivium.pipelines.corpora.sources.columns import Table
from trivium.pipelines.corpora.sources.folder import file_places, line_blocks, readable_path

_ENDS = ("", ".gz", ".zst", ".bz2", ".xz")
_ROW = msgspec.json.Decoder(dict[str, Any])
_ROWS = msgspec.json.Decoder(list[msgspec.Raw])
_ROOM = 16  # a line may be this much longer than its text: other columns, escapes


class Jsonl(Table, kw_only=True, tag="jsonl"):
    """Records of the JSON files below `path` (or of that one file); see `Table` for columns.

    `max_whole`: bytes of an array or a record that spans lines, which are read as one.
    """

    suffixes: tuple[str, ...] = tuple(f".{kind}{end}" for kind in ("jsonl", "ndjson", "json") for end in _ENDS)
    max_ratio: Annotated[float, Meta(ge=1)] = 200.0  # how many times its size a compressed file may unpack to
    max_whole: Annotated[int, Meta(ge=1)] = 64 << 20

    def places(self, base: Path) -> Iterator[Place]:
        yield from file_places(self.where(base), self.suffixes, one=True)

    def split(self, place: Place) -> Iterator[Place | Drop]:
        if streams.coding_of(place.path) or _may_be_whole(place.address):
            yield place
            return
        try:
            yield from line_blocks(place)
        except RefusedError as why:
            yield self.refused(place.address, why)

    def read(self, place: Place, corpus: str, domain: str) -> Iterator[Outcome]:
        try:
            path = readable_path(place)
            with streams.unpacked(files.opened(path, place.root), path, self.max_ratio) as file:
                head = b""
                if _may_be_whole(place.address):
                    head = file.read(self.max_whole + 1)
                    whole = _whole(head, self.max_whole)
                    if whole is not None:
                        for number, raw in enumerate(whole):
                            yield self._row(raw, f"{place.address}#{number}", corpus, domain)
                        return
                yield from self._lines(place, _Rejoined(head, file) if head else file, corpus, domain)
        except RefusedError as why:
            yield self.refused(place.address, why)

    def _lines(self, place: Place, file: Any, corpus: str, domain: str) -> Iterator[Outcome]:
        limit = self.max_bytes * _ROOM
        for record in lines.records(file, limit, offset=max(0, place.offset), length=place.length):
            where = f"{place.address}@{record.offset}"
            if record.body is None:
                yield self.drop(where, "too_large", f"a line of more than {limit:,} bytes")
            elif body := record.body.removeprefix(b"\xef\xbb\xbf").strip():
                yield self._row(body, where, corpus, domain)

    def _row(self, body: Any, where: str, corpus: str, domain: str) -> Outcome:
        try:
            row = _ROW.decode(body)
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
            shown = bytes(body[:400]).decode("utf-8", "replace")
            return self.drop(where, "broken_json", str(error), error=True, excerpt=shown)
        return self.record(row, where, corpus, domain)


def _may_be_whole(name: str) -> bool:
    return any(name.lower().endswith(f".json{end}") for end in _ENDS)


def _whole(head: bytes, limit: int) -> list[msgspec.Raw] | None:
    """The records of a file that is one array or one object; None when it holds lines. Raises RefusedError."""
    body = head.removeprefix(b"\xef\xbb\xbf").lstrip()
    try:
        if body.startswith(b"["):
            return _ROWS.decode(body)
        first = body.partition(b"\n")[0]
        if body and not _decodes(first):
            _ROW.decode(body)
            return [msgspec.Raw(body)]
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        if len(head) > limit:
            detail = f"more than {limit:,} bytes that are no lines of JSON; write one record a line, or raise max_whole"
            raise RefusedError("too_large", detail) from None
        raise RefusedError("broken_json", str(error), error=True) from None
    return None


def _decodes(line: bytes) -> bool:
    try:
        _ROW.decode(line)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return False
    return True


class _Rejoined:
    """The bytes that were looked at, then the rest of the stream: lines only."""

    def __init__(self, head: bytes, file: BinaryIO) -> None:
        self._head, self._file = io.BytesIO(head), file

    def readline(self, limit: int) -> bytes:
        line = self._head.readline(limit)
        if len(line) < limit and not line.endswith(b"\n"):
            line += self._file.readline(limit - len(line))
        return line
