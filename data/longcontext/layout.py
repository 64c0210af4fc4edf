"""Pages, plants and questions laid out as one row of segments, with the token position of every piece of evidence."""

from bisect import bisect_left
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, field

from trivium.data.longcontext.kinds.base import HEADING, Plant, Task
from trivium.data.longcontext.meter import Meter
from trivium.data.longcontext.pages import Block, Page, heading, patches_of, size_of
from trivium.data.longcontext.wording import Frame, fill
from trivium.data.records import Evidence, Image, Segment, Text

Border = tuple[int, int]  # (page from 0, block after which; the last block means the border between two pages)


@dataclass
class Layout:
    """The row as it grows: segments, media by member name, tokens and patches so far."""

    meter: Meter
    segments: list[Segment] = field(default_factory=list)
    media: dict[str, bytes] = field(default_factory=dict)
    tokens: int = 1  # [BOS]
    patches: int = 0

    def add(self, block: Block, *, loss: bool = False) -> int:
        """Appends a block and returns the token position at which it begins."""
        start = self.tokens
        if block == "":
            return start
        self.tokens += size_of(block, self.meter)
        self.patches += patches_of(block, self.meter)
        if isinstance(block, str):
            self.segments.append(Text(text=block, loss=loss))
            return start
        name = f"i{len(self.media)}.{block.suffix}"
        self.media[name] = block.payload
        self.segments.append(Image(media=name, width=block.width, height=block.height, mime=block.mime))
        return start


def borders(pages: Sequence[Page]) -> list[Border]:
    """Where a statement may be planted: after the paragraphs of a text page, and after every page."""
    found = []
    for number, page in enumerate(pages):
        for at, block in enumerate(page.blocks[:-1]):
            if isinstance(block, str) and block.endswith("\n\n") and not page.is_pair:
                found.append((number, at))
        found.append((number, len(page.blocks) - 1))
    return found


def place(pages: Sequence[Page], tasks: Sequence[Task]) -> dict[Border, list[tuple[int, int]]]:
    """The plants, as (task, plant), by border: each at the border nearest below its depth, in order of depth.

    Depth counts the tokens of the pages. An edit stands between pages, never before the end of its document.
    """
    places = borders(pages)
    depths: list[int] = []
    total = 0
    ends: dict[int, int] = {}  # page → tokens up to its end
    at = iter(places)
    border = next(at)
    for number, page in enumerate(pages):
        for block_number, size in enumerate(page.sizes):
            total += size
            if border == (number, block_number):
                depths.append(total)
                border = next(at, (-1, -1))
        ends[number] = total
    page_ends = [(number, len(page.blocks) - 1) for number, page in enumerate(pages)]
    end_depths = [ends[number] for number in range(len(pages))]
    placed: dict[Border, list[tuple[int, int]]] = defaultdict(list)
    plants = [(plant.depth, t, p, plant) for t, task in enumerate(tasks) for p, plant in enumerate(task.plants)]
    for depth, t, p, plant in sorted(plants, key=lambda found: found[:3]):
        if plant.document:
            chosen = bisect_left(end_depths, depth * total)
            placed[page_ends[min(max(chosen, plant.document - 1), len(pages) - 1)]].append((t, p))
        else:
            placed[places[min(bisect_left(depths, depth * total), len(places) - 1)]].append((t, p))
    return placed


def lay_out(
    pages: Sequence[Page], tasks: Sequence[Task], frame: Frame, meter: Meter, *, context_loss: bool
) -> tuple[Layout, tuple[Evidence, ...]]:
    """The finished row and, for each task, where its evidence and its answer begin (tokens)."""
    layout = Layout(meter)
    placed = place(pages, tasks)
    wanted = {mark for task in tasks for mark in task.pages}
    at_plant: dict[tuple[int, int], int] = {}
    at_page: dict[tuple[int, int], int] = {}
    layout.add(frame.intro)
    for number, page in enumerate(pages):
        at_page[number, HEADING] = layout.add(heading(page, number + 1, frame))
        run = _Run(layout, loss=context_loss)
        for at, block in enumerate(page.blocks):
            if (number, at) in wanted:
                at_page[number, at] = run.position
            run.add(block, page.sizes[at])
            inner = at < len(page.blocks) - 1
            for t, p in placed.get((number, at), ()):
                run.close()
                text = _planted(tasks[t].plants[p], frame, inner=inner)
                at_plant[t, p] = layout.add(text)
                run = _Run(layout, loss=context_loss)
        run.close()
    answers = _ask(layout, tasks, frame)
    layout.tokens += 1  # [EOS]
    evidence = []
    for t, (task, answer) in enumerate(zip(tasks, answers, strict=True)):
        found = [at_plant[t, p] for p, plant in enumerate(task.plants) if plant.evidence]
        found += [at_page[mark] for mark in task.pages]
        evidence.append(Evidence(task=task.kind, answer=answer, at=tuple(sorted(found))))
    return layout, tuple(evidence)


def _planted(plant: Plant, frame: Frame, *, inner: bool) -> str:
    if plant.document:
        return fill(frame.edit, step=plant.step, number=plant.document) + plant.text + "\n"
    return f"{plant.text}\n\n" if inner else f"{frame.note}{plant.text}\n"


def _ask(layout: Layout, tasks: Sequence[Task], frame: Frame) -> list[int]:
    """Appends questions and answers; returns where each answer begins."""
    answers = []
    layout.add(frame.questions)
    for number, task in enumerate(tasks, 1):
        if task.picture is not None:
            layout.add("\n")
            layout.add(task.picture)
        question = fill(frame.question, number=number, text=task.question)
        layout.add(question + fill(frame.answer, number=number))
        answers.append(layout.add(answer_text(task.answer), loss=True))
    return answers


def answer_text(answer: str) -> str:
    """How an answer follows its mark: on the same line, or below it when it has several lines."""
    return f"\n{answer}\n" if "\n" in answer else f" {answer}\n"


class _Run:
    """Neighbouring text blocks of one page, which become one segment."""

    def __init__(self, layout: Layout, *, loss: bool) -> None:
        self._layout, self._loss = layout, loss
        self._texts: list[str] = []
        self._tokens = 0

    @property
    def position(self) -> int:
        """Token position of the next block: exact at the run's beginning, after that as its blocks add up."""
        return self._layout.tokens + self._tokens

    def add(self, block: Block, size: int) -> None:
        if isinstance(block, str):
            self._texts.append(block)
            self._tokens += size
        else:
            self.close()
            self._layout.add(block)

    def close(self) -> None:
        self._layout.add("".join(self._texts), loss=self._loss)
        self._texts, self._tokens = [], 0
