"""Which of several duplicates stays: a pure function of the set, so that no order of arrival matters."""

from collections.abc import Iterable, Sequence
from typing import Protocol, TypeVar


class Candidate(Protocol):
    """What the choice looks at; `length` in characters of text."""

    @property
    def source_id(self) -> str: ...

    @property
    def length(self) -> int: ...

    @property
    def scores(self) -> dict[str, float]: ...


C = TypeVar("C", bound=Candidate)
LEAD = 80  # characters that an excerpt shows before the place where two texts part


def rank(candidate: Candidate, quality: str) -> tuple[float, int, str]:
    """Less is better: best `quality` score, then longest, then the smallest source id.

    An empty `quality` counts for nothing; a missing score is the lowest.
    """
    score = candidate.scores.get(quality, float("-inf")) if quality else 0.0
    return -score, -candidate.length, candidate.source_id


def choose(candidates: Iterable[C], quality: str) -> tuple[C, Sequence[C]]:
    """(survivor, the others by source id); see `rank`."""
    best, *rest = sorted(candidates, key=lambda candidate: rank(candidate, quality))
    return best, sorted(rest, key=lambda candidate: candidate.source_id)


def parting(text: str, other: str, shown: int) -> int:
    """Where an excerpt of `shown` characters of `text` shall begin so that it shows where `other` first differs.

    What lies before is the same in both texts, so the other's passage begins at the same character.
    """
    low, high = 0, min(len(text), len(other))
    while low < high:
        middle = (low + high + 1) // 2
        if text[low:middle] == other[low:middle]:
            low = middle
        else:
            high = middle - 1
    begins = max(0, min(low - LEAD, len(text) - shown))
    word = text.find(" ", begins, low) + 1 if begins else 0
    return word or begins
