"""What a generator gives, and the frame that all its POV-Ray scenes share."""

from collections.abc import Iterable

import msgspec

from trivium.data.longcontext.dice import Dice
from trivium.data.scene.pov.colors import CSS, literal
from trivium.data.scene.text import listed

# Colours that people tell apart at a glance.
BRIGHT = (
    "red",
    "blue",
    "limegreen",
    "gold",
    "orange",
    "purple",
    "turquoise",
    "hotpink",
    "white",
    "chocolate",
    "steelblue",
    "olive",
)
GROUNDS = ("lightgray", "beige", "tan", "skyblue", "khaki", "gray", "plum", "seagreen")
SKIES = ("skyblue", "ivory", "lightgray", "plum", "white", "navy", "pink", "turquoise")


class Made(msgspec.Struct, frozen=True, kw_only=True):
    """`name`: the file's; `title`: what it is, in a few words."""

    name: str
    code: str
    title: str


def vector(*values: float) -> str:
    return f"<{listed(values)}>"


def paint(word: str, finish: str = "Matte") -> str:
    """Pigment and finish of a colour by its name."""
    return f"pigment {{ color {literal(CSS[word])} }} finish {{ {finish} }}"


def pov(
    dice: Dice, title: str, lines: Iterable[str], *, eye: tuple[float, float, float], target: float, angle: float = 40.0
) -> Made:
    """A whole scene: `eye` is where the camera stands, `target` the height that it looks at; the clock turns it."""
    sky = dice.pick(SKIES)
    side = dice.pick((-1, 1))
    head = [
        f"// {title}",
        "#version 3.7;",
        "global_settings { assumed_gamma 1.0 }",
        f"background {{ color {literal(CSS[sky])} }}",
        "",
        "#declare Matte = finish { ambient 0.15 diffuse 0.75 }",
        "#declare Shiny = finish { ambient 0.15 diffuse 0.7 phong 0.8 phong_size 60 }",
        "",
        "camera {",
        f"  location {vector(*eye)}",
        f"  look_at {vector(0, target, 0)}",
        "  right x*image_width/image_height",
        f"  angle {angle:g}",
        "  rotate y*360*clock",
        "}",
        f"light_source {{ {vector(side * 6, 10, -8)}, color srgb 1 }}",
        f"light_source {{ {vector(-side * 8, 5, -3)}, color srgb 0.45 shadowless }}",
        "",
    ]
    return Made(name="scene.pov", code="\n".join([*head, *lines]) + "\n", title=title)
