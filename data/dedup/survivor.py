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


def choose(candidates: Iterable[C], quality: str) -> tuple[C, Sequence[C]]:
    """(survivor, the others by source id): best `quality` score, then longest, then the smallest source id.

    An empty `quality` counts for nothing; a missing score is the lowest.
    """

    def rank(candidate: C) -> tuple[float, int, str]:
        score = candidate.scores.get(quality, float("-inf")) if quality else 0.0
        return -score, -candidate.length, candidate.source_id

    best, *rest = sorted(candidates, key=rank)
    return best, sorted(rest, key=lambda candidate: candidate.source_id)
