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
