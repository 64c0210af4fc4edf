"""A scene's statements as far as they are literal: camera, lights, objects with their shapes, colours and places.

Odd: what is not surely understood is said to be so (`whole`, `Thing.shape` None, `Thing.clear`), and whoever uses a
scene leaves out what hangs on it. Loops, conditions and macros are not run.
"""

from dataclasses import dataclass, field, replace

import numpy as np

from trivium.data.scene.pov.camera import MOTIONS, View, camera
from trivium.data.scene.pov.cast import Floats, Shape
from trivium.data.scene.pov.colors import Color, color
from trivium.data.scene.pov.tokens import tokens
from trivium.data.scene.pov.values import Cursor, UnknownError

# What people call the language's objects.
KINDS = {
    "sphere": "sphere", "box": "box", "cylinder": "cylinder", "cone": "cone", "torus": "torus", "plane": "plane",
    "union": "union", "merge": "union", "intersection": "intersection", "difference": "difference", "text": "text",
    "blob": "blob", "lathe": "lathe", "prism": "prism", "sor": "surface of revolution", "mesh": "mesh", "mesh2": "mesh",
    "height_field": "height field", "isosurface": "isosurface", "superellipsoid": "superellipsoid", "disc": "disc",
    "polygon": "polygon", "triangle": "triangle", "smooth_triangle": "triangle", "bicubic_patch": "bicubic patch",
    "julia_fractal": "julia fractal", "quadric": "quadric", "quartic": "quartic", "cubic": "cubic", "poly": "poly",
    "sphere_sweep": "sphere sweep", "parametric": "parametric surface", "object": "object",
}  # fmt: skip
# Standard includes that define and draw nothing.
QUIET = frozenset(
    f"{name}.inc"
    for name in (
        *("arrays", "chars", "colors", "consts", "finish", "functions", "glass", "golds", "logo", "math", "metals"),
        *("rand", "shapes", "shapes2", "shapesq", "skies", "stars", "stones", "stones1", "stones2", "strings"),
        *("textures", "transforms", "woodmaps", "woods"),
    )
)
_SETTINGS = frozenset({"global_settings", "background", "fog", "sky_sphere", "rainbow", "media"})
_LOOKS = frozenset({"texture", "pigment", "finish", "normal", "interior", "material", "density", "color_map"})
_CUTS = frozenset({"union", "merge", "intersection", "difference"})


@dataclass(kw_only=True)
class Thing:
    """An object of the scene. `shape` None: its form or place is not known. `start`, `end`: its characters."""

    kind: str
    word: str  # of the language
    start: int
    end: int = 0
    shape: Shape | None = None
    color: Color = field(default_factory=lambda: Color(clear=False))
    painted: bool = False  # whether a colour of its own was read or may be there
    sizes: dict[str, float] = field(default_factory=dict)
    text: str = ""


@dataclass(kw_only=True)
class Scene:
    """`whole`: all statements that could draw were understood as such, so that objects can be counted."""

    view: View | None = None
    lights: int = 0
    things: list[Thing] = field(default_factory=list)
    whole: bool = True


def read(code: str, settings: dict[str, float]) -> Scene:
    """`settings`: image_width, image_height, clock."""
    scene = Scene()
    cursor = Cursor(tokens(code), dict(settings))
    while cursor.text:
        begin = cursor.at
        try:
            _statement(cursor, scene)
        except UnknownError:
            scene.whole = False
        except (ValueError, FloatingPointError, np.linalg.LinAlgError):
            scene.whole = False
        if not scene.whole or cursor.at == begin:
            scene.whole = False
            return scene
    return scene


def _statement(cursor: Cursor, scene: Scene) -> None:
    start = cursor.tokens[cursor.at].start
    word = cursor.next()
    if word == "#include":
        if cursor.next()[1:-1] not in QUIET:
            scene.whole = False
    elif word == "#version":
        while cursor.text and not cursor.take(";"):
            cursor.next()
    elif word in ("#declare", "#local"):
        _declare(cursor, scene)
    elif word == "#default" or word in _SETTINGS:
        cursor.need("{")
        cursor.skip_block()
    elif word == "camera":
        cursor.need("{")
        scene.view = camera(cursor)
    elif word == "light_source":
        cursor.need("{")
        cursor.skip_block()
        scene.lights += 1
    elif word in KINDS:
        scene.things.append(_thing(cursor, word, start))
    elif word != ";":
        scene.whole = False


def _declare(cursor: Cursor, scene: Scene) -> None:
    name = cursor.next()
    cursor.need("=")
    start = cursor.tokens[cursor.at].start if cursor.text else 0
    word = cursor.text
    cursor.names.pop(name, None)
    if word in KINDS:
        cursor.next()
        cursor.names[name] = _thing(cursor, word, start)
    elif word == "light_source":
        raise UnknownError("a declared light")
    elif word in _LOOKS:
        cursor.names[name] = _look(cursor)
    elif word and cursor.at + 1 < len(cursor.tokens) and cursor.tokens[cursor.at + 1].text == "{":
        cursor.next()
        cursor.next()
        cursor.skip_block()
    else:
        _declare_value(cursor, name)
    cursor.take(";")


def _declare_value(cursor: Cursor, name: str) -> None:
    begin = cursor.at
    for reader in (color, Cursor.value):
        try:
            cursor.names[name] = reader(cursor)
        except UnknownError:
            cursor.at = begin
            continue
        if cursor.text == ";":
            return
        cursor.at = begin
        cursor.names.pop(name, None)
    while cursor.text and cursor.text != ";" and not cursor.text.startswith("#"):
        cursor.next()


def _look(cursor: Cursor) -> Color:
    """Of a texture, pigment or finish: its colour where it has a single one. Other looks are left unknown."""
    word = cursor.next()
    cursor.need("{")
    found, known = Color(), False
    patterned = False
    while cursor.text and not cursor.take("}"):
        text = cursor.text
        if text in _LOOKS:
            inner = _look(cursor)
            if text in ("texture", "pigment", "material"):
                found, known = Color(inner.word, clear=inner.clear or found.clear), True
            elif text == "interior":
                found = Color(found.word, clear=True)
            continue
        if word == "pigment" and not known:
            try:
                found, known = color(cursor), True
                continue
            except UnknownError:
                pass
        named = cursor.names.get(text)
        if isinstance(named, Color) and word in ("texture", "material", "pigment"):
            found, known = named, True
        elif word in ("texture", "material", "pigment") and cursor.kind == "word" and text[:1].isupper():
            patterned = True  # something of an include, which may be of glass
            found = Color(clear=True)
        if text.startswith("#"):
            raise UnknownError("a directive inside a texture")
        cursor.next()
        if text == "{":
            patterned = True
            cursor.skip_block()
    if word in ("finish", "normal"):
        return Color()
    return Color("", clear=found.clear) if patterned else found


def _thing(cursor: Cursor, word: str, start: int) -> Thing:
    """An object from behind its word to behind its closing brace. Raises UnknownError for a directive in it."""
    cursor.need("{")
    thing = Thing(kind=KINDS[word], word=word, start=start)
    parts: list[Thing] = []
    known = True
    if word == "object":
        named = cursor.names.get(cursor.text)
        cursor.next()
        if isinstance(named, Thing):
            thing = Thing(
                kind=named.kind, word=word, start=start, shape=named.shape, color=named.color, painted=named.painted,
                sizes=dict(named.sizes), text=named.text,
            )  # fmt: skip
        known = isinstance(named, Thing) and named.shape is not None
    elif word not in _CUTS:
        begin = cursor.at
        try:
            _geometry(cursor, word, thing)
        except UnknownError:
            cursor.at, known = begin, False
    motion = np.eye(4)
    while not cursor.take("}"):
        text = cursor.text
        if not text or text.startswith("#"):
            raise UnknownError("a directive inside an object")
        if text in KINDS and word in _CUTS:
            begin = cursor.tokens[cursor.at].start
            cursor.next()
            parts.append(_thing(cursor, text, begin))
        elif text in MOTIONS:
            cursor.next()
            try:
                motion = MOTIONS[text](cursor) @ motion
                thing.sizes = {} if text in ("scale", "matrix") else thing.sizes
            except UnknownError:
                known = False
        elif text in _LOOKS:
            look = _look(cursor)
            clear = look.clear or thing.color.clear or text == "interior"
            own = text in ("texture", "pigment", "material")
            thing.color = Color(look.word if own else thing.color.word, clear=clear)
            thing.painted = thing.painted or own
        else:
            known = known and text not in ("inverse", "clipped_by", "bounded_by", "open", "no_image", "hierarchy")
            thing.painted = thing.painted or text in cursor.names
            cursor.next()
            if text == "{":
                cursor.skip_block()
    thing.end = cursor.tokens[cursor.at - 1].end
    if word in _CUTS:
        known = known and _combine(thing, parts)
    if not known:
        thing.shape = None
    elif thing.shape is not None:
        thing.shape = _moved(thing.shape, motion)
    return thing


def _combine(thing: Thing, parts: list[Thing]) -> bool:
    kind = "union" if thing.word == "merge" else thing.word
    shapes = [part.shape for part in parts]
    if any(part.painted for part in parts) and kind == "union":
        words = {part.color.word for part in parts} if all(part.painted for part in parts) else {""}
        word = words.pop() if len(words) == 1 else ""
        thing.color = Color(word, clear=any(part.color.clear for part in parts) or thing.color.clear)
    elif any(part.painted for part in parts):
        thing.color = Color("", clear=any(part.color.clear for part in parts) or thing.color.clear)
    if not parts or any(shape is None for shape in shapes):
        return False
    if kind == "difference":
        thing.sizes = {"number of shapes cut away": float(len(parts) - 1)}
    thing.shape = Shape(kind=kind, parts=tuple(shape for shape in shapes if shape is not None))
    return True


def _geometry(cursor: Cursor, word: str, thing: Thing) -> None:
    """The numbers of a primitive. Raises UnknownError for a kind that is not followed along rays."""
    if word == "sphere":
        middle, _, radius = cursor.vector(), cursor.take(","), cursor.number()
        thing.shape = Shape(kind="sphere", numbers=(middle, np.array([radius])))
        thing.sizes = {"radius": radius}
    elif word == "box":
        one, _, other = cursor.vector(), cursor.take(","), cursor.vector()
        thing.shape = Shape(kind="box", numbers=(one, other))
        names = ("width", "height", "depth")
        thing.sizes = dict(zip(names, (float(f"{value:.6g}") for value in abs(other - one)), strict=True))
    elif word in ("cylinder", "cone"):
        low, _ = cursor.vector(), cursor.take(",")
        first = cursor.number() if word == "cone" else 0.0
        cursor.take(",")
        high, _, second = cursor.vector(), cursor.take(","), cursor.number()
        first = second if word == "cylinder" else first
        length = float(np.linalg.norm(high - low))
        if not length:
            raise UnknownError("a cylinder without length")
        thing.shape = Shape(kind="cone", numbers=(low, np.array([first]), high, np.array([second])))
        thing.sizes = {"length": float(f"{length:.6g}")}
        thing.sizes |= {"radius": first} if word == "cylinder" else {"base radius": first, "cap radius": second}
    elif word == "torus":
        major, _, minor = cursor.number(), cursor.take(","), cursor.number()
        thing.shape = Shape(kind="torus", numbers=(np.array([major]), np.array([minor])))
        thing.sizes = {"major radius": major, "minor radius": minor}
    elif word == "plane":
        normal, _, distance = cursor.vector(), cursor.take(","), cursor.number()
        thing.shape = Shape(kind="plane", numbers=(normal, np.array([distance])))
    elif word == "text":
        _text(cursor, thing)
    else:
        raise UnknownError(f"{word} is not followed along rays")


def _text(cursor: Cursor, thing: Thing) -> None:
    cursor.need("ttf")
    cursor.next()
    if cursor.kind == "string" and "\\" not in cursor.text:
        thing.text = cursor.text[1:-1]
    raise UnknownError("the form of letters")


def _moved(shape: Shape, motion_44: Floats) -> Shape:
    inverse = np.linalg.inv(motion_44)
    return replace(shape, inverse_44=shape.inverse_44 @ inverse)
