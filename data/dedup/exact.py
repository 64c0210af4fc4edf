"""Exact duplicates: records with the same content id; the survivor keeps the others' source ids."""

from trivium.data.stage import Stage, StageConfig


class ExactDedup(StageConfig, kw_only=True, tag="exact_dedup"):
    """Parameters of exact de-duplication; it is a shuffle of the whole corpus, so it builds no per-item stage.

    `quality` names the score that picks the survivor (more is better); empty: the smallest source id. A source of ten
    records or more that would lose a larger share than `max_source_loss` stops the build.
    """

    quality: str = ""
    max_source_loss: float = 0.9

    def __post_init__(self) -> None:
        if not 0.0 < self.max_source_loss <= 1.0:
            raise ValueError(f"max_source_loss is {self.max_source_loss}; give a share above 0 and up to 1")

    def build(self) -> Stage:
        raise TypeError("exact_dedup is a shuffle; the build driver runs it")
