"""WARC archives as a source: the HTML responses of a crawl, gzip, zstd or plain.

Odd: a file is walked once for offsets (headers only), then each record is read on its own at its offset, so that many
workers share one archive. A damaged stretch becomes one reject and the walk goes on at the next record that opens.
"""

import contextlib
import io
import re
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any, BinaryIO

from trivium.data.stage import Content, Drop, Raw
from trivium.errors import InputError
from trivium.pipelines.corpora.sources import Place, RefusedError, Source, files
from trivium.pipelines.corpora.sources.folder import file_places, readable_path

_MAGIC = (b"\x1f\x8b\x08", b"\x28\xb5\x2f\xfd", b"WARC/1.")  # gzip member, zstd frame, plain record
_HTML = ("text/html", "application/xhtml+xml")
_CHUNK_HEADER = re.compile(rb"[0-9A-Fa-f]{1,8}[ \t]*(;[^\r\n]*)?\r\n")
_CHUNK = 1 << 20
_RESYNCS = 100  # damaged stretches a file may have before the rest is given up


class Warc(Source, kw_only=True, tag="warc"):
    """HTML responses of the WARC files below `path` (or of that one file); an address is URL, file and offset."""

    GIVES = Content.HTML

    suffixes: tuple[str, ...] = (".warc", ".warc.gz", ".warc.zst")  # ends of the archives' names
    max_bytes: int = 8 << 20  # of a decoded page

    def places(self, base: Path) -> Iterator[Place]:
        yield from file_places(self.where(base), self.suffixes, one=True)

    def check(self, base: Path) -> None:
        super().check(base)
        root = self.root(base)
        if "://" not in self.path and root.is_file() and not root.name.endswith(self.suffixes):
            raise InputError(f"source {self.name!r}: {root} is no WARC file by its name ({', '.join(self.suffixes)})")

    def split(self, place: Place) -> Iterator[Place | Drop]:
        """One place for each response record; a drop for each damaged stretch."""
        try:
            yield from self._walk(place)
        except RefusedError as why:
            yield self.refused(place.address, why)

    def _walk(self, place: Place) -> Iterator[Place | Drop]:
        start, resyncs = 0, 0
        last = -1
        with files.opened(readable_path(place), place.root) as file:
            while start is not None:
                try:
                    for record, offset in _records(file, start):
                        if offset <= last or not _opens(file, offset):
                            yield self.drop(
                                f"{place.address}@{offset}",
                                "not_seekable",
                                "records share one compressed member; recompress with `warcio recompress`",
                                error=True,
                            )
                            return
                        last = offset
                        if _is_page(record):
                            uri = record.headers.get("WARC-Target-URI") or ""
                            address = f"{uri} {place.address}@{offset}"
                            yield Place(path=place.path, address=address, offset=offset, root=place.root)
                    return
                except OSError as error:
                    resyncs += 1
                    failed = max(last, start)
                    yield self.drop(f"{place.address}@{failed}+", "damaged", str(error), error=True)
                    start = _next_record(file, failed + 1) if resyncs < _RESYNCS else None

    def read(self, place: Place, corpus: str, domain: str) -> Iterator[Raw | Drop]:
        try:
            with files.opened(place.path, place.root) as file:
                record, _ = next(_records(file, place.offset))
                yield self._page(record, place, corpus, domain)
        except RefusedError as why:
            yield self.refused(place.address, why)
        except (OSError, StopIteration) as error:
            yield self.drop(place.address, "damaged", str(error) or "record ends early", error=True)

    def _page(self, record: Any, place: Place, corpus: str, domain: str) -> Raw | Drop:
        """Raises OSError on a damaged record."""
        status, mime, transfer, encoding = 200, record.headers.get("Content-Type") or "", "", ""
        if record.is_http:
            record.parse_http(auto_decode="none")
            headers = record.http_headers
            status = int(getattr(headers, "status_code", 0) or 0)
            mime = headers.get("Content-Type") or ""
            transfer, encoding = headers.get("Transfer-Encoding") or "", headers.get("Content-Encoding") or ""
        html = mime.partition(";")[0].strip().lower() in _HTML
        if (status != 200 or not html) and record.content_length and not record.reader.read(1):
            raise OSError("record ends in its headers")  # that say what it is
        if status != 200:
            return self.drop(place.address, "http_status", f"status {status}")
        if not html:
            return self.drop(place.address, "not_html", mime[:100] or "no Content-Type")
        declared = record.content_length
        stored = record.reader.read(self.max_bytes + 1)
        if len(stored) < min(declared, self.max_bytes + 1):
            raise OSError(f"record ends early: {len(stored):,} of {declared:,} bytes")
        body = decode_body(stored, transfer, encoding, limit=self.max_bytes)
        if len(body) > self.max_bytes:
            return self.drop(place.address, "too_large", f"more than {self.max_bytes:,} bytes when decoded")
        if not body:
            return self.drop(place.address, "empty", "0 bytes")
        return Raw(
            corpus=corpus,
            domain=domain,
            source=self.name,
            address=place.address,
            license=self.license,
            body=body,
            mime=mime,
            language=self.language,
        )


def decode_body(body: bytes, transfer: str, encoding: str, *, limit: int) -> bytes:
    """Undoes chunked transfer and content encoding, to at most `limit` + 1 bytes; raises OSError when it is damaged.

    Crawlers often store a decoded body under headers that still speak of chunks or gzip: a body that does not begin
    with a chunk header or the encoding's magic is taken as it is.
    """
    from fastwarc.stream_io import BrotliReader, ChunkedReader

    if len(body) > limit:
        return body
    if "chunked" in transfer.lower() and _CHUNK_HEADER.match(body):
        body = ChunkedReader(io.BytesIO(body)).read(limit + 1)
    coding = encoding.strip().lower()
    if coding in ("gzip", "x-gzip") and body.startswith(b"\x1f\x8b"):
        return _inflate(body, zlib.MAX_WBITS | 16, limit)
    if coding == "deflate":
        for bits in (zlib.MAX_WBITS, -zlib.MAX_WBITS):
            with contextlib.suppress(OSError):
                return _inflate(body, bits, limit)
    if coding == "br" and not body.lstrip().startswith(b"<"):
        return bytes(BrotliReader(io.BytesIO(body)).read(limit + 1))
    return body


def _inflate(body: bytes, bits: int, limit: int) -> bytes:
    try:
        return zlib.decompressobj(bits).decompress(body, limit + 1)
    except zlib.error as error:
        raise OSError(f"content encoding: {error}") from None


def _records(file: BinaryIO, start: int) -> Iterator[tuple[Any, int]]:
    """(record, offset in the file) from `start` on. Raises OSError where the archive is damaged."""
    from fastwarc.warc import ArchiveIterator

    file.seek(start)
    for record in ArchiveIterator(file, parse_http=False, fsspec_args=False):
        if record.headers.get("Content-Length") is None:  # every record has it: its header was cut
            raise OSError("a record's header ends early")
        yield record, record.stream_pos  # counted from the file's beginning, also after a seek


def _opens(file: BinaryIO, offset: int) -> bool:
    """Whether a record, or a member that holds one, begins there; the file's position stays as it is."""
    at = file.tell()
    file.seek(offset)
    begins = file.read(8).startswith(_MAGIC)
    file.seek(at)
    return begins


def _is_page(record: Any) -> bool:
    from fastwarc.warc import WarcRecordType

    return record.record_type in (WarcRecordType.response, WarcRecordType.resource)


def _next_record(file: BinaryIO, start: int) -> int | None:
    """The first offset ≥ `start` at which a record opens; None when there is none."""
    offset, tail = start, b""
    while True:
        file.seek(offset)
        chunk = file.read(_CHUNK)
        if not chunk:
            return None
        window = tail + chunk
        begin = offset - len(tail)
        for position in _candidates(window):
            try:
                next(_records(file, begin + position))
                return begin + position
            except (OSError, StopIteration):
                continue
        tail = window[-8:]
        offset += len(chunk)


def _candidates(window: bytes) -> list[int]:
    found = []
    for magic in _MAGIC:
        position = window.find(magic)
        while position >= 0:
            found.append(position)
            position = window.find(magic, position + 1)
    return sorted(found)
