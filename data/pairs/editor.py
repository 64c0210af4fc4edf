"""What changes code on purpose: pairs of code and code, with words for what became of it."""

from collections.abc import Iterator
from importlib import import_module
from typing import Protocol

import msgspec

from trivium.data.longcontext.dice import Dice
from trivium.data.pairs.facts import Facts

# The editor of each engine's language, by the engine's name; engines of pictures only have none.
EDITORS = {
    "svg": "trivium.data.svg.editor:SvgEditor",
    "page": "trivium.data.web.editor:PageEditor",
    "game": "trivium.data.web.games.editor:GameEditor",
    "build123d": "trivium.data.cad.editor:CadEditor",
    "povray": "trivium.data.scene.pov.editor:PovrayEditor",
    "openscad": "trivium.data.scene.scad.editor:OpenscadEditor",
}


class Edit(msgspec.Struct, frozen=True, kw_only=True):
    """`instruction`: one imperative sentence that says all that a person must know to make `code` of the code before.

    For a bug it says what a person sees wrong in the picture, not how to mend it; `enough` is whether that leads to one
    right code, without the picture that was meant (not so: a part is missing and nothing says where it stood).
    """

    instruction: str
    code: str
    enough: bool = True


class Editor(Protocol):
    """Pure functions of (code, facts, dice); what they give need not draw: the one who asks draws it and may refuse."""

    language: str

    def edits(self, code: str, facts: Facts, dice: Dice) -> Iterator[Edit]:
        """Changes that someone could ask for, the most telling kinds first, without an end or until none is left."""
        ...

    def bugs(self, code: str, facts: Facts, dice: Dice) -> Iterator[Edit]:
        """Mistakes that someone could make; the code before is the mended one."""
        ...


def editor(engine: str) -> Editor | None:
    """A new editor for what an engine draws; None when there is none."""
    if engine not in EDITORS:
        return None
    module, _, attribute = EDITORS[engine].partition(":")
    made: Editor = getattr(import_module(module), attribute)()
    return made
