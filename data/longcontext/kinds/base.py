"""What a kind of task makes, and the room in which it makes it: the pages of one row and the names already used."""

import string
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import cached_property

from trivium.data.longcontext.dice import Dice
from trivium.data.longcontext.drawings import Drawing, read_code, read_picture
from trivium.data.longcontext.pages import Block, Page
from trivium.data.longcontext.wording import Wording, fill

_TRIES = 1000  # draws of a name before a kind gives up
HEADING = -1  # in place of a block's number: the page's heading


@dataclass(frozen=True, slots=True)
class Plant:
    """A statement to be planted at `depth` (share of the row's tokens); `evidence` or else a distractor.

    `document` above 0 makes it edit number `step` of that document: it stands between pages, after that one.
    """

    text: str
    depth: float
    evidence: bool
    document: int = 0
    step: int = 0


@dataclass(frozen=True, slots=True)
class Task:
    """A question with its answer. `plants` come into the row; `pages` are evidence that stands there already, as
    (page from 0, block or HEADING)."""

    kind: str
    question: str
    answer: str
    plants: tuple[Plant, ...] = ()
    pages: tuple[tuple[int, int], ...] = ()
    picture: Block | None = None


@dataclass
class Room:
    """The pages of a row, in order, and what its tasks have taken; kinds read the pages and draw names from here."""

    pages: Sequence[Page]
    wording: Wording
    names: set[str] = field(default_factory=set)
    edited: set[int] = field(default_factory=set)  # pages, from 0
    asked: set[str] = field(default_factory=set)  # titles whose drawings are asked for, edits stay away from them

    @cached_property
    def text(self) -> str:
        """All that the row shows before anything is planted."""
        return "\n\n".join(f"{page.title}\n{page.text}" for page in self.pages)

    @cached_property
    def folded(self) -> str:
        return self.text.lower()

    @cached_property
    def drawings(self) -> dict[int, Drawing]:
        """The simple drawings among the pairs, by page from 0: those whose code and picture say the same."""
        found = {}
        for number, page in enumerate(self.pages):
            told = read_code(page.code) if page.code else None
            seen = read_picture(page.picture.payload) if told is not None and page.picture is not None else None
            if told is not None and seen is not None and told.like(seen):
                found[number] = told
        return found

    @cached_property
    def titles(self) -> Counter[str]:
        return Counter(page.title for page in self.pages)

    def statement(self, dice: Dice, kind: str, **fields: object) -> str:
        return fill(dice.pick(self.wording.statements[kind]), **fields)

    def ask(self, dice: Dice, kind: str, **fields: object) -> str:
        return fill(dice.pick(self.wording.questions[kind]), **fields)

    def entity(self, dice: Dice, near: str = "") -> str | None:
        """A name that the row does not hold yet; `near` shares its first or last name."""
        first, last = self.wording.first_names, self.wording.last_names

        def draw() -> str:
            if not near:
                return f"{dice.pick(first)} {dice.pick(last)}"
            one, other = near.split(" ")
            return f"{one} {dice.pick(last)}" if dice.below(2) else f"{dice.pick(first)} {other}"

        return self._fresh(draw)

    def value(self, dice: Dice) -> str | None:
        """A number of six digits that the row does not hold yet."""
        return self._fresh(lambda: str(dice.between(100_000, 999_999)))

    def register(self, dice: Dice) -> str | None:
        """A name such as `QZM41` that the row does not hold yet."""
        return self._fresh(
            lambda: "".join(dice.pick(string.ascii_uppercase) for _ in range(3)) + str(dice.between(10, 99))
        )

    def several(self, draw: Callable[[], str | None], count: int) -> list[str] | None:
        """`count` draws; None when one found nothing."""
        found = [name for _ in range(count) if (name := draw()) is not None]
        return found if len(found) == count else None

    def _fresh(self, draw: Callable[[], str]) -> str | None:
        for _ in range(_TRIES):
            name = draw()
            if name not in self.names and name.lower() not in self.folded:
                self.names.add(name)
                return name
        return None
