"""ARC archives as a source: crawls from before WARC, as the Internet Archive and the first Common Crawls wrote them.

Odd: fastwarc does not read ARC, so these records come through warcio, slower. A record's offset is that of its gzip
member, or of its header line.
"""

from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Any

from msgspec import Meta

from trivium.data.stage import Content, Drop, Outcome, Raw
from trivium.pipelines.corpora.sources import files
from trivium.pipelines.corpora.sources.base import Place, RefusedError, Source
from trivium.pipelines.corpora.sources.folder import file_places, readable_path

_HTML = ("text/html", "application/xhtml+xml")


class Arc(Source, kw_only=True, tag="arc"):
    """HTML responses of the ARC files below `path` (or of that one file); an address is URL, file and offset."""

    GIVES = Content.HTML

    suffixes: tuple[str, ...] = (".arc", ".arc.gz")  # ends of the archives' names
    max_bytes: Annotated[int, Meta(ge=1)] = 8 << 20  # of a decoded page

    def places(self, base: Path) -> Iterator[Place]:
        yield from file_places(self.where(base), self.suffixes, one=True)

    def split(self, place: Place) -> Iterator[Place | Drop]:
        """One place for each response; a drop where the rest can't be read."""
        at = 0
        try:
            with files.opened(readable_path(place), place.root) as file:
                for record, records in _records(file):
                    at = records.get_record_offset()  # reads the record to its end
                    if record.rec_type == "response":
                        uri = record.rec_headers.get_header("uri") or ""
                        address = f"{uri} {place.address}@{at}"
                        yield Place(path=place.path, address=address, offset=at, root=place.root)
        except RefusedError as why:
            yield self.refused(f"{place.address}@{at}+", why)

    def read(self, place: Place, corpus: str, domain: str) -> Iterator[Outcome]:
        try:
            with files.opened(place.path, place.root) as file:
                file.seek(place.offset)
                for record, _ in _records(file):
                    yield self._page(record, place, corpus, domain)
                    return
            raise RefusedError("damaged", "no record begins there", error=True)
        except RefusedError as why:
            yield self.refused(place.address, why)

    def _page(self, record: Any, place: Place, corpus: str, domain: str) -> Raw:
        from trivium.pipelines.corpora.warc import decode_body

        headers = record.http_headers
        if headers is None:
            raise RefusedError("damaged", "no HTTP headers", error=True)
        status = headers.get_statuscode()
        if status != "200":
            raise RefusedError("http_status", f"status {status}")
        mime = headers.get_header("Content-Type") or ""
        if mime.partition(";")[0].strip().lower() not in _HTML:
            raise RefusedError("not_html", mime[:100] or "no Content-Type")
        try:
            stored = record.raw_stream.read(self.max_bytes + 1)
            transfer, coding = headers.get_header("Transfer-Encoding"), headers.get_header("Content-Encoding")
            body = decode_body(stored, transfer or "", coding or "", limit=self.max_bytes)
        except OSError as error:
            raise RefusedError("damaged", str(error), error=True) from None
        if len(body) > self.max_bytes:
            raise RefusedError("too_large", f"more than {self.max_bytes:,} bytes when decoded")
        if not body:
            raise RefusedError("empty", "0 bytes")
        return self.raw(corpus, domain, address=place.address, body=body, mime=mime)


def _records(file: Any) -> Iterator[tuple[Any, Any]]:
    """(record, warcio's iterator) from where the file stands. Raises RefusedError where it is damaged."""
    from warcio.archiveiterator import ArchiveIterator
    from warcio.exceptions import ArchiveLoadFailed

    records = ArchiveIterator(file)
    try:
        for record in records:
            yield record, records
    except (ArchiveLoadFailed, OSError, EOFError, ValueError, UnicodeError) as error:
        raise RefusedError("damaged", " ".join(str(error).split())[:200], error=True) from None
