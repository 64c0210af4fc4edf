"""What finding near duplicates by bands, verified pairs and clusters asks of a stage's parameters."""

from typing import ClassVar, Protocol

from trivium.data.dedup.sketches import Set


class Banded(Protocol):
    """A stage's parameters; `bands` x `rows` values of a sketch make its keys, equal keys make candidates."""

    WORD: ClassVar[str]
    REASON: ClassVar[str]  # of drops
    LIKENESS: ClassVar[str]  # what messages call a similarity

    @property
    def bands(self) -> int: ...

    @property
    def rows(self) -> int: ...

    @property
    def permutations(self) -> int:
        """Values of a sketch: at least bands x rows."""
        ...

    @property
    def agreement(self) -> float:
        """Share of values in which two of a crowd must agree to be compared (`buckets.pairs`)."""
        ...

    @property
    def threshold(self) -> float: ...

    @property
    def max_cluster(self) -> int: ...

    @property
    def quality(self) -> str: ...

    @property
    def max_source_loss(self) -> float: ...

    @property
    def keep(self) -> bool: ...

    @property
    def made(self) -> dict[str, str | int | float]: ...

    def alike(self, a: Set, b: Set) -> float:
        """The true similarity of two records' sets, 0 to 1."""
        ...
