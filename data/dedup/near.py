"""Parameters of near-duplicate removal, checked against what goes wrong with it in practice."""

from typing import Literal

from trivium.data.stage import ShuffleConfig


class NearDedup(ShuffleConfig, kw_only=True, tag="near_dedup"):
    """MinHash over word n-grams, banded, each candidate pair verified by its sets, clusters by connected components.

    Band geometry 14 x 8 = 112 permutations is FineWeb's (arXiv 2406.17557): pairs of Jaccard 0.75 are found with
    probability 0.77, of 0.8 with 0.92; what the bands bring is kept or not by the true similarity of the two sets of
    n-grams, never by the sketch. `quality` names the score that picks a cluster's survivor before length.
    `max_cluster` and `max_source_loss` stop the build; a larger value is the override that a person gives.
    """

    ngram: int = 5
    bands: int = 14
    rows: int = 8
    threshold: float = 0.75
    min_words: int = 20
    engine: Literal["rensa", "datasketch"] = "rensa"
    seed: int = 1
    quality: str = ""
    max_cluster: int = 1000
    max_source_loss: float = 0.9

    def __post_init__(self) -> None:
        if self.ngram < 2:
            raise ValueError(
                f"ngram is {self.ngram}; single words glue unrelated texts together: give 2 or more (5 is usual)"
            )
        if self.bands < 1 or self.rows < 1:
            raise ValueError("bands and rows are at least 1 (14 and 8 are usual)")
        if not 0.0 < self.threshold <= 1.0:
            raise ValueError(f"threshold is {self.threshold}; a Jaccard similarity lies above 0 and up to 1")
        if self.min_words < self.ngram:
            raise ValueError(
                f"min_words is {self.min_words}; shorter texts than one {self.ngram}-gram have no signature"
            )
        if not 0.0 < self.max_source_loss <= 1.0:
            raise ValueError(f"max_source_loss is {self.max_source_loss}; give a share above 0 and up to 1")

    @property
    def permutations(self) -> int:
        return self.bands * self.rows

    @property
    def compared(self) -> tuple[str, ...]:
        return (self.quality,) if self.quality else ()
