"""Questions with one exact answer, from the facts of an item; what is not unique or not to be seen is not asked.

Nor is what says nothing: how many there are of what is there once, how many have the only colour; nor one thing in two
ways. A picture's size and commonest colour are each asked for of a third of the items, and of an item about which there
is nothing else to ask (an icon of paths) nothing is asked at all.
"""

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from itertools import combinations

import msgspec

from trivium.data.longcontext.dice import Dice
from trivium.data.pairs.facts import Box, Facts, Part
from trivium.data.pairs.naming import Names, color_name, inside, known, measure, number, plural, quantity
from trivium.data.pairs.wording import Wording, say

LARGER = 1.5  # how many times as large a box must be to be called larger
CLEAR = 0.05  # share of the picture by which the commonest colour must lead
PAIRED = 12  # parts that are compared with each other
LONGEST = 300  # characters of an answer
OF_ANY = frozenset(("pixels", "most_color"))  # asked of any picture, whatever it shows
ONE_IN = 3  # items of which each of them is asked


class Question(msgspec.Struct, frozen=True, kw_only=True):
    """`about` is the kind of question, a key of the wording; `topic` what it asks for, however it is asked."""

    about: str
    text: str
    answer: str
    topic: str = ""  # left out: its text


class Asker:
    """All questions that one item allows. `width`, `height`: of the first picture; `code`: what is at hand beside it.

    `alone`: it is one picture, so that its places, colours and size can be asked for.
    """

    def __init__(
        self, facts: Facts, width: int, height: int, wording: Wording, dice: Dice, *, code: str = "", alone: bool = True
    ) -> None:
        self.facts, self.width, self.height, self.code, self.alone = facts, width, height, code, alone
        self.wording, self.words, self.dice = wording, wording.questions, dice
        self.names = Names(facts, wording)

    def questions(self, most: int) -> list[Question]:
        """At most `most`, as many kinds as there are, none asked twice."""
        found: list[list[Question]] = []
        for ask in self._askers():
            made = list(ask())
            if made:
                found.append(self.dice.shuffled(made))
        if all(kind[0].about in OF_ANY for kind in found):
            return []
        found = [kind for kind in found if kind[0].about not in OF_ANY or self.dice.below(ONE_IN) == 0]
        chosen: list[Question] = []
        asked: set[str] = set()
        while found and len(chosen) < most:
            for kind in self.dice.shuffled(found):
                question = kind.pop()
                topic = (question.topic or question.text).casefold()
                if len(chosen) < most and topic not in asked and len(question.answer) <= LONGEST:
                    asked.add(topic)
                    chosen.append(question)
            found = [kind for kind in found if kind]
        return chosen

    def _askers(self) -> tuple[Callable[[], Iterator[Question]], ...]:
        always = (
            self._counts,
            self._colored,
            self._colors,
            self._which,
            self._texts,
            self._sizes,
            self._title,
        )
        return (*always, self._compared, self._commonest, self._pixels) if self.alone else always

    def _say(self, about: str, answer: str, *, topic: str = "", **fields: str) -> Question:
        text = say(self.dice, getattr(self.words, about), **fields)
        return Question(about=about, text=text, answer=answer, topic=topic)

    def _counts(self) -> Iterator[Question]:
        if not self.facts.cut:
            for kind, count in self.names.kinds.items():
                if count > 1:
                    things = plural(kind, self.wording)
                    yield self._say("count", str(count), topic=f"number of {things}", things=things)

    def _colored(self) -> Iterator[Question]:
        for kind, parts in self._colored_kinds():
            colors = self._by_color(parts)
            for color, count in colors.items():
                if 1 < count < len(parts):
                    yield self._say("count_color", str(count), color=color, things=plural(kind, self.wording))

    def _by_color(self, parts: Sequence[Part]) -> Counter[str]:
        return Counter(color_name(part.color, self.wording) for part in parts)

    def _colored_kinds(self) -> Iterator[tuple[str, list[Part]]]:
        """Kinds of which several are there, all of a known colour."""
        if self.facts.cut:
            return
        for kind, count in self.names.kinds.items():
            parts = [part for part in self.facts.parts if part.kind == kind]
            if count > 1 and all(part.color for part in parts):
                yield kind, parts

    def _colors(self) -> Iterator[Question]:
        for part in self.facts.parts:
            phrase = self.names.of(part, but=("color",)) if part.color else None
            if phrase:
                yield self._say("color", color_name(part.color, self.wording), part=phrase)

    def _which(self) -> Iterator[Question]:
        for kind, parts in self._colored_kinds():
            counts = self._by_color(parts)
            for part in parts:
                color, phrase = color_name(part.color, self.wording), self.names.of(part, but=("color",))
                if counts[color] == 1 and phrase:
                    yield self._say("which_color", phrase, kind=kind, color=color)

    def _texts(self) -> Iterator[Question]:
        for part in self.facts.parts:
            phrase = self.names.of(part, but=("text",)) if part.text and "\n" not in part.text else None
            if phrase:
                yield self._say("text", part.text, part=phrase)

    def _sizes(self) -> Iterator[Question]:
        for key, value in self.facts.sizes.items():
            if self._known(key):
                words, unit = measure(key)
                yield self._say("whole_size", quantity(value, unit), topic=words, measure=asked_for(key, value))
        for part, phrase in self.names.named():
            for key, value in part.sizes.items():
                if self._known(key) and number(value) not in phrase:  # "the hole Ø10" tells its diameter
                    answer = quantity(value, measure(key)[1])
                    yield self._say("size", answer, measure=asked_for(key, value), part=phrase)

    def _known(self, key: str) -> bool:
        return known(key, self.facts, read=bool(self.code), shown=True)

    def _title(self) -> Iterator[Question]:
        title = self.facts.title
        said = title in self.code or any(part.text == title for part in self.facts.parts)
        if title and "\n" not in title and said:  # a file's name is a title that nobody can read here
            yield self._say("title", title)

    def _compared(self) -> Iterator[Question]:
        boxed: list[tuple[str, Box]] = []
        for part, phrase in self.names.named():
            if part.box is not None and inside(part.box, self.width, self.height):
                boxed.append((phrase, part.box))
        for pair in combinations(self.dice.sample(boxed, PAIRED), 2):
            (one, a), (other, b) = self.dice.shuffled(pair)
            if max(area(a), area(b)) >= LARGER * min(area(a), area(b)):
                yield self._say("larger", one if area(a) > area(b) else other, one=one, other=other)
            # Apart from each other along the axis: nobody could see it otherwise.
            for about, low, high in (("left", 0, 2), ("above", 1, 3)):
                if a[high] <= b[low] or b[high] <= a[low]:
                    yield self._say(about, one if a[low] < b[low] else other, one=one, other=other)

    def _commonest(self) -> Iterator[Question]:
        color = leading(self.facts)
        if color:
            yield self._say("most_color", color_name(color, self.wording))

    def _pixels(self) -> Iterator[Question]:
        yield self._say("pixels", f"{self.width} × {self.height}")


def leading(facts: Facts) -> str:
    """The commonest colour where it leads clearly, else ""."""
    shares = sorted(facts.colors.items(), key=lambda item: -item[1])
    second = shares[1][1] if len(shares) > 1 else 0.0
    return shares[0][0] if shares and shares[0][1] >= second + CLEAR else ""


def area(box: Box) -> float:
    return (box[2] - box[0]) * (box[3] - box[1])


def asked_for(key: str, value: float) -> str:
    """A size as it is asked for, with its unit, and how far it is rounded where it is."""
    words, unit = measure(key)
    rounded = "" if float(number(value)) == value else ", to three decimals"
    return f"{words} in {unit}{rounded}" if unit else f"{words}{rounded}"
