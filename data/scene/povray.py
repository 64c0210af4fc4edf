"""The engine "povray": scene code of the Persistence of Vision Raytracer to a picture.

Odd: POV-Ray reads and writes files by directives of its language, and the file that is to restrict that does nothing in
Debian's build (decision 182). So code that opens a file to write is refused before it runs, code that wrote one all the
same is refused afterwards, and the guard shows nothing but the scene's own files and the standard includes. The picture
comes over standard output as plain pixels, since its PNG would hold the time of day. Code that reads the clock (`now`,
whole seconds) and is drawn twice waits for the next second, so that it is found out.
"""

import io
import re
from collections.abc import Mapping
from typing import Annotated

import msgspec
from msgspec import Meta
from PIL import Image

from trivium.data.config import Strict
from trivium.data.guard import Limits, Outcome, Profile, run
from trivium.data.pairs.engine import Drawing
from trivium.data.pairs.facts import Facts
from trivium.data.scene import programs
from trivium.data.scene.pov.facts import facts_of
from trivium.data.scene.pov.references import refuse_output
from trivium.errors import GuardError

MAIN = "scene.pov"
INCLUDES = "/usr/share/povray-3.7/include"
_FONTS = "/usr/share/fonts/truetype/povray"  # what links in the folder of includes lead to
LIMITS = Limits(wall_seconds=300, cpu_seconds=30, memory_bytes=2 << 30, threads=32, scratch_bytes=64 << 20)
PROFILE = Profile(name="povray", read=("/usr/share/povray-3.7", _FONTS), fonts=())
_NOW = re.compile(rb"\bnow\b")
_PACKAGES = "povray povray-includes fonts-povray"
_PIXELS = re.compile(rb"P6\s(?:#[^\n]*\n)*(\d+)\s+(\d+)\s(?:#[^\n]*\n)*255\s")
_FAULT = re.compile(r"^(?:File '([^']*)' line (\d+): )?(Parse Error|Fatal error in [a-z ]+): (.*(?:\n .*)*)", re.M)
_NO_REASON = "Cannot parse input"
TRIES = 4  # of a run that fails and does not say why
_ABSENT = re.compile(r"(?:Cannot|Could not) (?:open|find|access|read)[^\n]*|not found in any", re.I)


class PovrayRules(Strict, frozen=True):
    """What decides a picture beside the code: `quality` 0 to 11 as POV-Ray's +Q, `antialias` its threshold (0: none),
    `clock` what the code reads as `clock`."""

    width: Annotated[int, Meta(ge=16, le=2048)] = 320
    height: Annotated[int, Meta(ge=16, le=2048)] = 240
    quality: Annotated[int, Meta(ge=0, le=11)] = 9
    antialias: Annotated[float, Meta(ge=0, le=3)] = 0.3
    clock: Annotated[float, Meta(ge=-1000, le=1000)] = 0.0


class PovrayEngine:
    """Draws one scene a run. `files`: what the code includes, by the path that it gives."""

    name = "povray"

    def __init__(self, limits: Limits = LIMITS) -> None:
        self._limits = limits
        self._about = ""
        self._last: object = None

    def open(self) -> None:
        programs.need("povray", _PACKAGES)

    def close(self) -> None:
        pass

    def environment(self) -> str:
        """Version of the program, digest of the standard includes and their fonts."""
        if not self._about:
            found = re.search(r"Version ([^\s(]+)|POV-Ray (\d\S*)", programs.told(["povray", "--version"], PROFILE))
            version = next(filter(None, found.groups()), "unknown") if found else "unknown"
            self._about = f"povray {version}, includes {programs.digest_of((INCLUDES, _FONTS))}"
        return self._about

    def draw(self, code: str, files: Mapping[str, bytes], settings: str) -> Drawing:
        """Raises GuardError: `file_output`, `parse_error`, `absent_file`, `external_reference`, `too_deep`,
        `failed`, or a guard's reasons.
        """
        rules = msgspec.json.decode(settings, type=PovrayRules)
        refuse_output(code, files)
        given = {**files, MAIN: code.encode()}
        if (given, settings) == self._last and any(_NOW.search(text) for text in given.values()):
            programs.wait_for_next_second()
        self._last = given, settings
        outcome = self._run(rules, given)
        _refuse_written(outcome, given)
        return Drawing(
            payload=_png(outcome, rules, code),
            mime="image/png",
            width=rules.width,
            height=rules.height,
            facts=_facts(code, rules),
        )

    def _run(self, rules: PovrayRules, given: Mapping[str, bytes]) -> Outcome:
        """Once more while it fails without a word of what is wrong: another of its threads writes that, and may come
        too late (2 in 640 runs on a machine with nine times as much to do as processors).
        """
        for _ in range(TRIES):
            outcome = run(_command(rules), given, ["*"], limits=self._limits, profile=PROFILE)
            programs.ended(outcome)
            if outcome.status == 0 or _faults(outcome.stderr.decode(errors="replace")):
                break
        return outcome


def _facts(code: str, rules: PovrayRules) -> Facts:
    try:
        return facts_of(code, rules.width, rules.height, rules.clock)
    except RecursionError:
        raise GuardError("too_deep", "blocks within blocks, deeper than is read") from None


def _command(rules: PovrayRules) -> list[str]:
    """One thread, no display, no jitter (it would blur what the code says), all words to standard error."""
    smooth = [f"+A{rules.antialias:g}", "+AM1", "+R2", "-J"] if rules.antialias else ["-A"]
    size = [f"+W{rules.width}", f"+H{rules.height}"]
    fixed = ["+WT1", "-D", "-P", "-V", "+GA", f"+Q{rules.quality}", f"+K{rules.clock:g}"]
    return ["povray", f"+I{MAIN}", "+O-", "+FP8", *size, *smooth, *fixed, f"+L{INCLUDES}"]


def _refuse_written(outcome: Outcome, given: Mapping[str, bytes]) -> None:
    for name, content in outcome.files.items():
        if given.get(name) != content:
            raise GuardError("file_output", f"the scene wrote {name!r}")


def _png(outcome: Outcome, rules: PovrayRules, code: str) -> bytes:
    head = _PIXELS.match(outcome.stdout)
    if outcome.status != 0 or head is None:
        raise _failure(outcome.stderr.decode(errors="replace"), outcome.status, code)
    pixels = outcome.stdout[head.end() :]
    width, height = int(head[1]), int(head[2])
    if (width, height) != (rules.width, rules.height) or len(pixels) != 3 * width * height:
        raise GuardError("failed", f"{len(pixels)} bytes of {width} × {height} pixels")
    buffer = io.BytesIO()
    Image.frombytes("RGB", (width, height), pixels).save(buffer, "PNG", compress_level=6)
    return buffer.getvalue()


def _said(words: str) -> str:
    """What it said from reading the scene on; before it stands what files of settings are not there."""
    return words[max(0, words.find("[Parsing")) :]


def _faults(words: str) -> list[tuple[str, str, str, str]]:
    """(file, line, kind, text) of each; that a scene can't be parsed, without a why, is none."""
    found = _FAULT.findall(_said(words))
    return [] if len(found) == 1 and found[0][3].startswith(_NO_REASON) else found


def _failure(words: str, status: int, code: str) -> GuardError:
    faults, words = _faults(words), _said(words)
    if not faults:
        return GuardError("failed", f"POV-Ray ended with {status}: {words[-200:].strip()}")
    file, line, kind, text = faults[0]
    told = " ".join(text.split())
    detail = f"{file} line {line}: {told}" if file else told
    if _ABSENT.search(words):
        return programs.wanting("absent_file", detail, code)
    return GuardError("parse_error" if "Parse" in kind else "failed", detail)
