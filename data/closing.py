"""What has to be closed, by a `with` block: children, sandboxes, browsers."""

from abc import ABC, abstractmethod
from types import TracebackType
from typing import Self


class Closing(ABC):
    """Closed at the end of a `with` block, whatever happened in it."""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self.close()

    @abstractmethod
    def close(self) -> None:
        """Gives back what is held; a second call does nothing."""


class Opening(Closing):
    """The same, opened at the beginning of the block; what is not here is told then, before any work."""

    def __enter__(self) -> Self:
        self.open()
        return self

    @abstractmethod
    def open(self) -> None:
        """Raises what a missing dependency raises."""
