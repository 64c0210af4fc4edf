"""The stage after `long_context`: reads each row as a stranger would and answers its questions again.

Odd: it sees the finished document and no plan. A row whose answers it can't find, or finds otherwise, is a reject that
counts against the error budget, since our own words were wrong.
"""

import hashlib
from collections.abc import Iterator
from typing import Annotated

import msgspec

from trivium.data.config import digest
from trivium.data.longcontext.scene import UnreadableError
from trivium.data.longcontext.solve import AmbiguousError, answers
from trivium.data.longcontext.wording import Wording, load_wording
from trivium.data.records import Document, Step
from trivium.data.stage import Content, Draft, Item, Outcome, StageConfig, refuse, touched


class LongVerify:
    """Keeps rows all of whose answers are what reading gives."""

    name = "long_verify"
    version = 1

    class Config(StageConfig, kw_only=True, tag="long_verify"):
        """`sample`: the share of rows that are read, chosen by a hash of their source id. `wording`: the rows' own."""

        TAKES = frozenset({Content.LONG_ROWS, Content.RECORDS})

        sample: Annotated[float, msgspec.Meta(ge=0, le=1)] = 1.0
        wording: Wording | None = None

        def build(self) -> "LongVerify":
            return LongVerify(self)

    def __init__(self, config: Config) -> None:
        self.config = config
        self.wording = config.wording or load_wording()
        self.step = Step(
            name=self.name,
            version=self.version,
            parameters=digest([msgspec.to_builtins(config), msgspec.to_builtins(self.wording)]),
        )

    def open(self) -> None:
        pass

    def close(self) -> None:
        pass

    def process(self, item: Item) -> Iterator[Outcome]:
        if not isinstance(item, Draft):
            raise TypeError("long_verify takes rows of long_context; put it after that source")
        if not self._chosen(item.document):
            yield item
            return
        problem = self._problem(item)
        if problem:
            yield refuse(item, self.name, "wrong_answer", problem, error=True)
        else:
            yield touched(item, self.step)

    def _chosen(self, document: Document) -> bool:
        key = hashlib.sha256(f"{self.name}/{document.meta.source_id}".encode()).digest()
        return int.from_bytes(key[:8], "big") < self.config.sample * 2**64

    def _problem(self, draft: Draft) -> str:
        try:
            found = answers(draft.document, draft.media, self.wording)
        except (UnreadableError, AmbiguousError) as error:
            return str(error)
        asked = len(draft.document.meta.evidence)
        if len(found) != asked:
            return f"{len(found)} questions can be read, {asked} were asked"
        for question, answer in found:
            if question.answer != (f"\n{answer}" if "\n" in answer else f" {answer}"):
                return f"question {question.number}: {question.answer[:100]!r} is said, {answer[:100]!r} is right"
        return ""
