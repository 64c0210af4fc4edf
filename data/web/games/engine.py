"""Pages that move as an engine of pairs: the browser runs them on our clock, and a guarded child makes the clip."""

import base64
import functools
import hashlib
import re
from collections.abc import Mapping, Sequence
from importlib import resources
from typing import Any

import msgspec

from trivium.data.guard import Guard, Limits
from trivium.data.pairs.engine import Drawing
from trivium.data.pairs.facts import Facts
from trivium.data.web.browser import Browser
from trivium.data.web.games import clip, facts
from trivium.data.web.games.kinds import kinds, recognise
from trivium.data.web.games.settings import GameSettings
from trivium.data.web.screen import BROWSER_LIMITS, Screen
from trivium.data.web.visit import Visit
from trivium.errors import GuardError

MIB = 1 << 20
EPOCH = 1735732800000  # 2025-01-01 12:00 UTC, in milliseconds: where the page's clock starts
# Pages of our generator need no process of their own, which costs more than their clip; each brings its own prelude.
_OURS = Screen(width=640, height=480, scripts=True, prelude="void 0;", kept=True)
_HEAD = re.compile(r"<head>")
_PAGES = 500  # visits of one browser
_ENCODER = Limits(wall_seconds=60, cpu_seconds=60, memory_bytes=2048 * MIB, output_bytes=64 * MIB)
# In one go: each question to a browser takes its turn through four processes.
_FILM = """async ([first, ...rest]) => {
  const pictures = await __trivium.film([first]);
  const said = PARTS;
  pictures.push(...await __trivium.film(rest));
  return [pictures, said, Array.from(__trivium.errors)];
}"""
# A window of its own would lead elsewhere; nothing opens, and the page is refused for it.
_WINDOWS = "open = (place) => { __trivium.errors.push(`opens a window at ${place}`); return null; };"
_ADVANCE = "time => __trivium.advance(time)"
_GONE = ("context was destroyed", "__trivium is not defined")  # Playwright's words
_OTHER = "[document.title, document.querySelectorAll('canvas').length]"


class GameEngine:
    """Films a page in a browser process of its own. With `limits.wall_seconds` for each clip."""

    name = "game"

    def __init__(self, limits: Limits = BROWSER_LIMITS) -> None:
        self._browser = Browser(limits, pages=_PAGES)
        self._encoder = Guard(clip.TASK, _ENCODER)
        self._last: tuple[bytes, clip.Clip] | None = None

    def open(self) -> None:
        """Raises MissingDependencyError without Chromium or Playwright."""
        self._browser.open()
        self._encoder.start()

    def close(self) -> None:
        self._browser.close()
        self._encoder.close()

    def environment(self) -> str:
        return f"{self._browser.environment()}, {clip.environment()}, clock {_clock_digest()}"

    def draw(self, code: str, files: Mapping[str, bytes], settings: str) -> Drawing:
        """Raises GuardError with a guard's reasons, `error_page` (a script of the page raised an error),
        `external_reference` (it asks for what is not among its files), `missing_file` (for what should be).
        """
        chosen = msgspec.json.decode(settings, type=GameSettings)
        screen = Screen(width=chosen.width, height=chosen.height, scripts=True, prelude=prelude(chosen))
        served = code
        if chosen.capture == "canvas":
            screen, served = (
                _OURS,
                _HEAD.sub(lambda head: f"{head[0]}<script>{prelude(chosen)}</script>", code, count=1),
            )
        everything = {**files, chosen.main: served.encode("utf-8", "surrogatepass")}
        known = recognise(code)
        parts = kinds()[known.kind].parts if known is not None else ""

        def film(visit: Visit) -> tuple[list[bytes], Any]:
            from playwright.sync_api import Error

            try:
                return _film(visit, chosen, parts, alone=not files)
            except Error as error:
                _judge(visit)
                if any(sign in error.message for sign in _GONE):
                    raise GuardError("error_page", "the page went elsewhere while it ran") from None
                raise

        pictures, said = self._browser.visit(chosen.main, everything, screen, film)
        made = self._clip(clip.Frames(pictures=pictures, fps=chosen.fps))
        found: Facts = facts.facts(known, said) if known is not None else facts.other(*said)
        return Drawing(
            payload=made.payload,
            mime=clip.MIME,
            width=made.width,
            height=made.height,
            facts=found,
            frames=chosen.frames,
            fps=chosen.fps,
        )

    def _clip(self, frames: clip.Frames) -> clip.Clip:
        """Of the same frames as the last time, as in drawing twice: the clip that they gave."""
        digest = hashlib.sha256(msgspec.msgpack.encode(frames)).digest()
        if self._last is None or self._last[0] != digest:
            self._last = digest, self._encoder.call(frames, clip.Clip)
        return self._last[1]


def prelude(settings: GameSettings) -> str:
    """The script that runs before the page's own: time, chance and input are ours from then on."""
    words = hashlib.sha256(f"trivium game {settings.seed}".encode()).digest()
    said = {
        "seed": [int.from_bytes(words[at : at + 4], "big") for at in range(0, 16, 4)],
        "epoch": EPOCH,
        "inputs": msgspec.to_builtins(settings.inputs),
    }
    return f"({_clock()})({msgspec.json.encode(said).decode()});{_WINDOWS}"


@functools.cache
def _clock() -> str:
    return resources.files("trivium.data.web.games").joinpath("clock.js").read_text(encoding="utf-8").strip()


def _clock_digest() -> str:
    return hashlib.sha256(_clock().encode()).hexdigest()[:12]


def _film(visit: Visit, settings: GameSettings, parts: str, *, alone: bool) -> tuple[list[bytes], Any]:
    """All frames, and what the running page says of itself at the first one."""
    if not alone:
        visit.page.wait_for_load_state("networkidle")  # files that scripts ask for come in real time
    if settings.capture == "canvas":
        found, said, errors = visit.ask(_FILM.replace("PARTS", parts or _OTHER), settings.times)
        pictures = [base64.b64decode(one, validate=True) for one in found]
    else:
        pictures = []
        for time in settings.times:
            visit.ask(_ADVANCE, time)
            pictures.append(visit.shot())
        said, errors = visit.ask(f"() => [{_OTHER}, Array.from(__trivium.errors)]")
    _judge(visit, errors)
    return pictures, said


def _judge(visit: Visit, errors: Sequence[object] = ()) -> None:
    """Raises GuardError for a page that failed or wanted more than its own files."""
    serving = visit.serving
    if serving.count_refused:
        raise GuardError("external_reference", serving.asked())
    if serving.count_missing:
        raise GuardError("missing_file", f"{serving.count_missing} in all, the first is {serving.missing[0]}")
    if serving.leads:
        raise serving.led()
    complaints = [*visit.complaints, *map(str, errors)]
    if complaints:
        raise GuardError("error_page", complaints[0])
