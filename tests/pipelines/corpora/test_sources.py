"""Readers: what they list, what they refuse, and with which reason."""

import gzip
import resource
import zlib
from pathlib import Path

import pytest
import zstandard
from warcio.archiveiterator import ArchiveIterator

from trivium.data.stage import Drop, Raw
from trivium.errors import InputError
from trivium.pipelines.corpora.sources import HtmlFolder, Place
from trivium.pipelines.corpora.warc import Warc, decode_body

PYWB = Path(__file__).parents[3] / "examples/web/pywb"
PAGE = b"<html><body><p>A page.</p></body></html>"


def outcomes(source, base=Path("/")) -> list[Raw | Drop]:
    """Everything that a source gives, as the build's first job sees it."""
    found = []
    for place in source.places(base):
        for item in source.split(place):
            found += source.read(item, "c", "web") if isinstance(item, Place) else [item]
    return found


def reasons(source) -> list[str]:
    return sorted(item.reason if isinstance(item, Drop) else "kept" for item in outcomes(source))


def write_warc(path: Path, bodies: list[bytes], *, header="", compress=True, status="200 OK", mime="text/html") -> Path:
    """An archive of response records, each its own gzip member when compressed."""
    parts = []
    for number, body in enumerate(bodies):
        http = f"HTTP/1.1 {status}\r\nContent-Type: {mime}\r\n{header}\r\n".encode() + body
        head = (
            f"WARC/1.0\r\nWARC-Type: response\r\nWARC-Target-URI: http://example.com/{number}\r\n"
            f"WARC-Record-ID: <urn:uuid:00000000-0000-0000-0000-{number:012d}>\r\nWARC-Date: 2024-01-01T00:00:00Z\r\n"
            f"Content-Type: application/http; msgtype=response\r\nContent-Length: {len(http)}\r\n\r\n"
        )
        record = head.encode() + http + b"\r\n\r\n"
        parts.append(gzip.compress(record) if compress else record)
    path.write_bytes(b"".join(parts))
    return path


def warc(path: Path, **more) -> Warc:
    return Warc(name="w", path=str(path), license="CC0-1.0", **more)


def test_a_folder_is_listed_sorted_and_by_suffix(tmp_path):
    for name in ("b.html", "a/c.HTM", "a/b.xhtml", "a.txt"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_bytes(PAGE)
    source = HtmlFolder(name="s", path=str(tmp_path), license="CC0-1.0")
    assert [place.address for place in source.places(Path())] == ["a/b.xhtml", "a/c.HTM", "b.html"]
    assert all(item.body == PAGE and item.license == "CC0-1.0" for item in outcomes(source))


def test_a_source_id_is_of_the_place_and_not_of_the_machine(tmp_path):
    ids = set()
    for folder in ("x", "y"):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "a.html").write_bytes(PAGE + folder.encode())
        ids |= {item.source_id for item in outcomes(HtmlFolder(name="s", path=str(tmp_path / folder), license="l"))}
    assert len(ids) == 1


def test_links_may_not_leave_the_folder(tmp_path):
    (tmp_path / "secret.html").write_bytes(b"secret")
    (tmp_path / "deep").mkdir()
    (tmp_path / "deep/secret.html").write_bytes(b"secret")
    root = tmp_path / "root"
    (root / "sub").mkdir(parents=True)
    (root / "page.html").write_bytes(PAGE)
    (root / "sub/inside.html").symlink_to("../page.html")
    (root / "sub/outside.html").symlink_to(tmp_path / "secret.html")
    (root / "folder").symlink_to(tmp_path / "deep")
    found = outcomes(HtmlFolder(name="s", path=str(root), license="l"))
    assert [item.address for item in found if isinstance(item, Raw)] == ["page.html", "sub/inside.html"]
    assert [item.reason for item in found if isinstance(item, Drop)] == ["symlink_escape"]
    assert not any(b"secret" in item.body for item in found if isinstance(item, Raw))


def test_large_and_empty_pages_are_rejected(tmp_path):
    (tmp_path / "large.html").write_bytes(b"x" * 101)
    (tmp_path / "empty.html").touch()
    (tmp_path / "dangling.html").symlink_to("nowhere.html")
    source = HtmlFolder(name="s", path=str(tmp_path), license="l", max_bytes=100)
    assert reasons(source) == ["empty", "too_large", "unreadable"]


def test_a_missing_input_names_the_cure(tmp_path):
    cache = "../cache/./python3.11-doc/html"
    source = HtmlFolder(name="s", path=cache, license="l", inputs="python3.11-doc")
    with pytest.raises(InputError, match=r"trivium inputs fetch python3.11-doc`") as caught:
        source.check(tmp_path / "recipes")
    where = f"{tmp_path}/cache/python3.11-doc/html does not exist (path {cache}, relative to the recipe)"
    assert where in str(caught.value)
    assert caught.value.exit_code == 2
    own = str(tmp_path / "gone")
    for inputs in ("", "my-own", "python3.11-doc"):  # none, no package of the list, and a folder of the user's own
        with pytest.raises(InputError, match=f"{own} does not exist; mend `path`") as caught:
            HtmlFolder(name="s", path=own, license="l", inputs=inputs).check(tmp_path / "recipes")
        assert "fetch" not in str(caught.value)
    (tmp_path / "recipes").mkdir()
    with pytest.raises(InputError, match=f"^{tmp_path} holds no file ending in"):
        list(HtmlFolder(name="s", path="..", license="l").places(tmp_path / "recipes"))


def by_warcio() -> list[bytes]:
    """The oracle: another reader's HTML responses of the same files."""
    bodies = []
    for path in sorted(PYWB.glob("*.warc.gz")):
        with path.open("rb") as file:
            for record in ArchiveIterator(file):
                http = record.http_headers
                if record.rec_type == "response" and http.get_statuscode() == "200":
                    body = record.content_stream().read()
                    if (http.get_header("Content-Type") or "").startswith("text/html"):
                        bodies.append(body)
    return bodies


def test_real_crawls_give_their_pages():
    found = outcomes(warc(PYWB))
    pages = [item for item in found if isinstance(item, Raw)]
    assert sorted(page.body for page in pages) == sorted(by_warcio())
    assert all(b"Example Domain" in page.body for page in pages)
    assert all("@" in page.address and ".warc.gz" in page.address for page in pages)
    assert len({page.source_id for page in pages}) == len(pages) == 4


@pytest.mark.parametrize("form", ["gz", "plain", "zst"])
def test_every_compression_gives_the_same_pages(tmp_path, form):
    bodies = [PAGE + str(number).encode() for number in range(5)]
    plain = write_warc(tmp_path / "x.warc", bodies, compress=False)
    if form == "gz":
        path = write_warc(tmp_path / "y.warc.gz", bodies)
    elif form == "zst":
        path = tmp_path / "x.warc.zst"
        records = [b"WARC/1.0" + part for part in plain.read_bytes().split(b"WARC/1.0")[1:]]
        path.write_bytes(b"".join(zstandard.compress(record) for record in records))
    else:
        path = plain
    assert [item.body for item in outcomes(warc(path))] == bodies


def test_what_is_no_page_is_rejected_with_a_reason(tmp_path):
    assert reasons(warc(write_warc(tmp_path / "a.warc.gz", [PAGE], status="404 Not Found"))) == ["http_status"]
    assert reasons(warc(write_warc(tmp_path / "b.warc.gz", [PAGE], mime="image/png"))) == ["not_html"]
    assert reasons(warc(write_warc(tmp_path / "c.warc.gz", [b""]))) == ["empty"]
    assert reasons(warc(write_warc(tmp_path / "d.warc.gz", [PAGE], mime="TEXT/HTML; charset=utf-8"))) == ["kept"]


def test_a_cut_off_archive_keeps_what_came_before(tmp_path):
    path = write_warc(tmp_path / "a.warc.gz", [PAGE * 50, bytes(range(256)) * 64])
    path.write_bytes(path.read_bytes()[:-40])
    found = outcomes(warc(path))
    assert isinstance(found[0], Raw)
    assert [(item.reason, item.error) for item in found[1:]] == [("damaged", True)]


def test_a_record_that_is_cut_anywhere_is_damaged_and_never_something_else(tmp_path):
    path = write_warc(tmp_path / "a.warc.gz", [bytes(range(256)) * 4])
    whole = path.read_bytes()
    for end in range(24, len(whole) - 40, 23):
        path.write_bytes(whole[:end])
        assert reasons(warc(path)) == ["damaged"], f"{end} of {len(whole)} bytes"


def test_reading_goes_on_behind_a_damaged_stretch(tmp_path):
    path = write_warc(tmp_path / "a.warc.gz", [PAGE + bytes([65 + number]) * 500 for number in range(6)])
    whole = path.read_bytes()
    starts = [place.offset for place in warc(path).split(Place(path=str(path), address="a.warc.gz"))]
    damaged = bytearray(whole)
    damaged[starts[2] + 20 : starts[2] + 120] = b"\xff" * 100
    path.write_bytes(damaged)
    assert reasons(warc(path)) == ["damaged"] + ["kept"] * 5


def test_a_bomb_is_refused_in_bounded_memory(tmp_path):
    bomb = gzip.compress(b"\0" * (1 << 26))
    path = write_warc(tmp_path / "a.warc.gz", [bomb], header="Content-Encoding: gzip\r\n")
    large = write_warc(tmp_path / "b.warc.gz", [b"<p>" + b"\0" * (1 << 24)])
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    assert reasons(warc(path, max_bytes=1 << 20)) == ["too_large"]
    assert reasons(warc(large, max_bytes=1 << 20)) == ["too_large"]
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 48 << 10  # kB


def test_an_archive_in_one_compressed_member_is_refused_with_the_cure(tmp_path):
    plain = write_warc(tmp_path / "x.warc", [PAGE, PAGE], compress=False)
    path = tmp_path / "one.warc.gz"
    path.write_bytes(gzip.compress(plain.read_bytes()))
    drops = [item for item in outcomes(warc(path)) if isinstance(item, Drop)]
    assert [drop.reason for drop in drops] == ["not_seekable"]
    assert "warcio recompress" in drops[0].detail


@pytest.mark.parametrize("coding", ["gzip", "deflate", "identity"])
@pytest.mark.parametrize("chunked", [True, False])
def test_bodies_are_decoded_as_declared_or_taken_as_they_are(coding, chunked):
    coded = {"gzip": gzip.compress(PAGE), "deflate": zlib.compress(PAGE), "identity": PAGE}[coding]
    sent = b"%x\r\n%s\r\n0\r\n\r\n" % (len(coded), coded) if chunked else coded
    assert decode_body(sent, "chunked" if chunked else "", coding, limit=1000) == PAGE
    assert decode_body(PAGE, "chunked", coding, limit=1000) == PAGE  # the crawler had decoded it


def test_a_file_that_is_no_archive_is_refused(tmp_path):
    (tmp_path / "a.txt").write_text("x")
    with pytest.raises(InputError, match="no WARC file"):
        warc(tmp_path / "a.txt").check(Path())
    (tmp_path / "a.warc.gz").write_text("not a WARC")
    assert reasons(warc(tmp_path / "a.warc.gz")) == ["damaged"]
