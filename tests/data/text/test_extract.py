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


HOSTILE = {
    "nested": ("<div>" * 50_000, "too_deep"),
    "unclosed": ("<b><div><i><p>" * 700_000, "too_tangled"),  # 10 MB
    "formatting": ("<p>" + "".join(f"<b id={n}>" for n in range(800)) + "</p>" + "<p>x</p>" * 800, "too_tangled"),
    "names": ("".join(f"<p a{n}=1>x</p>" for n in range(60_000)), "too_tangled"),
    "roots": ("".join(f"<html a{n}=1>" for n in range(60)), "too_tangled"),
    "elements": ("<p>x</p>" * 130_000, "too_tangled"),
    "colspan": (f"<p>{BODY * 3}</p><table>" + "<tr><th colspan=999999 rowspan=99999>x<td>y" * 800 + "</table>", None),
    "rows": (f"<p>{BODY * 3}</p><table>" + "<tr><th>x<td>y" * 3_000 + "</table>", None),
    "entities": (f"<p>{BODY * 3}</p><p>" + "&amp;&lt;&#x41;" * 60_000, None),
    "tail": (f"<p>{BODY * 3}</p>" + "<" * 60_000, None),
    "formula": (f"<p>{BODY * 3}</p><p><math>" + "<mrow><msup>" * 700 + "<mi>x", None),
    "scripts": (f"<p>{BODY * 3}</p>" + "<script><!-- <div> </scrip" * 20_000, None),
}


@pytest.mark.parametrize("name", HOSTILE)
def test_a_hostile_page_is_refused_by_name_or_read_in_bounds(name):
    """None of these takes more than a second; the deadline of three holds on a machine ten times slower."""
    page, reason = HOSTILE[name]
    started = time.process_time()
    outcome = extract(f"<html><body>{page}", max_bytes=16 << 20)
    assert time.process_time() - started < 3
    if reason is None:
        assert outcome.document.text.startswith(BODY.strip())
        assert len(outcome.document.text) < 600_000
    else:
        assert (outcome.stage, outcome.reason, outcome.error) == ("extract_html", reason, False)


def test_broken_encodings_give_text_or_a_reason():
    for seed in range(20):
        draw = random.Random(seed)
        body = bytearray(PAGE.encode(draw.choice(["utf-8", "utf-16", "cp1252"])))
        for _ in range(draw.randrange(1, 40)):
            body[draw.randrange(len(body))] = draw.randrange(256)
        outcome = extract(bytes(body))
        assert isinstance(outcome, Drop) or outcome.document.text.encode()


def test_trafilatura_answers_from_a_child_that_its_deadline_ends():
    stage = ExtractHtml.Config(engine="trafilatura", seconds=1.0).build()
    try:
        (draft,) = stage.process(raw(PAGE))
        assert "Heading two" in draft.document.text
        assert "- first item," in draft.document.text
        rows = "<tr><td>cell of a table that never ends</td><td>x</td></tr>" * 20_000
        (drop,) = stage.process(raw(f"<html><body><table>{rows}</table></body></html>"))
        assert (drop.stage, drop.reason) == ("extract_html", "timeout")
    finally:
        stage.close()


@pytest.mark.parametrize("engine", ["blocks", "resiliparse"])
def test_every_engine_keeps_the_text(engine):
    text = extract(PAGE, engine=engine).document.text
    assert "return x + 1" in text
    assert "Imprint" not in text


def test_what_the_page_declares_goes_to_its_metadata():
    head = (
        '<html lang="de-AT"><head><title>Title - Site</title><meta property="og:title" content="Title">'
        '<meta property="og:site_name" content="Site"><meta name=author content="A. Writer">'
        '<link rel=canonical href="https://e.org/a"><script type="application/ld+json">{"@graph": [{"@type": "Article",'
        '"datePublished": "2024-05-06T07:08:09Z", "author": [{"name": "B"}]}]}</script></head>'
    )
    foot = '<p><a rel="license" href="https://creativecommons.org/licenses/by-sa/4.0/">CC</a></p>'
    meta = extract(f"{head}<body><p>{BODY * 3}</p>{foot}</body></html>").document.meta
    assert meta.title == "Title"
    assert meta.declared == {
        "author": "A. Writer",
        "date": "2024-05-06T07:08:09Z",
        "site": "Site",
        "address": "https://e.org/a",
        "license": "CC-BY-SA-4.0",
        "language": "de-AT",
    }
    assert meta.license == "CC0-1.0"  # the recipe's word for the source stays


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
