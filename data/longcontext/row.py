"""One long document from many: pages gathered from pools, permuted, tasks put in, all of it checked against limits.

Odd: nothing here knows where documents come from; a pool is any stream of records in drawn order. What is taken from
it depends on the stream and the dice alone.
"""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import chain
from typing import Annotated

import msgspec

from trivium.data.config import Strict
from trivium.data.longcontext.dice import Dice
from trivium.data.longcontext.kinds import KINDS
from trivium.data.longcontext.kinds.base import Room, Task
from trivium.data.longcontext.layout import Layout, lay_out
from trivium.data.longcontext.meter import Meter
from trivium.data.longcontext.pages import Page, Show, heading, page_of, patches_of, size_of, unfit
from trivium.data.longcontext.wording import Frame, Wording
from trivium.data.records import Document, Evidence

MOST_TOKENS = 1 << 20  # K3's longest context
PATIENCE = 32  # documents of a pool refused one after another before it counts as exhausted
_MOST_CHARACTERS = 8  # a token of any long text, on the average
STRIKES = 4  # failures of a kind in one row
_SLACK = 8  # tokens a text, for numbers in its frame and for tokens that end otherwise where a text is cut
_RESERVE = (0.04, 250)  # left for statements, questions and answers: at most this share of a row, this a question

Record = tuple[Document, Mapping[str, bytes]]
Share = Annotated[float, msgspec.Meta(ge=0, le=1)]
Weight = Annotated[float, msgspec.Meta(ge=0)]


class RowRules(Strict, frozen=True, kw_only=True):
    """What a row is.

    `tokens` is the most it may have, `aim` the share of them that it aims at, `least` the share below which it is
    refused; one document may take the share `longest`. `patches` bounds its pictures. `tasks` weighs the kinds, `pairs`
    what of a picture and its code is shown. `context_loss`: whether the pages are targets too, or the answers alone
    (the pages were learnt in the corpora that they come from).
    """

    tokens: Annotated[int, msgspec.Meta(ge=1024, le=MOST_TOKENS)]
    aim: Share = 0.9
    least: Share = 0.75
    longest: Share = 0.25
    patches: Annotated[int, msgspec.Meta(ge=0)] = 262_144
    questions: Annotated[int, msgspec.Meta(ge=1, le=256)] = 8  # at most, in a row
    tasks: dict[str, Weight] = msgspec.field(default_factory=lambda: dict.fromkeys(KINDS, 1.0))
    pairs: dict[Show, Weight] = msgspec.field(default_factory=lambda: {"all": 1.0, "picture": 1.0, "code": 1.0})
    context_loss: bool = False

    def __post_init__(self) -> None:
        unknown = sorted(set(self.tasks) - set(KINDS))
        if unknown:
            raise ValueError(f"tasks: no kind {unknown[0]!r}; known: {', '.join(KINDS)}")
        for name in ("tasks", "pairs"):
            if not sum(getattr(self, name).values()) > 0:
                raise ValueError(f"{name}: no weight is above 0; give at least one")
        if self.least > self.aim:
            raise ValueError(f"least is {self.least:g} and aim {self.aim:g}; a row that aims there would be refused")


@dataclass
class Pool:
    """A stream of records in drawn order; `share` of the row's tokens shall come from it.

    `passed` are those that were too long for what was left of the share, at most PATIENCE.
    """

    name: str
    share: float
    records: Iterator[Record]
    passed: list[Record] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class Row:
    layout: Layout
    pages: tuple[Page, ...]
    tasks: tuple[Task, ...]
    evidence: tuple[Evidence, ...]


class RefusedError(Exception):
    """A row that can't be made as its rules want it; `reason` is the reject's code."""

    def __init__(self, reason: str, detail: str) -> None:
        super().__init__(detail)
        self.reason, self.detail = reason, detail


@dataclass
class Left:
    """What a row may still take."""

    tokens: int
    patches: int


def compose(pools: Sequence[Pool], rules: RowRules, wording: Wording, meter: Meter, dice: Dice) -> Row:
    """Gathers, permutes, asks, lays out. Raises RefusedError when the pools hold too little or nothing can be asked."""
    frame = dice.pick(wording.frames)
    pages = dice.shuffled(gather(pools, rules, frame, meter, dice))
    room = Room(pages, wording)
    left = Left(
        tokens=rules.tokens
        - sum(cost(page, frame, meter) for page in pages)
        - meter.text(frame.intro + frame.questions),
        patches=rules.patches - sum(page.patches for page in pages),
    )
    tasks = choose_tasks(room, rules, dice, left, frame, meter)
    if not tasks:
        raise RefusedError("no_task", f"{len(pages)} documents, and none of the recipe's tasks can be asked of them")
    layout, evidence = lay_out(pages, tasks, frame, meter, context_loss=rules.context_loss)
    refuse_length(layout.tokens, rules)
    return Row(layout, tuple(pages), tuple(tasks), evidence)


def refuse_length(tokens: int, rules: RowRules) -> None:
    """Raises RefusedError when a row of that length does not belong into its bucket."""
    if tokens > rules.tokens:
        raise RefusedError("too_long", f"{tokens:,} tokens, limit {rules.tokens:,}; lower aim")
    if tokens < rules.least * rules.tokens:
        raise RefusedError("too_short", f"{tokens:,} of {rules.tokens:,} tokens; name more sets, or lower least")


def gather(pools: Sequence[Pool], rules: RowRules, frame: Frame, meter: Meter, dice: Dice) -> list[Page]:
    """Pages up to the aim: each pool gives its share, then those that have more make up for those that ran dry.

    No document and no near-duplicate cluster comes twice. A document that is longer than what is left is passed over.
    """
    aim = rules.aim * rules.tokens
    budget = int(aim - min(_RESERVE[0] * aim, _RESERVE[1] * rules.questions))
    shares = sum(pool.share for pool in pools)
    pages: list[Page] = []
    seen: set[str] = set()
    whole = Left(budget, rules.patches)
    for last in (False, True):
        for pool in pools:
            wanted = whole.tokens if last else min(whole.tokens, int(budget * pool.share / shares))
            part = Left(wanted, whole.patches)
            for page in _take(pool, part, seen, rules, frame, meter, dice):
                pages.append(page)
                seen |= {page.key, page.cluster}
            whole = Left(whole.tokens - wanted + part.tokens, part.patches)
    return pages


def cost(page: Page, frame: Frame, meter: Meter) -> int:
    """Tokens that a page takes in a row, with its heading."""
    return page.tokens + meter.text(heading(page, 10_000, frame))


def _take(
    pool: Pool, left: Left, seen: set[str], rules: RowRules, frame: Frame, meter: Meter, dice: Dice
) -> Iterator[Page]:
    """Pages of the pool for what is left, which it lowers; ends after PATIENCE refusals in a row."""
    refused = 0
    again, pool.passed = pool.passed, []
    for record in chain(again, pool.records if left.tokens > 0 else ()):
        document, media = record
        show: Show = dice.weighted(rules.pairs)
        if {document.meta.source_id, document.meta.cluster or document.meta.source_id} & seen:
            continue
        if not media and len(document.text) > _MOST_CHARACTERS * left.tokens:  # spares counting what can't fit
            refused += 1
            if len(pool.passed) < PATIENCE:
                pool.passed.append(record)
            if refused >= PATIENCE:
                return
            continue
        page = page_of(document, media, show, meter)
        size = cost(page, frame, meter)
        if unfit(page, frame) or size > rules.longest * rules.tokens or page.patches > left.patches:
            refused += 1
        elif size > left.tokens:
            refused += 1
            if len(pool.passed) < PATIENCE:
                pool.passed.append(record)
        else:
            refused = 0
            left.tokens -= size
            left.patches -= page.patches
            yield page
        if refused >= PATIENCE:
            return


def choose_tasks(room: Room, rules: RowRules, dice: Dice, left: Left, frame: Frame, meter: Meter) -> list[Task]:
    """Up to `questions` tasks that fit into what is left, kinds drawn by weight.

    A kind that finds nothing new to ask for, or nothing that fits, is left out of this row after a few tries.
    """
    weights = {kind: weight for kind, weight in rules.tasks.items() if weight > 0}
    strikes: Counter[str] = Counter()
    tasks: list[Task] = []
    asked: set[tuple[str, object]] = set()
    while weights and len(tasks) < rules.questions:
        kind = dice.weighted(weights)
        task = KINDS[kind](room, dice)
        if task is not None and (kind, task.pages or task.question) not in asked:
            tokens, patches = task_cost(task, frame, meter)
            if tokens <= left.tokens and patches <= left.patches:
                left.tokens -= tokens
                left.patches -= patches
                asked.add((kind, task.pages or task.question))
                tasks.append(task)
                continue
        strikes[kind] += 1
        if strikes[kind] == STRIKES:
            del weights[kind]
    return tasks


def task_cost(task: Task, frame: Frame, meter: Meter) -> tuple[int, int]:
    """Tokens and patches that a task takes at most: statements with their frames, question, picture, answer."""
    texts = [f"{frame.edit}{frame.note}{plant.text}\n\n" for plant in task.plants]
    texts.append(f"{frame.question}{task.question}{frame.answer}{task.answer}\n\n")
    tokens = sum(meter.text(text) + _SLACK for text in texts)
    if task.picture is None:
        return tokens, 0
    return tokens + size_of(task.picture, meter), patches_of(task.picture, meter)
