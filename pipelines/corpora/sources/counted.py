"""Items that a generator of ours makes from a seed: numbers travel, no file is read."""

from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, ClassVar

from msgspec import Meta

from trivium.data.stage import Drop
from trivium.pipelines.corpora.sources.base import Place, Source


class Counted(Source, kw_only=True):
    """`count` items that a generator makes from `seed`; no file is read.

    CHUNK of them travel as one place, and a worker splits it. A kind gives their addresses by WORD, or by `address`.
    """

    CHUNK: ClassVar[int]
    WORD: ClassVar[str]

    path: str = ""  # none: a generator reads no file, so leave it out
    license: str = "CC0-1.0"
    count: Annotated[int, Meta(ge=1, le=100_000_000)]
    seed: int = 0

    @property
    def begins(self) -> int:
        """The first item's number."""
        return 0

    def address(self, number: int) -> str:
        """The lasting name of an item."""
        return f"{self.WORD}-{number:08d}"

    def check(self, base: Path) -> None:
        pass

    def reads(self, base: Path) -> tuple[Path, ...]:
        return ()

    def places(self, base: Path) -> Iterator[Place]:
        for first in range(self.begins, self.begins + self.count, self.CHUNK):
            yield self._place(first)

    def split(self, place: Place) -> Iterator[Place | Drop]:
        for number in range(place.offset, min(place.offset + self.CHUNK, self.begins + self.count)):
            yield self._place(number)

    def _place(self, number: int) -> Place:
        return Place(path="", address=self.address(number), offset=number)
