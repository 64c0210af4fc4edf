"""Colours of POV-Ray scenes where their look can be known: sRGB literals, pure ones, and names of colors.inc."""

import numpy as np

from trivium.data.scene.pov.values import Cursor, UnknownError, Value

# By name, levels of red, green and blue: the names of CSS that people say.
CSS = {
    "black": (0, 0, 0), "white": (255, 255, 255), "red": (255, 0, 0), "lime": (0, 255, 0), "blue": (0, 0, 255),
    "yellow": (255, 255, 0), "cyan": (0, 255, 255), "magenta": (255, 0, 255), "gray": (128, 128, 128),
    "silver": (192, 192, 192), "orange": (255, 165, 0), "gold": (255, 215, 0), "crimson": (220, 20, 60),
    "tomato": (255, 99, 71), "salmon": (250, 128, 114), "firebrick": (178, 34, 34), "chocolate": (210, 105, 30),
    "tan": (210, 180, 140), "khaki": (240, 230, 140), "olive": (128, 128, 0), "green": (0, 128, 0),
    "limegreen": (50, 205, 50), "seagreen": (46, 139, 87), "teal": (0, 128, 128), "turquoise": (64, 224, 208),
    "skyblue": (135, 206, 235), "steelblue": (70, 130, 180), "royalblue": (65, 105, 225), "navy": (0, 0, 128),
    "purple": (128, 0, 128), "orchid": (218, 112, 214), "plum": (221, 160, 221), "pink": (255, 192, 203),
    "hotpink": (255, 105, 180), "indigo": (75, 0, 130), "violet": (238, 130, 238), "brown": (165, 42, 42),
    "maroon": (128, 0, 0), "beige": (245, 245, 220), "ivory": (255, 255, 240), "lightgray": (211, 211, 211),
}  # fmt: skip
_BY_LEVELS = {levels: name for name, levels in CSS.items()}
# colors.inc: those of which gamma changes nothing.
PURE: dict[str, Value] = {
    "Red": np.array([1.0, 0, 0]), "Green": np.array([0, 1.0, 0]), "Blue": np.array([0, 0, 1.0]),
    "Yellow": np.array([1.0, 1, 0]), "Cyan": np.array([0, 1.0, 1]), "Magenta": np.array([1.0, 0, 1]),
    "White": np.array([1.0, 1, 1]), "Black": np.array([0.0, 0, 0]),
}  # fmt: skip


class Color:
    """`word` as facts say it, empty when not known; `clear`: whether what is behind may be seen."""

    def __init__(self, word: str = "", *, clear: bool = False) -> None:
        self.word, self.clear = word, clear


def literal(levels: tuple[int, int, int]) -> str:
    """POV-Ray's code of a colour by its levels, to be read back to the same levels."""
    return "srgb <" + ", ".join(f"{value / 255:.3f}".rstrip("0").rstrip(".") for value in levels) + ">"


def color(cursor: Cursor) -> Color:
    """A colour at the cursor. Raises UnknownError for what is none, or hangs on other code."""
    cursor.take("color") or cursor.take("colour")
    named = cursor.names.get(cursor.text)
    if isinstance(named, Color):
        cursor.next()
        return _mixed(cursor, named)
    if cursor.text in PURE and cursor.text not in cursor.names:
        found = _of(np.asarray(PURE[cursor.next()]), plain=False)
        return _mixed(cursor, found)
    kind = cursor.text
    if kind not in ("rgb", "srgb", "rgbt", "rgbf", "rgbft", "srgbt", "srgbf"):
        raise UnknownError(f"{kind} is no colour that is read here")
    cursor.next()
    value = cursor.value()
    levels = np.full(3, value) if isinstance(value, float) else value
    clear = len(levels) > 3 and bool(np.any(levels[3:] > 0))
    found = _of(levels[:3], plain=kind.startswith("srgb"))
    return _mixed(cursor, Color(found.word, clear=clear))


def _of(levels: "np.ndarray[tuple[int], np.dtype[np.float64]]", *, plain: bool) -> Color:
    """`plain`: the numbers are those of the picture; else gamma lies between, which leaves 0 and 1 alone."""
    if len(levels) < 3 or not (plain or bool(np.isin(levels, (0.0, 1.0)).all())) or bool((levels > 1).any()):
        return Color()
    red, green, blue = (round(float(value) * 255) for value in levels[:3])
    return Color(_BY_LEVELS.get((red, green, blue), f"#{red:02x}{green:02x}{blue:02x}"))


def _mixed(cursor: Cursor, found: Color) -> Color:
    """With what stands behind it: `transmit 0.5`, `* 0.7`."""
    clear, word = found.clear, found.word
    while cursor.text in ("transmit", "filter"):
        cursor.next()
        clear = cursor.number() > 0 or clear
    if cursor.text in ("*", "+", "-", "/"):
        cursor.next()
        cursor.value()
        word = ""
    return Color(word, clear=clear)
