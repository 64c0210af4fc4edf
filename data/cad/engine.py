"""The engine "build123d": scripts and STEP files to solids, and solids to line drawings and shaded pictures.

Odd: two guarded children. One runs scripts, each in a fork of its own, and draws lines; what is shaded goes on as
triangles to the mesh renderer, which sees no script.
"""

from collections.abc import Iterable, Mapping, Sequence
from importlib import metadata

import msgspec

from trivium.data.cad.requests import TASK, CadAnswer, CadRequest, CadSettings
from trivium.data.guard import Guard, Limits
from trivium.data.pairs.engine import Drawing
from trivium.data.pairs.facts import Box, Facts
from trivium.data.scene.mesh import MeshRenderer
from trivium.data.svg import fonts
from trivium.errors import GuardError

LIMITS = Limits(
    wall_seconds=300, cpu_seconds=40, start_seconds=180, memory_bytes=3 << 30, output_bytes=64 << 20, requests=2000
)
_PACKAGES = ("build123d", "cadquery-ocp-novtk", "cairosvg")
_SEEN = 0.4  # share of a hole's mouth, in width and height, whose wall must be seen for its place to count


class CadEngine:
    """Draws the script `code`, or the one STEP file in `files` when there is none."""

    name = "build123d"

    def __init__(self, limits: Limits = LIMITS) -> None:
        self._guard = Guard(TASK, limits, profile=fonts.profile(), apart=True)
        self._renderer = MeshRenderer()
        self._expected: tuple[str, ...] = ()
        self._drawn: tuple[str, bytes] = ("", b"")
        self._ready: dict[str, list[Drawing]] = {}  # of the code drawn last, by settings

    def open(self) -> None:
        """Raises MissingDependencyError where build123d, VTK or DejaVu's fonts are not installed."""
        fonts.check()
        self._guard.start()
        self._renderer.open()

    def close(self) -> None:
        self._guard.close()
        self._renderer.close()

    def environment(self) -> str:
        packages = ", ".join(f"{name} {_version(name)}" for name in _PACKAGES)
        return f"{packages}, fonts {fonts.digest()}, {self._renderer.environment()}"

    def expect(self, settings: Iterable[str]) -> None:
        """What is asked for of each code from now on, so that one run of a script serves all its pictures.

        A picture is given away once: drawn again, its script is run again.
        """
        self._expected = tuple(dict.fromkeys(settings))

    def draw(self, code: str, files: Mapping[str, bytes], settings: str) -> Drawing:
        if not code and len(files) != 1:
            raise GuardError("absent_file", f"{len(files)} files and no script; one STEP file is drawn")
        file = b"" if code else next(iter(files.values()))
        if (code, file) != self._drawn:
            self._drawn, self._ready = (code, file), {}
        if not self._ready.get(settings):
            wanted = self._expected if settings in self._expected else (settings,)
            for one, drawing in zip(wanted, self._run(code, file, wanted), strict=True):
                self._ready.setdefault(one, []).append(drawing)
        return self._ready[settings].pop(0)

    def _run(self, code: str, file: bytes, wanted: Sequence[str]) -> list[Drawing]:
        rules = tuple(msgspec.json.decode(settings, type=CadSettings) for settings in wanted)
        answers = self._guard.call(CadRequest(settings=rules, code=code, file=file), list[CadAnswer])
        if len(answers) != len(rules):
            raise GuardError("crashed", f"{len(answers)} pictures where {len(rules)} were asked for")
        return [self._drawing(answer, rule) for answer, rule in zip(answers, rules, strict=True)]

    def _drawing(self, answer: CadAnswer, rules: CadSettings) -> Drawing:
        payload, facts = answer.png, answer.facts
        if answer.mesh is not None and answer.shot is not None:
            pictures = self._renderer.triangles(answer.mesh, [answer.shot])
            payload = pictures.pngs[0]
            facts = facts and _placed(facts, pictures.facts, answer.rims)
        return Drawing(payload=payload, mime="image/png", width=rules.width, height=rules.height, facts=facts)


def _placed(facts: Facts, seen: Facts, rims: Mapping[int, Box]) -> Facts:
    """The facts with a box for each part that is seen: a hole's mouth, else what the renderer saw of the part."""
    boxes = {part.name: part.box for part in seen.parts if part.box is not None}
    parts = []
    for number, part in enumerate(facts.parts):
        box = boxes.get(f"p{number}")
        if box is not None and "hole" in part.kind:
            box = _mouth(box, rims.get(number))
        parts.append(msgspec.structs.replace(part, box=box))
    return msgspec.structs.replace(facts, parts=tuple(parts))


def _mouth(wall: Box, rim: Box | None) -> Box | None:
    """The mouth of a hole whose wall is seen within it; None when something hides it."""
    if rim is None or wall[0] < rim[0] - 3 or wall[1] < rim[1] - 3 or wall[2] > rim[2] + 3 or wall[3] > rim[3] + 3:
        return None
    wide, high = (wall[2] - wall[0]) / (rim[2] - rim[0]), (wall[3] - wall[1]) / (rim[3] - rim[1])
    return rim if min(wide, high) >= _SEEN else None


def _version(package: str) -> str:
    try:
        return metadata.version(package)
    except metadata.PackageNotFoundError:
        return "absent"
