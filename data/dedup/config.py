"""What every kind of de-duplication is told: who survives, what it is compared with, when it must stop."""

from collections.abc import Mapping
from pathlib import Path
from typing import ClassVar, Self

import msgspec

from trivium.data.dedup.kept import read_kept
from trivium.data.stage import ShuffleConfig


class Dedup(ShuffleConfig, kw_only=True):
    """Base of the dedup stages' parameters.

    `quality` names the score that picks the survivor (more is better); then the longer text, then the smaller source
    id. A source of ten records or more that would lose a larger share than `max_source_loss` stops the build.
    `against` are folders of earlier builds that new records are compared with; `keep` leaves in the built set what a
    later build needs for that.
    """

    WORD: ClassVar[str]  # what the stage is called in the files that it leaves

    quality: str = ""
    max_source_loss: float = 0.9
    against: tuple[str, ...] = ()
    keep: bool = True

    def __post_init__(self) -> None:
        if not 0.0 < self.max_source_loss <= 1.0:
            raise ValueError(f"max_source_loss is {self.max_source_loss}; give a share above 0 and up to 1")
        if len(set(self.against)) < len(self.against):
            raise ValueError("against names a folder twice; give each earlier build once")

    @property
    def compared(self) -> tuple[str, ...]:
        return (self.quality,) if self.quality else ()

    @property
    def made(self) -> dict[str, str | int | float]:
        """All that two builds must share so that their records can be compared."""
        return {"quality": self.quality}

    def check(self, name: str, base: Path) -> None:
        for path in self.against:
            read_kept((base / path).absolute(), name, self.WORD, self.made)

    def paths(self) -> dict[tuple[str | int, ...], str]:
        return {("against", number): path for number, path in enumerate(self.against)}

    def with_paths(self, paths: Mapping[tuple[str | int, ...], str]) -> Self:
        against = tuple(paths.get(("against", number), path) for number, path in enumerate(self.against))
        return msgspec.structs.replace(self, against=against)
