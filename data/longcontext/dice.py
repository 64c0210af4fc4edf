"""Draws from a hash in counter mode: the same on every machine and every Python, and without an end."""

import hashlib
from collections.abc import Mapping, Sequence
from typing import TypeVar

T = TypeVar("T")
Name = TypeVar("Name", bound=str)
_WORD = 2**64


class Dice:
    """A stream of draws named by a key of any parts (their text forms); equal keys give equal streams."""

    def __init__(self, *key: object) -> None:
        self._key = hashlib.sha256("\x1f".join(str(part) for part in key).encode()).digest()
        self._count = 0
        self._words: list[int] = []

    def _word(self) -> int:
        if not self._words:
            block = hashlib.sha512(self._key + self._count.to_bytes(8, "big")).digest()
            self._words = [int.from_bytes(block[at : at + 8], "big") for at in range(0, 64, 8)]
            self._count += 1
        return self._words.pop()

    def below(self, count: int) -> int:
        """A number in [0, count); the bias is below count / 2^64."""
        return self._word() * count // _WORD

    def between(self, low: int, high: int) -> int:
        """A number in [low, high]."""
        return low + self.below(high - low + 1)

    def share(self) -> float:
        """A number in [0, 1)."""
        return (self._word() >> 11) / 2**53

    def pick(self, items: Sequence[T]) -> T:
        return items[self.below(len(items))]

    def sample(self, items: Sequence[T], count: int) -> list[T]:
        """`count` of the items (all when there are fewer), none twice, in drawn order."""
        left = list(items)
        for at in range(min(count, len(left))):
            other = at + self.below(len(left) - at)
            left[at], left[other] = left[other], left[at]
        return left[:count]

    def shuffled(self, items: Sequence[T]) -> list[T]:
        return self.sample(items, len(items))

    def weighted(self, weights: Mapping[Name, float]) -> Name:
        """A name, drawn in proportion to its weight; the order of the mapping does not matter."""
        names = sorted(weights)
        point = self.share() * sum(weights[name] for name in names)
        for name in names:
            point -= weights[name]
            if point < 0:
                return name
        return names[-1]

    def strata(self, count: int) -> list[float]:
        """`count` rising depths in [0, 1), one in each of `count` equal strata."""
        return [(number + self.share()) / count for number in range(count)]
