"""Changes of SVG code that a person could ask for, and mistakes that a person could make.

Odd: a drawing that a generator made brings changes of its data along (`plan`); they come first, being of more sense.
"""

from collections.abc import Callable, Iterator

import msgspec

from trivium.data.longcontext.dice import Dice
from trivium.data.pairs.editor import Edit
from trivium.data.pairs.facts import Facts
from trivium.data.svg import shapes
from trivium.data.svg.changes import Change, bugs_of, edits_of
from trivium.data.svg.plan import Plan
from trivium.data.svg.policy import SvgRefusedError
from trivium.data.svg.sanitise import sanitise, write
from trivium.data.svg.tree import Node

Maker = Callable[[Node, Dice], Change | None]


class SvgEditor:
    """Works on canonical code and gives canonical code; `plan` is that of the drawing at hand, None for others; while
    `idle` it offers nothing.
    """

    language = "SVG"

    def __init__(self) -> None:
        self.plan: Plan | None = None
        self.idle = False

    def edits(self, code: str, facts: Facts, dice: Dice) -> Iterator[Edit]:
        yield from self._offered(code, dice, self.plan.edits if self.plan else (), edits_of)

    def bugs(self, code: str, facts: Facts, dice: Dice) -> Iterator[Edit]:
        yield from self._offered(code, dice, self.plan.bugs if self.plan else (), bugs_of)

    def _offered(
        self, code: str, dice: Dice, planned: tuple[Edit, ...], makers: Callable[..., tuple[Maker, ...]]
    ) -> Iterator[Edit]:
        if self.idle:
            return
        yield from self._planned(planned, dice)
        yield from _made(code, dice, makers(planned=self.plan is not None))

    def _planned(self, edits: tuple[Edit, ...], dice: Dice) -> Iterator[Edit]:
        for edit in dice.shuffled(edits):
            code = canonical(edit.code)
            if code:
                yield msgspec.structs.replace(edit, code=code)


def canonical(code: str) -> str:
    """The sanitiser's form; empty when it refuses."""
    try:
        return sanitise(code.encode(), shapes.POLICY).text
    except SvgRefusedError:
        return ""


def _made(code: str, dice: Dice, makers: tuple[Maker, ...]) -> Iterator[Edit]:
    """Each kind in turn, again and again; ends when a round gives nothing new."""
    seen = {code}
    while True:
        before = len(seen)
        for maker in dice.shuffled(makers):
            root = shapes.read(code)
            change = maker(root, dice)
            if change is None:
                continue
            changed = canonical(write(change.root or root))
            if changed and changed not in seen:
                seen.add(changed)
                yield Edit(instruction=change.instruction, code=changed, enough=change.enough)
        if len(seen) == before:
            return
