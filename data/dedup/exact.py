"""Exact duplicates: records with the same content id; the survivor keeps the others' source ids."""

from trivium.data.stage import Stage, StageConfig


class ExactDedup(StageConfig, kw_only=True, tag="exact_dedup"):
    """Parameters of exact de-duplication; it is a shuffle of the whole corpus, so it builds no per-item stage.

    `quality` names the score that picks the survivor (more is better); empty: the smallest source id.
    """

    quality: str = ""

    def build(self) -> Stage:
        raise TypeError("exact_dedup is a shuffle; the build driver runs it")
