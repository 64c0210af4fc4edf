"""What a stranger's page becomes: only what is drawn, only what draws it, nothing that leads out."""

import io
from collections.abc import Iterator

import pytest
from PIL import Image

from trivium.data.pairs import bundle
from trivium.data.stage import Draft, Drop, Raw
from trivium.data.web.clean.collected import CleanRules, Collected, Request, Rule
from trivium.data.web.clean.task import clean
from trivium.data.web.draw import PageDraw, PageDrawRules
from trivium.data.web.engine import PageEngine, PageView
from trivium.data.web.normalise import PageClean, files_of
from trivium.data.web.screen import Screen
from trivium.errors import GuardError


def _png() -> bytes:
    out = io.BytesIO()
    Image.new("RGB", (2, 2), (0, 0, 255)).save(out, "PNG")
    return out.getvalue()


PNG = _png()
PAGE = b"""<html lang=en><head><title> A  page </title><base href="."><link rel=stylesheet href="css/a.css">
<script>document.body.innerHTML = "gone"</script><style>@media print { h1 { color: red } }</style></head>
<body class="wide unused" onload="alert(1)"><!-- a remark --><h1 id=top style="color: #ff0000" onclick="x()">
One two three</h1>
<img src="img/dot.png" alt="A dot" width=40 height=40><img src="http://example.com/spy.gif">
<img src="../../secret.png">
<div style="display:none">hidden</div><iframe src="http://10.0.0.1/"></iframe><p class="row">
<a href="http://example.com/">four</a>
<a href="javascript:alert(1)">five</a></p><svg viewBox="0 0 9 9" width=9 height=9><script>x()</script>
<circle r=4 fill=red onload=x()>
</circle></svg><form action="http://example.com/"><input value=six></form>
<div style="margin-top: 3000px">far below</div></body></html>"""
CSS = b""":root { --used: #123456; --unused: red } .wide { background: url("../img/dot.png") } .nobody { color: red }
.row { display: flex; cursor: pointer; transition: all 1s; color: var(--used) } .row a:hover { color: lime }
@font-face { font-family: Far; src: url(http://example.com/f.woff2) } h1 { font-family: Far, serif }
@media (max-width: 500px) { h1 { font-size: 20px } } @media print { h1 { font-size: 90px } }
@import "http://example.com/b.css";"""


def raw(files: dict[str, bytes], main: str = "site/index.html") -> Raw:
    body = bundle.pack(main, files)
    return Raw(corpus="web", domain="visual", source="s", address=main, license="MIT", body=body, mime=bundle.MIME)


@pytest.fixture(scope="module")
def stage(browser: object) -> Iterator[PageClean]:
    made = PageClean.Config(cut=1000, rules=CleanRules(max_elements=200)).build()
    made._browser = browser  # type: ignore[assignment]  # the session's: a start takes seconds
    made._guard.start()
    yield made
    made._guard.close()


@pytest.fixture(scope="module")
def engine(browser: object) -> PageEngine:
    made = PageEngine()
    made._browser = browser  # type: ignore[assignment]
    return made


def test_a_page_is_what_is_drawn_and_draws_the_same_by_itself(stage: PageClean, engine: PageEngine) -> None:
    files = {"site/index.html": PAGE, "site/css/a.css": CSS, "site/img/dot.png": PNG}
    [made] = stage.process(raw(files))
    assert isinstance(made, Draft), made
    code, kept = made.document.text, files_of(made)
    assert kept == {"dot.png": PNG}
    for word in ("script", "onload", "onclick", "example.com", "javascript", "hidden", "far below", "iframe", "remark"):
        assert word not in code, word
    for word in ("unused", "nobody", "hover", "print", "cursor", "transition", "--unused", "10.0.0.1", "secret"):
        assert word not in code, word
    for word in ('src="dot.png"', "--used: #123456", "var(--used)", "max-width: 500px", "One two three", "A page"):
        assert word in code, word
    assert made.document.meta.title == "A page"
    # Its code and files are all that the picture needs: drawn twice, and asked what it shows.
    settings = PageView(screen=Screen(width=600, height=400)).settings
    one, two = engine.draw(code, kept, settings), engine.draw(code, kept, settings)
    assert one.payload == two.payload
    assert one.facts is not None
    heading = next(part for part in one.facts.parts if part.kind == "heading")
    assert (heading.text, heading.color) == ("One two three", "#ff0000")
    with pytest.raises(GuardError, match=r"dot\.png"):  # row 25: no code whose pictures are missing
        engine.draw(code, {}, settings)


SIX = b"a b c d e f"


def test_words_of_an_icon_font_that_is_absent_are_no_words_of_the_page(stage: PageClean) -> None:
    page = (
        b"<p><i class=material-icons>cloud_download</i> Download it from <i class=material-icons>Not an icon</i> here"
    )
    [made] = stage.process(raw({"site/index.html": page}))
    assert isinstance(made, Draft)
    assert "cloud_download" not in made.document.text
    assert "Not an icon" in made.document.text


def test_a_page_that_is_only_loaded_again_is_kept(stage: PageClean) -> None:
    for content in (b"300", b"3600; url=next.html"):
        page = b"<meta http-equiv=refresh content='" + content + b"'><p>" + SIX
        [made] = stage.process(raw({"site/index.html": page}))
        assert isinstance(made, Draft), made


@pytest.mark.parametrize(
    ("reason", "files"),
    [
        ("external_reference", {"site/index.html": b"<link rel=stylesheet href=//cdn.example/x.css><p>a b c d e f"}),
        ("missing_style", {"site/index.html": b"<link rel=stylesheet href=x.css><p>a b c d e f"}),
        ("missing_style", {"site/index.html": b"<div class=row>" + b"<p class=card>two words</p>" * 4}),
        ("unfilled_template", {"site/index.html": b"<body>@@include('./head.html') <p>Sign in to our platform here"}),
        ("unfilled_template", {"site/index.html": b"<p>Good day {{ user.name }}, welcome to this <b>page</b>"}),
        ("error_page", {"site/index.html": b"<h1>404 Not Found</h1><p>The page could not be found on this server."}),
        ("error_page", {"site/index.html": b"<meta http-equiv=refresh content=\"0; URL='https://a.test/'\"><p>" + SIX}),
        ("error_page", {"site/index.html": b"<meta http-equiv=Refresh content='5;url=next.html'><p>" + SIX}),
        ("too_many_elements", {"site/index.html": b"<b>a b c d e f</b> " * 300}),
        ("no_text", {"site/index.html": b"<div style='height:100px;background:red'>"}),
        ("too_deep", {"site/index.html": b"<div>" * 100_000 + b"a b c d e f"}),
        ("too_many_elements", {"site/index.html": b"<i></i>" * 100_001}),
    ],
)
def test_what_is_no_page_to_learn_from_is_refused(stage: PageClean, reason: str, files: dict[str, bytes]) -> None:
    [made] = stage.process(raw(files))
    assert isinstance(made, Drop)
    assert made.reason == reason, made


@pytest.mark.parametrize(
    ("said", "page"),
    [
        ("its style sheet ../css/a.css is not in its folder", b"<link rel=stylesheet href=../css/a.css><p>a b c d e f"),
        ("its style sheet //cdn.example/x.css is", b"<link rel=stylesheet href=//cdn.example/x.css><p>a b c d e f"),
    ],
)
def test_a_refusal_says_an_address_as_its_author_wrote_it(stage: PageClean, said: str, page: bytes) -> None:
    [made] = stage.process(raw({"site/index.html": page}))
    assert isinstance(made, Drop)
    assert made.detail.startswith(said), made
    assert "page.test" not in made.detail


@pytest.mark.parametrize(
    "page",
    [
        b"<p>Write <code>{{ name }}</code> and <pre>{% if x %}</pre> where a value stands: five words",
        b"<style>p{color:red}</style><div class=row>" + b"<p class=card>two words</p>" * 4,
        b"<div class=row>" + b"<p class=card style='color:red'>two words</p>" * 4,
        b"<style>h1{color:red}</style><h1>404 Not found</h1><p>A page of a template that somebody drew",
        b"<p class=lead>A page of the old days that nothing styles, and that names a class once",
    ],
)
def test_code_about_templates_and_pages_with_a_style_of_any_kind_stay(stage: PageClean, page: bytes) -> None:
    [made] = stage.process(raw({"site/index.html": page}))
    assert isinstance(made, Draft), made


def test_a_part_and_a_phone(engine: PageEngine) -> None:
    code = "<!DOCTYPE html><meta name=viewport content='width=device-width'><body style='margin:0'><p>a</p>"
    code += "<form style='width:200px;height:50px;margin:0'>b</form>"
    part = engine.draw(code, {}, PageView(part="form", margin=4).settings)
    assert (part.width, part.height) == (204, 58)
    phone = PageView(screen=Screen(width=390, height=844, mobile=True, scale=2), max_height=300)
    drawn = engine.draw(code, {}, phone.settings)
    assert (drawn.width, drawn.height) == (780, 600)
    with pytest.raises(GuardError) as caught:
        engine.draw(code, {}, PageView(part="table").settings)
    assert caught.value.reason == "no_part"


def test_the_box_of_words_is_theirs_and_that_of_what_is_painted_the_whole(engine: PageEngine) -> None:
    code = "<!DOCTYPE html><body style='margin:0;font:16px DejaVu Sans'><h1 style='margin:0'>Seeds</h1>"
    code += "<p style='margin:0'>one two</p><ul style='margin:0;padding-left:40px'><li>three</ul>"
    code += "<p style='margin:0;background:#ff0000'>painted</p><p style='margin:0;text-align:right'>end</p>"
    code += "<button style='display:block;width:200px'>press</button>"
    drawn = engine.draw(code, {}, PageView(screen=Screen(width=600, height=400)).settings)
    assert drawn.facts is not None
    boxes = {part.text: part.box for part in drawn.facts.parts}
    assert boxes["Seeds"][0] == 0
    assert boxes["Seeds"][2] < 150
    assert boxes["one two"][2] < 100
    assert 40 <= boxes["three"][0] < boxes["three"][2] < 120
    assert (boxes["painted"][0], boxes["painted"][2]) == (0, 600)
    assert 500 < boxes["end"][0] < boxes["end"][2] == 600
    assert boxes["press"][2] - boxes["press"][0] == 200


def test_characters_that_no_font_has_are_seen_wherever_they_are_read(engine: PageEngine) -> None:
    small = PageView(screen=Screen(width=300, height=100), max_height=200).settings
    head = "<meta charset=utf-8><style>i::before{content:'字'}</style>"
    held = "<p>a\u200d é ☃ → Ж ع क ไทย ❤\ufe0f<p style='display:none'>漢</p><p style='margin-top:900px'>漢"
    assert engine.draw(head + held, {}, small).mime == "image/png"
    page = "<p>a 漢 <i></i><input placeholder=語><select><option>한<option>日</select>🚀"
    with pytest.raises(GuardError, match="'漢🚀字語한'") as caught:
        engine.draw(head + page, {}, small)
    assert caught.value.reason == "no_glyph"


@pytest.mark.parametrize(
    "payload", [b"<svg><a xlink:href='http://x.example/'/></svg>", b"\x89PNG\r\n broken", b"GIF89a"]
)
def test_a_picture_that_is_none_is_left_out(payload: bytes) -> None:
    page = Collected(
        title="t", quirks=False, html='<p>a b c d e</p><img src="https://page.test/a.svg">', body={}, root={},
        text="a b c d e", elements=2, rules=(),
    )  # fmt: skip
    made = clean(Request(page=page, files={"a.svg": payload}, rules=CleanRules()))
    assert not made.files
    assert made.dropped == {"picture": 1}
    assert "a.svg" not in made.code
    assert "<p>a b c d e</p>" in made.code


def test_no_style_or_title_ends_its_element() -> None:
    rule = Rule(kind="rule", head="p", body='content: "</style><script>x()</script>"')
    page = Collected(
        title="</title><script>", quirks=False, html="<p>a b c d e", body={"class": '"><script>'}, root={},
        text="a b c d e", elements=1, rules=(rule,),
    )  # fmt: skip
    code = clean(Request(page=page, files={}, rules=CleanRules())).code
    assert code.count("</style>") == code.count("</title>") == 1
    assert code.index("</style>") > code.index("x()")
    assert "<script" not in code.partition("</style>")[2]


PANEL = (
    b"<title>huge</title><h1>Huge</h1><p>a b c d e</p><div style='width:20000px;height:20000px;background:red'></div>"
)


def test_a_page_that_is_a_panel_of_one_colour_is_plain(stage: PageClean, engine: PageEngine) -> None:
    """A tenth of it is white, so it is not of one colour, and red is taken for the paper that the rest is drawn on."""
    [page] = stage.process(raw({"site/index.html": PANEL}))
    [words] = stage.process(raw({"site/index.html": b"<h1>Seeds</h1>" + b"<p>a page with some words on it</p>" * 9}))
    draw = PageDraw.Config(phone=0, part=0, draw=PageDrawRules(edits=0, bugs=0)).build()
    draw._drawer.engine = engine
    draw._drawer._looker.open()
    try:
        [made], [kept] = draw.process(page), draw.process(words)
    finally:
        draw._drawer._looker.close()
    assert isinstance(made, Drop)
    assert made.reason == "plain", made
    assert isinstance(kept, Draft), kept
