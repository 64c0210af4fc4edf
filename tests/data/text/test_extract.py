"""Extraction of main text: pure, capped, and faithful to what a page shows."""

import codecs
import gzip
import random
import sys
import time
from pathlib import Path

import pytest

from trivium.data.stage import Draft, Drop, Raw
from trivium.data.text.charset import decode_page
from trivium.data.text.extract import ExtractHtml

BODY = "A paragraph that is long enough to count as the main text of the page, with several clauses in it. "
PAGE = f"""<!DOCTYPE html><html><head><title> The
title </title></head><body><nav><a href="/">Home</a><a href="/x">Elsewhere</a></nav>
<main><h1>Heading one</h1><p>{BODY * 3}</p><ul><li>first item, {BODY}</li><li>second item, {BODY}</li></ul>
<pre>def f(x):
    return x + 1
</pre><h2>Heading two<a class="headerlink" href="#h">¶</a></h2><p>{BODY * 3}</p></main>
<footer>Imprint</footer></body></html>"""


def raw(body: bytes | str, mime: str = "text/html") -> Raw:
    body = body.encode() if isinstance(body, str) else body
    return Raw(corpus="c", domain="web", source="s", address="a.html", license="CC0-1.0", body=body, mime=mime)


def extract(body: bytes | str, mime: str = "text/html", **config) -> Draft | Drop:
    (outcome,) = ExtractHtml.Config(**config).build().process(raw(body, mime))
    return outcome


def test_headings_lists_and_code_stay_and_boilerplate_goes():
    document = extract(PAGE).document
    lines = [line.strip() for line in document.text.splitlines()]
    assert document.meta.title == "The title"
    assert {"# Heading one", "## Heading two"} <= set(lines)
    assert any(line.startswith("- first item,") for line in lines)
    assert "def f(x):\n    return x + 1" in document.text
    assert "Elsewhere" not in document.text
    assert "Imprint" not in document.text
    assert "¶" not in document.text


def test_the_record_says_where_it_came_from():
    meta = extract(PAGE).document.meta
    assert (meta.source, meta.address, meta.license) == ("s", "a.html", "CC0-1.0")
    assert [step.name for step in meta.lineage.steps] == ["extract_html"]
    assert len(meta.lineage.source_sha256) == 64


def test_ten_calls_give_one_result(web_pages):
    stage = ExtractHtml.Config().build()
    for page in web_pages[:5]:
        assert len({str(next(stage.process(raw(page)))) for _ in range(10)}) == 1


@pytest.mark.parametrize(
    "body",
    [
        b"\x89PNG\r\n\x1a\n" + random.Random(1).randbytes(4000),
        gzip.compress(PAGE.encode(), mtime=0),
        Path(sys.executable).read_bytes()[:20_000],
        random.Random(2).randbytes(300),
        PAGE.encode("utf-16-le")[:400] + bytes(200),  # no mark and no header: read as UTF-8
        b"<html><body>" + BODY.encode() * 9 + b"\0\xff\xfe" * 60,
    ],
    ids=["png", "gzip", "program", "noise", "undeclared UTF-16", "page with a tail of junk"],
)
def test_what_is_no_page_is_refused_by_name(body):
    drop = extract(body)
    assert isinstance(drop, Drop)
    assert (drop.reason, drop.error) == ("not_html", False)


@pytest.mark.parametrize("encoding", ["utf-8", "utf-16", "windows-1252", "shift_jis", "iso2022_jp", "koi8-r", "gbk"])
def test_a_page_in_any_declared_encoding_is_a_page(encoding):
    text = {"koi8-r": "Обычная страница. ", "windows-1252": "Très déjà vu – “ça” va. "}.get(
        encoding, "日本語のページ。"
    )
    page = f"<meta charset={encoding}><p>{text * 30}\x0c\x1b</p>\0"
    assert text.strip() in extract(page.encode(encoding), f"text/html; charset={encoding}").document.text


def test_fifty_thousand_nested_elements_are_refused_at_once():
    started = time.process_time()
    drop = extract("<html><body>" + "<div>" * 50_000 + BODY)
    assert isinstance(drop, Drop)
    assert (drop.stage, drop.reason, drop.error) == ("extract_html", "too_deep", False)
    assert time.process_time() - started < 3


def test_limits_give_reasons():
    assert extract(PAGE, max_bytes=100).reason == "too_large"
    assert extract("<html><body><script>x</script></body></html>").reason == "no_text"


def test_control_characters_do_not_reach_the_text():
    text = extract(PAGE.replace("Heading one", "Head\u200bing one\x7f")).document.text
    assert "Heading one" in text


@pytest.mark.parametrize(
    ("body", "mime", "name"),
    [
        ("naïve — œuvre".encode(), "text/html", "utf-8"),
        ("naïve".encode("latin-1"), "text/html; charset=ISO-8859-1", "windows-1252"),
        (b'<meta charset="windows-1251">' + "Привет".encode("cp1251"), "text/html", "windows-1251"),
        ("日本語のページ".encode("shift_jis"), "text/html; charset=Shift_JIS", "shift_jis"),
        (b"\xff\xfe" + "naïve".encode("utf-16-le"), "text/html; charset=utf-8", "utf-16-le"),
        (b'<meta charset="utf-16">' + "naïve".encode(), "text/html", "utf-8"),
    ],
)
def test_declared_encodings_are_used(body, mime, name):
    text, found = decode_page(body, mime)
    assert codecs.lookup(found).name == codecs.lookup(name).name
    assert any(word in text for word in ("naïve", "Привет", "日本語"))


def test_a_wrong_declaration_is_passed_over():
    text = "Съешь же ещё этих мягких французских булок, да выпей чаю. " * 20
    found, _ = decode_page(text.encode("cp1251"), "text/html; charset=utf-8")
    assert found == text


@pytest.mark.parametrize("declared", ["nonsense-9", "", "utf-8\x00", "hex", "rot13", "base64", "idna"])
def test_any_bytes_decode_to_text_that_encodes_again(declared):
    for body in (bytes(range(256)), b"\xf0\x9f\x98", b"\xed\xa0\x80", b""):
        text, _ = decode_page(body, f"text/html; charset={declared}")
        assert bool(text.encode()) == bool(body)
