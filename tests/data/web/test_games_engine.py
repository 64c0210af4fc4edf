"""The clock inside the page, the clip made of it, and why pages are refused, all with the real browser."""

import io
from collections.abc import Iterator
from typing import Any

import av
import msgspec
import numpy as np
import pytest

from trivium.data.pairs import bundle
from trivium.data.pairs.drawing import DrawRules
from trivium.data.pairs.item import sheet_of
from trivium.data.records import Video
from trivium.data.stage import Draft, Drop, Raw
from trivium.data.web.browser import Browser
from trivium.data.web.games.engine import EPOCH, GameEngine, prelude
from trivium.data.web.games.kinds import recognise, variant
from trivium.data.web.games.settings import GameSettings, Input
from trivium.data.web.games.stage import GameDraw
from trivium.data.web.screen import Screen
from trivium.errors import GuardError

MOVES = """<canvas id=c width=120 height=90></canvas><script>
const c = document.getElementById("c").getContext("2d"); let x = 0, y = 40;
addEventListener("keydown", (e) => { if (e.keyCode === 39) y = 5; });
function step() { c.fillStyle = "white"; c.fillRect(0, 0, 120, 90); c.fillStyle = COLOR;
  c.fillRect(x, y, 20, 20); x = (x + 2) % 100; requestAnimationFrame(step); }
requestAnimationFrame(step); OTHER
</script>"""
PAGE = MOVES.replace("COLOR", '"crimson"')
SHORT = GameSettings(width=120, height=90, frames=4, fps=8, skip=100)


def page(more: str = "") -> str:
    return PAGE.replace("OTHER", more)


@pytest.fixture(scope="module")
def engine(browser: Browser) -> Iterator[GameEngine]:
    """With the folder's one browser."""
    made = GameEngine()
    made._browser = browser
    yield made
    made._encoder.close()


def frames(payload: bytes) -> list[np.ndarray]:
    with av.open(io.BytesIO(payload)) as clip:
        return [frame.to_ndarray(format="rgb24") for frame in clip.decode(video=0)]


def test_time_and_chance_are_ours_and_happen_in_one_order(browser: Browser) -> None:
    html = """<style>b { animation: go 1s linear } @keyframes go { to { opacity: 0 } }</style><b id=b>x</b><script>
    const seen = []; const say = (what) => seen.push(what + "@" + Math.round(performance.now()));
    setTimeout(() => { say("late"); Promise.resolve().then(() => say("promise")); }, 50);
    setTimeout(say, 20, "soon"); const every = setInterval(() => say("every"), 40);
    setTimeout(() => clearInterval(every), 100); const gone = setTimeout(say, 10, "never"); clearTimeout(gone);
    requestAnimationFrame(() => say("frame")); addEventListener("keydown", (e) => say(e.code + e.keyCode));
    addEventListener("click", (e) => say("click " + e.clientX + " " + (e.timeStamp === performance.now())));
    </script>"""
    ask = """async () => { await __trivium.advance(130); return [seen, Date.now(), new Date().toISOString(),
        Math.random(), crypto.randomUUID(), +getComputedStyle(b).opacity, new Date(5).getTime(),
        new Intl.DateTimeFormat("en", {timeZone: "UTC", year: "numeric"}).format()] }"""
    acts = (
        Input(at=30, act="press", key=" "),
        Input(at=60, act="down", x=7, y=9),
        Input(at=61, act="up", x=7, y=9),
    )

    def run(seed: int) -> Any:
        settings = msgspec.structs.replace(SHORT, seed=seed, inputs=acts)
        screen = Screen(width=120, height=90, scripts=True, prelude=prelude(settings))
        return browser.visit("a.html", {"a.html": html.encode()}, screen, lambda visit: visit.ask(ask))

    seen, now, iso, chance, uuid, opacity, given, year = run(1)
    order = ["frame@17", "soon@20", "Space32@30", "every@40", "late@50", "promise@50", "click 7 true@61", "every@80"]
    assert seen == order
    assert (now, iso[:16], given, year) == (EPOCH + 130, "2025-01-01T12:00", 5, "2025")
    assert 0.85 < opacity < 0.93, "what CSS moves stands where our clock says"
    assert run(1)[3:5] == [chance, uuid] != run(2)[3:5]


def test_a_clip_is_the_same_each_time_and_another_for_another_player(engine: GameEngine) -> None:
    first = engine.draw(page(), {}, SHORT.canonical())
    assert (first.mime, first.frames, first.width, first.height) == ("video/mp4", 4, 120, 90)
    assert engine.draw(page(), {}, SHORT.canonical()).payload == first.payload
    canvas = engine.draw("<head></head>" + page(), {}, msgspec.structs.replace(SHORT, capture="canvas").canonical())
    places = [int(np.argwhere((one != 255).any(axis=2))[:, 1].min()) for one in frames(canvas.payload)]
    assert places == [10, 24, 40, 54], "two pixels a frame, sixty frames a second"
    played = msgspec.structs.replace(SHORT, inputs=(Input(at=200, act="press", key="ArrowRight"),))
    other = frames(engine.draw(page(), {}, played.canonical()).payload)
    same = [bool((a == b).all()) for a, b in zip(frames(first.payload), other, strict=True)]
    assert same == [True, False, False, False], "the key went down after the first frame"


@pytest.mark.parametrize(
    ("code", "files", "reason"),
    [
        (page("setTimeout(() => nothing.here, 20);"), {}, "error_page"),
        (page("Promise.reject(new Error('x'));"), {}, "error_page"),
        (page("new Worker('a.js');"), {}, "error_page"),
        (page("fetch('http://127.0.0.1:9/x').catch(() => 0);"), {}, "external_reference"),
        (page("location.href = 'file:///etc/passwd';"), {}, "external_reference"),
        (page("setTimeout(() => location.reload(), 120);"), {}, "error_page"),
        (page("location.href = 'http://127.0.0.1:9/x';"), {}, "external_reference"),
        (page("open('http://127.0.0.1:9/x');"), {}, "error_page"),
        (page("new Image().src = 'x.png';"), {"y.txt": b""}, "missing_file"),
    ],
)
def test_pages_that_fail_or_want_more_than_their_files_are_refused(
    engine: GameEngine, code: str, files: dict[str, bytes], reason: str
) -> None:
    with pytest.raises(GuardError) as refused:
        engine.draw(code, files, SHORT.canonical())
    assert refused.value.reason == reason


def test_pages_become_items_or_say_why_not(engine: GameEngine) -> None:
    stage = GameDraw.Config(seconds=0.5, width=120, height=90, draw=DrawRules(tries=8)).build()
    stage._drawer.engine = engine
    stage._drawer._looker.open()

    def of(body: bytes, mime: str = "text/html") -> Draft | Drop:
        fields = {"corpus": "g", "domain": "d", "source": "s", "address": "a", "license": "MIT"}
        (outcome,) = stage.process(Raw(**fields, body=body, mime=mime))
        assert isinstance(outcome, Draft | Drop)
        return outcome

    item = of(variant(1, 1).encode())
    assert isinstance(item, Draft)
    sheet = sheet_of(item)
    assert sheet.facts.what == "a game of breakout"
    known = recognise(item.document.text)
    assert known is not None
    bricks = [part for part in sheet.facts.parts if part.kind == "brick"]
    assert len(bricks) == int(known.constants["ROWS"]) * int(known.constants["COLUMNS"])
    assert [change.role for change in sheet.changes] == ["edit", "bug"]
    (clip,) = [one for one in item.document.segments if isinstance(one, Video)]
    assert (clip.frames, clip.fps, clip.width) == (4, 8.0, known.constants["WIDTH"])

    split = bundle.pack("p/i.html", {"p/i.html": page("</script><script src='../c.js'>").encode(), "c.js": b"x = 50;"})
    other = of(split, bundle.MIME)
    assert isinstance(other, Draft)
    assert sheet_of(other).files == {"c.js": "f0.bin"}

    reasons = {
        "not_deterministic": MOVES.replace("COLOR", "`#${URL.createObjectURL(new Blob()).slice(-6)}`").replace(
            "OTHER", ""
        ),
        "still": page("requestAnimationFrame = () => 0; c.fillRect(9, 9, 50, 50);"),
        "too_large": "x" * 300_000,
    }
    for reason, code in reasons.items():
        refused = of(code.encode())
        assert isinstance(refused, Drop)
        assert refused.reason == reason, refused.detail
    stage._drawer._looker.close()
