"""Parameters of near-duplicate removal, checked against what goes wrong with it in practice."""

from typing import ClassVar, Literal

import msgspec

from trivium.data.dedup.config import Dedup
from trivium.data.dedup.signature import Spec, spec
from trivium.data.dedup.sketches import Set, alike


class NearDedup(Dedup, kw_only=True, tag="near_dedup"):
    """MinHash over word n-grams, banded, each candidate pair verified by its sets, clusters by connected components.

    16 bands of 7 values = 112 permutations: pairs of Jaccard 0.75 are found with probability 0.90, of 0.8 with 0.977,
    unrelated ones of 0.5 come as candidates with 0.12 and go when their sets are compared. (14 x 8, FineWeb's, arXiv
    2406.17557, finds 0.77 and 0.92 of them for the same signature.) What the bands bring is kept or not by the true
    similarity of the two sets of n-grams, never by the sketch. `max_cluster` stops the build; a larger value is the
    override that a person gives. What `keep` leaves is about 2 kB a document.
    """

    WORD = "near"
    REASON: ClassVar[str] = "near_duplicate"
    LIKENESS: ClassVar[str] = "Jaccard"

    ngram: int = 5  # words
    bands: int = 16  # any that is equal makes a candidate
    rows: int = 7  # hashes in a band
    threshold: float = 0.75  # Jaccard similarity that makes a duplicate
    min_words: int = 20  # shorter texts are not compared
    engine: Literal["rensa", "datasketch"] = "rensa"  # what makes the signatures
    seed: int = 1  # of the permutations
    max_cluster: int = 1000

    def __post_init__(self) -> None:
        if self.ngram < 2:
            raise ValueError(
                f"ngram is {self.ngram}; single words glue unrelated texts together: give 2 or more (5 is usual)"
            )
        if not 1 <= self.bands <= 255 or self.rows < 1:
            raise ValueError("bands are 1 to 255 and rows at least 1 (16 and 7 are usual)")
        if not 0.0 < self.threshold <= 1.0:
            raise ValueError(f"threshold is {self.threshold}; a Jaccard similarity lies above 0 and up to 1")
        if self.min_words < self.ngram:
            raise ValueError(
                f"min_words is {self.min_words}; shorter texts than one {self.ngram}-gram have no signature"
            )
        super().__post_init__()

    @property
    def permutations(self) -> int:
        return self.bands * self.rows

    @property
    def agreement(self) -> float:
        return self.threshold

    def alike(self, a: Set, b: Set) -> float:
        return alike(a, b)

    @property
    def spec(self) -> Spec:
        """How this stage signs texts."""
        return spec(self.engine, permutations=self.permutations, seed=self.seed, ngram=self.ngram)

    @property
    def made(self) -> dict[str, str | int | float]:
        spec: dict[str, str | int | float] = msgspec.to_builtins(self.spec)
        own = {"bands": self.bands, "rows": self.rows, "threshold": self.threshold, "min_words": self.min_words}
        return {**spec, **own, **super().made}
