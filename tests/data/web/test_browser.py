import io

import msgspec
import pytest
from PIL import Image

from trivium.data.guard.limits import MIB
from trivium.data.web.browser import Browser
from trivium.data.web.screen import BROWSER_LIMITS, Screen
from trivium.data.web.visit import Visit
from trivium.errors import GuardError

FILES = {
    "pages/index.html": b"""<!doctype html><link rel=stylesheet href="../a%20b.css"><h1>One</h1><img src=missing.png>
        <img src="http://example.com/x.png"><img src="file:///etc/passwd"><iframe src="https://page.test/inner.html">
        </iframe><a href="index.html">seen</a><script>document.title = "ran"</script>""",
    "inner.html": b"<meta http-equiv=refresh content='0;url=http://10.0.0.1/'><p>inner",
    "a b.css": b"@import '//cdn.example.org/x.css'; h1 { color: #ff0000; animation: a 3s infinite } "
    b"@keyframes a { from { opacity: 0 } to { opacity: 1 } } :visited { color: lime }",
}
SCRIPTS = b"""<script>document.title = [Math.random(), performance.now(), crypto.randomUUID()].join();
    let frames = []; const draw = (t) => { frames.push(Math.round(t)); requestAnimationFrame(draw) }; draw(0);
    setTimeout(() => { document.title += " " + Date.now() + " " + frames.slice(0, 4) }, 100);
    new WebSocket("ws://10.0.0.1/"); fetch("http://169.254.169.254/latest").catch(() => 0);</script>"""


def seen(visit: Visit) -> tuple[bytes, list[str], list[str], str]:
    visit.still()
    return visit.shot(), sorted(visit.serving.refused), visit.serving.missing, visit.page.title()


def test_a_page_sees_its_own_files_and_nothing_else(browser: Browser) -> None:
    quiet = {**FILES, "inner.html": b"<p>inner"}  # a frame that leads on may be drawn before or after it does
    before = browser.visit("pages/index.html", quiet, Screen(width=600, height=300), seen)
    png, refused, missing, title = browser.visit("pages/index.html", FILES, Screen(width=600, height=300), seen)
    picture = Image.open(io.BytesIO(png)).convert("RGB")
    assert picture.size == (600, 300)
    assert (255, 0, 0) in {color for _, color in picture.getcolors(1 << 20)}, "its stylesheet was applied"
    assert {"https://example.com/x.png", "https://cdn.example.org/x.css"} <= set(refused)
    assert missing == ["pages/missing.png"]
    assert title == "", "its script did not run"
    again = browser.visit("pages/index.html", quiet, Screen(width=600, height=300), seen)
    assert again[0] == before[0], "an earlier visit leaves nothing behind"


def test_scripts_run_with_a_clock_and_chance_of_ours(browser: Browser) -> None:
    def run(visit: Visit) -> tuple[str, list[str]]:
        visit.run_for(1000)
        return visit.page.title(), sorted(visit.serving.refused)

    screen = Screen(width=200, height=100, scripts=True, seed=5)
    first = browser.visit("a.html", {"a.html": SCRIPTS}, screen, run)
    assert first[0].endswith(" 1735689600100 0,16,32,48")
    assert first[1] == ["http://169.254.169.254/latest", "ws://10.0.0.1/"]
    assert browser.visit("a.html", {"a.html": SCRIPTS}, screen, run) == first
    other = msgspec.structs.replace(screen, seed=6)
    assert browser.visit("a.html", {"a.html": SCRIPTS}, other, run)[0] != first[0]


def test_a_phone_is_narrow_and_pictures_of_parts_reach_beyond_the_window(browser: Browser) -> None:
    page = b"<meta name=viewport content='width=device-width'><body style='margin:0'><div style='height:3000px'>"
    page += b"</div><b style='display:block;width:10px;height:10px;background:#00f'></b>"
    screen = Screen(width=390, height=844, scale=2, mobile=True)
    png = browser.visit("a.html", {"a.html": page}, screen, lambda visit: visit.shot((0, 2995, 20, 3010)))
    picture = Image.open(io.BytesIO(png)).convert("RGB")
    assert picture.size == (40, 30)
    assert picture.getpixel((10, 20)) == (0, 0, 255)
    assert picture.getpixel((10, 5)) == (255, 255, 255)


def test_what_is_no_page_is_a_reason(browser: Browser) -> None:
    for files, main in (({}, "a.html"), ({"a.zip": b"PK"}, "a.zip")):
        with pytest.raises(GuardError) as caught:
            browser.visit(main, files, Screen(), seen)
        assert caught.value.reason == "error_page", str(caught.value)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("reason", "seconds", "page"),
    [
        ("timeout", 3.0, b"<script>for (;;);</script>"),
        ("memory", 60.0, b"<script>const a = []; for (;;) a.push(new Uint8Array(1e7).fill(1))</script>"),
    ],
)
def test_a_page_that_kills_is_a_reason_and_costs_its_browser(
    browser: Browser, reason: str, seconds: float, page: bytes
) -> None:
    limits = msgspec.structs.replace(BROWSER_LIMITS, wall_seconds=seconds, memory_bytes=700 * MIB)
    with Browser(limits) as victim:
        with pytest.raises(GuardError) as caught:
            victim.visit("a.html", {"a.html": page}, Screen(scripts=True), seen)
        assert caught.value.reason == reason, str(caught.value)
        if reason == "memory":  # the next page is drawn all the same
            assert victim.visit("b.html", {"b.html": b"<title>next</title>"}, Screen(), seen)[3] == "next"
            assert victim.starts == 2
