"""What a drawn item holds, read off its own structure: the ground of descriptions, questions and coordinates.

Nothing here is guessed from pixels or names: an engine that can't know a value leaves it out, and no task asks for it.
"""

import msgspec

Box = tuple[float, float, float, float]  # left, top, right, bottom, in pixels of the first picture


class Part(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One thing that can be seen: `kind` as a person would say it ("button", "circle", "through hole")."""

    kind: str
    name: str = ""  # what tells it from others of its kind, as words: "Save", "left bracket"
    text: str = ""  # words that it shows
    color: str = ""  # a CSS name or #rrggbb, only where it is of one colour
    box: Box | None = None  # where it is seen in the first picture; None: not known
    sizes: dict[str, float] = {}  # exact, by what is measured and its unit: {"diameter mm": 12}


class Facts(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """The whole: `what` is one noun phrase with its article ("a bar chart", "a flange with six holes"); "" when it
    is not known: then nothing is described."""

    what: str
    title: str = ""  # its own words for itself, when it has any
    parts: tuple[Part, ...] = ()  # all of every kind that is named, unless `cut`
    cut: bool = False  # whether parts are left out of `parts`: then none are counted or told apart
    sizes: dict[str, float] = {}  # of the whole: {"volume mm³": 8123.5, "page height px": 2400}
    legible: tuple[str, ...] = ()  # keys of sizes, of the whole or of parts, that stand written in the picture
    colors: dict[str, float] = {}  # share of the first picture's pixels by colour, largest first; may be cut short
