"""Real crawls that others made: two readers of WARC agree on every page, and ARC gives the page that its WARC gives."""

import hashlib
from collections import Counter
from pathlib import Path

import pytest
from given import bodies, reasons
from warcio.archiveiterator import ArchiveIterator

from trivium.pipelines.corpora.sources.arc import Arc
from trivium.pipelines.corpora.warc import Warc
from trivium.pipelines.inputs import default_cache

SAMPLES = default_cache() / "pywb/sample_archive/warcs"
BROKEN = {"example.warc", "example-extra.warc"}  # damaged on purpose: lengths and blank lines that don't agree


def by_warcio(path: Path) -> Counter[str]:
    """Digests of the HTML responses and resources, by another reader."""
    found: Counter[str] = Counter()
    with path.open("rb") as file:
        for record in ArchiveIterator(file):
            headers = record.http_headers
            status = headers.get_statuscode() if headers else "200"
            mime = headers.get_header("Content-Type") if headers else record.content_type
            if record.rec_type in ("response", "resource") and status == "200" and (mime or "").startswith("text/html"):
                body = record.content_stream().read()
                found.update([hashlib.sha256(body).hexdigest()] if body else [])
    return found


@pytest.mark.skipif(
    not SAMPLES.is_dir(), reason="needs `trivium inputs fetch pywb`; examples/web/pywb is tested always"
)
def test_every_sample_archive_reads_as_warcio_reads_it():
    for path in sorted([*SAMPLES.glob("*.warc"), *SAMPLES.glob("*.warc.gz")]):
        if path.name not in BROKEN:
            ours = bodies(Warc(name="w", path=str(path), license="L"))
            assert Counter(hashlib.sha256(body).hexdigest() for body in ours.values()) == by_warcio(path), path.name
    found = reasons(Arc(name="a", path=str(SAMPLES), license="L"))
    assert [why for address, why in found.items() if "example.arc" in address] == ["kept", "kept"]
    assert "kept" not in [why for address, why in found.items() if "bad.arc" in address]


HTTP = b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n\r\n<p>A page.</p>"


def test_arc_records_are_pages_and_a_cut_file_says_so(tmp_path):
    head = b"1 1 Trivium\nURL IP-address Archive-date Content-type Archive-length\n"
    first = b"filedesc://a.arc 0.0.0.0 20240101000000 text/plain %d\n" % len(head) + head
    page = b"http://x.org/%d 1.2.3.4 20240101000000 text/html %d\n" % (1, len(HTTP)) + HTTP
    gone = page.replace(b"200 OK", b"404 No").replace(b"/1 ", b"/2 ")
    path = tmp_path / "a.arc"
    path.write_bytes(first + b"\n" + page + b"\n" + gone + b"\n")
    found = reasons(Arc(name="a", path=str(path), license="L"))
    assert found == {
        f"http://x.org/1 a.arc@{len(first) + 1}": "kept",
        f"http://x.org/2 a.arc@{len(first) + len(page) + 2}": "http_status",
    }
    assert list(bodies(Arc(name="a", path=str(path), license="L")).values()) == [b"<p>A page.</p>"]
    path.write_bytes(b"no archive at all")
    assert list(reasons(Arc(name="a", path=str(path), license="L")).values()) == ["damaged"]
