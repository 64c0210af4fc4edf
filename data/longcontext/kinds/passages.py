"""Passages far away: what stands after a sentence, and a paragraph to be copied."""

import re
from collections.abc import Iterator
from itertools import pairwise

from trivium.data.longcontext.dice import Dice
from trivium.data.longcontext.kinds.base import Room, Task

_SENTENCE = (40, 300)  # characters
_PARAGRAPH = (120, 1200)
_BEGIN_WORDS = 8
_TRIES = 60  # pages and lines looked at
_BORDER = re.compile(r"(?<=[.!?]) +(?=[A-Z])")


def quote(room: Room, dice: Dice) -> Task | None:
    """Which document holds a sentence, and how it goes on; the sentence occurs once in the row."""
    for number, block, line in _lines(room, dice):
        sentences = _BORDER.split(line)
        pairs = [
            (one, other)
            for one, other in pairwise(sentences)
            if _plain(one) and _plain(other) and other.endswith((".", "!", "?"))
        ]
        if not pairs:
            continue
        one, other = dice.pick(pairs)
        if room.text.count(one) == 1:
            question = room.ask(dice, "quote", sentence=one)
            return Task("quote", question, f"{number + 1}: {other}", pages=((number, block),))
    return None


def _plain(sentence: str) -> bool:
    return _SENTENCE[0] <= len(sentence) <= _SENTENCE[1] and not any(mark in sentence for mark in "“”")


def copy(room: Room, dice: Dice) -> Task | None:
    """A paragraph of a document, by its first words."""
    for number, block, line in _lines(room, dice):
        begin = " ".join(line.split(" ")[:_BEGIN_WORDS])
        if line != line.strip() or any(mark in begin for mark in "“”"):
            continue
        wanted = _PARAGRAPH[0] <= len(line) <= _PARAGRAPH[1] and 2 * len(begin) < len(line)
        if wanted and room.pages[number].text.count(begin) == 1:
            question = room.ask(dice, "copy", number=number + 1, sentence=begin)
            return Task("copy", question, line, pages=((number, block),))
    return None


def _lines(room: Room, dice: Dice) -> Iterator[tuple[int, int, str]]:
    """(page, block, line) at random places of the pages that are text."""
    texts = [number for number, page in enumerate(room.pages) if not page.is_pair]
    for _ in range(_TRIES if texts else 0):
        number = dice.pick(texts)
        blocks = room.pages[number].blocks
        at = dice.below(len(blocks))
        block = blocks[at]
        if isinstance(block, str) and (lines := [line for line in block.split("\n") if len(line) >= _SENTENCE[0]]):
            yield number, at, dice.pick(lines)
