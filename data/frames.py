"""What stages of single items have in common, so that the file of each holds its own work only.

A stage need not use these: the protocol in data/stage.py is all that a build asks for.
"""

from collections.abc import Iterator
from typing import Any, ClassVar, Generic, TypeVar

from trivium.data.config import digest
from trivium.data.records import Step
from trivium.data.stage import Draft, Item, Outcome, Raw

C = TypeVar("C")  # the parameters


class Frame(Generic[C]):
    """A stage with its parameters, its step of the lineage, and nothing to open or to close."""

    name: str
    version: int

    def __init__(self, config: C, known: Any = None) -> None:
        """`known`: what stands in the lineage for the parameters where they alone don't say all (a list's content)."""
        self.config = config
        parameters = digest(config if known is None else known)
        self.step = Step(name=self.name, version=self.version, parameters=parameters)

    def open(self) -> None:
        pass

    def close(self) -> None:
        pass


class RawStage(Frame[C]):
    """A stage that takes files as they were read, and gives one outcome for each."""

    takes: ClassVar[str]  # what its files are called in messages

    def process(self, item: Item) -> Iterator[Outcome]:
        if not isinstance(item, Raw):
            raise TypeError(f"{self.name} takes {self.takes}; put it first in `stages`")
        yield self.outcome(item)

    def outcome(self, raw: Raw) -> Outcome:
        """What becomes of one file."""
        raise NotImplementedError


class DocumentStage(Frame[C]):
    """A stage that takes documents, and gives one outcome for each."""

    after: ClassVar[str] = "put an extracting stage before it"

    def process(self, item: Item) -> Iterator[Outcome]:
        if not isinstance(item, Draft):
            raise TypeError(f"{self.name} takes documents; {self.after}")
        yield self.outcome(item)

    def outcome(self, draft: Draft) -> Outcome:
        """What becomes of one document."""
        raise NotImplementedError
