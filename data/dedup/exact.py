"""Exact duplicates: records with the same content id; the survivor keeps the others' source ids."""

from trivium.data.stage import ShuffleConfig


class ExactDedup(ShuffleConfig, kw_only=True, tag="exact_dedup"):
    """Parameters of exact de-duplication; a shuffle of the whole corpus by content id.

    `quality` names the score that picks the survivor (more is better); empty: the smallest source id. A source of ten
    records or more that would lose a larger share than `max_source_loss` stops the build.
    """

    quality: str = ""
    max_source_loss: float = 0.9

    def __post_init__(self) -> None:
        if not 0.0 < self.max_source_loss <= 1.0:
            raise ValueError(f"max_source_loss is {self.max_source_loss}; give a share above 0 and up to 1")

    @property
    def compared(self) -> tuple[str, ...]:
        return (self.quality,) if self.quality else ()
