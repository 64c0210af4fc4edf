"""The engine "openscad": OpenSCAD code to a solid (STL), and that to a picture through the engine "mesh".

Odd: each view is drawn twice at build time and a solid may take seconds, so the first drawings of all views share one
run of OpenSCAD and the second ones another; what differs between the two runs still differs in the pictures. `rands`
without a seed takes the clock's second and the process id, which a sandbox gives anew from the same start: the second
run of code that names it waits for the next second. Code that makes a flat drawing is run once more inside a module, as
a thin plate.
"""

import re
from collections.abc import Mapping
from typing import Annotated

import msgspec
from msgspec import Meta

from trivium.data.guard import Limits, Outcome, Profile, run
from trivium.data.pairs.engine import Drawing
from trivium.data.scene import programs
from trivium.data.scene.camera import Shot
from trivium.data.scene.mesh import MeshRenderer, drawing
from trivium.data.scene.scad.facts import facts_of
from trivium.errors import GuardError

MAIN = "scene.scad"
LIMITS = Limits(wall_seconds=300, cpu_seconds=30, memory_bytes=2 << 30, threads=64, scratch_bytes=128 << 20)
_FONTS = ("/usr/share/fonts/truetype/liberation", "/usr/share/fonts/truetype/dejavu", "/etc/fonts")
PROFILE = Profile(
    name="openscad",
    read=("/usr/share/openscad", "/usr/share/fontconfig"),
    fonts=_FONTS,
    environment={"QT_QPA_PLATFORM": "offscreen", "OPENSCADPATH": "/scratch"},
    fixed_addresses=True,  # CGAL's order of faces follows them; on a mesh with holes even what is kept of it does
)
_CHANCE = b"rands"
_SOLID, _TREE, _WHOLE = "out.stl", "out.csg", "whole.scad"
_FACET, _FACET_END = b"  facet normal", b"endfacet\n"
_FLAT = "not a 3D object"
_EMPTY = ("object is empty", "No top level object")
_WARNING = re.compile(r"^WARNING: (.*)$", re.M)
_FAULT = re.compile(r"^(?:ERROR|TRACE): .*$", re.M)
_ABSENT = re.compile(r"WARNING: (Can't open (?:library|include file|import file) '[^']*'|Failed to open .*)")


class OpenscadRules(Shot, frozen=True):
    """What decides a picture beside the code: the camera, the path of the code among its files, and `time` as $t."""

    main: str = MAIN
    time: Annotated[float, Meta(ge=0, le=1)] = 0.0
    most: Annotated[int, Meta(ge=1, le=5_000_000)] = 300_000  # triangles


class Solid(msgspec.Struct, frozen=True, kw_only=True):
    """What one run of OpenSCAD made: the STL, the evaluated tree, and whether the code draws something flat."""

    stl: bytes
    tree: str
    flat: bool


class OpenscadEngine:
    """Draws one scene. `files`: what the code uses, includes and imports, by path; libraries lie among them."""

    name = "openscad"

    def __init__(self, limits: Limits = LIMITS) -> None:
        self._limits = limits
        self._renderer = MeshRenderer()
        self._about = ""
        self._key: object = None
        self._made: list[Solid | GuardError] = []
        self._drawn: dict[str, int] = {}
        self._tree = ""

    def open(self) -> None:
        programs.need("openscad", "openscad")
        self._renderer.open()

    def close(self) -> None:
        self._renderer.close()
        self._key = None

    def environment(self) -> str:
        """Version of the program, digest of its fonts, and what draws the mesh."""
        if not self._about:
            found = re.search(r"OpenSCAD version (\S+)", programs.told(["openscad", "--version"], PROFILE))
            version = found[1] if found else "unknown"
            fonts = programs.digest_of(_FONTS[:2])
            self._about = f"openscad {version}, fonts {fonts}, {self._renderer.environment()}"
        return self._about

    def flat(self, code: str, files: Mapping[str, bytes], settings: str) -> bool:
        """Whether the code draws something flat, by the run that the first drawings will share. Raises GuardError."""
        return self._solid(code, files, msgspec.json.decode(settings, type=OpenscadRules), 0).flat

    def draw(self, code: str, files: Mapping[str, bytes], settings: str) -> Drawing:
        """Raises GuardError: `parse_error`, `absent_file`, `external_reference`, `empty`, `failed`; a mesh's."""
        rules = msgspec.json.decode(settings, type=OpenscadRules)
        self._attend(code, files, rules)
        number = self._drawn.get(settings, 0)
        self._drawn[settings] = number + 1
        solid = self._solid(code, files, rules, number)
        shot = Shot(**{field: getattr(rules, field) for field in Shot.__struct_fields__})
        pictures = self._renderer.file(_SOLID, {_SOLID: solid.stl}, [shot], up="z", most=rules.most)
        facts = facts_of(solid.tree, pictures.facts, flat=solid.flat)
        return msgspec.structs.replace(drawing(pictures, shot), facts=facts)

    def _attend(self, code: str, files: Mapping[str, bytes], rules: OpenscadRules) -> None:
        key = (code, dict(files), rules.main, rules.time)
        if key != self._key:
            self._key, self._made, self._drawn, self._tree = key, [], {}, ""

    def _solid(self, code: str, files: Mapping[str, bytes], rules: OpenscadRules, number: int) -> Solid:
        """The solid of the run `number`; runs are made as they are needed. Raises GuardError, kept as well."""
        self._attend(code, files, rules)
        while len(self._made) <= number:
            if self._made and any(_CHANCE in text for text in (code.encode(), *files.values())):
                programs.wait_for_next_second()
            try:
                self._made.append(self._run(code, files, rules))
            except GuardError as error:
                self._made.append(error)
        made = self._made[number]
        if isinstance(made, GuardError):
            raise made
        return made

    def _run(self, code: str, files: Mapping[str, bytes], rules: OpenscadRules) -> Solid:
        given = {**files, rules.main: code.encode()}
        outcome = self._export(given, rules.main, rules, _SOLID)
        flat = outcome.status != 0 and _FLAT in outcome.stderr.decode(errors="replace")
        if flat:
            folder = rules.main.rpartition("/")[0]
            whole = f"{folder}/{_WHOLE}" if folder else _WHOLE
            name = rules.main.rpartition("/")[2]
            wrapped = f"module whole() {{ include <{name}>\n}}\nlinear_extrude(height = 0.01) whole();\n"
            outcome = self._export({**given, whole: wrapped.encode()}, whole, rules, _SOLID)
        stl = outcome.files.get(_SOLID, b"")
        if outcome.status != 0 or not stl:
            raise _failure(outcome, code)
        _refuse_absent(outcome, code)
        if not self._tree:
            tree = self._export(given, rules.main, rules, _TREE)
            self._tree = tree.files.get(_TREE, b"").decode(errors="replace")
        return Solid(stl=ordered(stl), tree=self._tree, flat=flat)

    def _export(self, files: Mapping[str, bytes], main: str, rules: OpenscadRules, out: str) -> Outcome:
        command = ["openscad", "-o", f"/scratch/{out}", "-D", f"$t={rules.time:g}", main]
        outcome = run(command, files, [out], limits=self._limits, profile=PROFILE)
        programs.ended(outcome)
        return outcome


def _refuse_absent(outcome: Outcome, code: str) -> None:
    found = _ABSENT.search(outcome.stderr.decode(errors="replace"))
    if found:
        raise programs.wanting("absent_file", found[1], code)


def _failure(outcome: Outcome, code: str) -> GuardError:
    words = outcome.stderr.decode(errors="replace")
    _refuse_absent(outcome, code)
    fault = _FAULT.search(words)
    if fault:
        if "arse" in fault[0]:
            return GuardError("parse_error", fault[0][:300])
        return programs.wanting("failed", fault[0][:300], code)
    if any(sign in words for sign in _EMPTY):
        warned = _WARNING.search(words)  # a loop over too many elements is left out with a warning
        why = f"; OpenSCAD warns: {warned[1][:240]}" if warned else ""
        return programs.wanting("empty", f"it makes no object at its top level{why}", code)
    return GuardError("failed", f"OpenSCAD ended with {outcome.status}: {words[-200:].strip()}")


def ordered(stl: bytes) -> bytes:
    """A text STL with its facets sorted: OpenSCAD writes the same ones in another order each time (CGAL goes by where
    things lie in memory), and where facets share an edge the order shows in a pixel.
    """
    head, *facets = stl.split(_FACET)
    if not facets:
        return stl
    last, end, tail = facets[-1].partition(_FACET_END)
    return head + b"".join(_FACET + facet for facet in sorted([*facets[:-1], last + end])) + tail
