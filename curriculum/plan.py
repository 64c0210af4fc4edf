"""The plan of a run: every step's stage, rows and learning rate, known before the first step.

Odd: nothing is packed to know it. Steps follow from the schedule alone (`clock`), and where a window begins follows
from lengths alone (`line`), so that a plan over 10^9 documents opens after one scan of their sizes and starts anywhere.
"""

from bisect import bisect_right
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

import msgspec

from trivium.console import counted
from trivium.curriculum.assumed import AssumedCorpus
from trivium.curriculum.catalogue import Listed, Sizes, Split, columns_of, sizes_of, split_sizes
from trivium.curriculum.clock import Clock, Windows
from trivium.curriculum.held_out import held_out_rows
from trivium.curriculum.index import Index, KeptIndex, no_index
from trivium.curriculum.kept import cache_folder
from trivium.curriculum.learning_rate import learning_rate
from trivium.curriculum.lengths import Lengths
from trivium.curriculum.line import SPREAD, Line
from trivium.curriculum.mixture import least_window, mean_piece, stage_lines
from trivium.curriculum.pools import Pool, Rules, Supply, make_pools, supplies
from trivium.curriculum.rows import Cursor, Row, State, StepRows
from trivium.curriculum.schedule import Schedule
from trivium.curriculum.stage import Stage
from trivium.curriculum.supply import check_supply, read_supplies, write_supplies
from trivium.curriculum.windows import Window, make_window
from trivium.data.config import digest, to_mapping
from trivium.errors import CheckpointError, ConfigError

Source = Listed | AssumedCorpus

ROWS_VERSION = 3  # raise it when the same schedule and corpora would give other rows


@dataclass(frozen=True)
class StagePlan:
    """One stage over given corpora: its lines, what each pool holds for it, and its steps and windows."""

    rules: Stage
    lines: tuple[Line, ...]
    supply: Mapping[str, Supply]
    clock: Clock
    windows: Windows
    first_step: int

    @property
    def steps(self) -> int:
        return self.clock.steps

    @property
    def tokens(self) -> int:
        """Tokens that the stage reads; what is drawn differs by at most half a piece a line."""
        return self.clock.tokens

    def leave(self, cursors: dict[str, Cursor]) -> dict[str, Cursor]:
        """The cursors for the next stage: places stay, and `taken` is what a pool gave above its share (or below)."""
        left = dict(cursors)
        for line in self.lines:
            cursor = line.leave(cursors[line.pool.name])
            share = line.share(self.clock.tokens)
            left[line.pool.name] = msgspec.structs.replace(cursor, taken=cursor.taken - share)
        return left

    def taken(self, pool: str) -> int:
        """Tokens that the whole stage reads of a pool."""
        return sum(line.share(self.clock.tokens) for line in self.lines if line.pool.name == pool)


class Plan:
    """Rows, steps and learning rate of one schedule over given corpora; a pure function of both."""

    def __init__(
        self,
        schedule: Schedule,
        catalogues: Mapping[str, Source],
        sizes: Mapping[str, Sizes],
        sides: dict[str, Split],
        pools: list[Pool],
        supply: list[dict[str, Supply]],
        cache: Path | None = None,
    ) -> None:
        self.schedule, self.catalogues = schedule, dict(catalogues)
        self.sizes, self.sides = dict(sizes), sides  # of those corpora that exist
        self.pools = {pool.name: pool for pool in pools}
        self.digest = rows_digest(schedule, catalogues)
        self.stages = tuple(_stages(schedule, pools, supply))
        self._index: Index = no_index if cache is None else KeptIndex(cache, _sizes_key(schedule, catalogues))
        self._last: tuple[tuple[int, int, dict[str, Cursor]], Window] | None = None

    @classmethod
    def open(
        cls,
        schedule: Schedule,
        catalogues: Mapping[str, Source],
        *,
        cache: Path | None = None,
        progress: Callable[[int], None] | None = None,
        limits: bool = True,
    ) -> "Plan":
        """Scans the sizes once; `cache` is a folder for what is found, `progress` is told the documents scanned so far.

        Without a `cache` the sizes of few documents stay in memory, and those of many go to the user's cache folder
        (`kept.cache_folder`), so that memory does not grow with them.

        Raises ConfigError when a stage can't be filled, or, with `limits`, when documents would come more often than
        their `max_epochs`.
        """
        missing = sorted(set(schedule.corpora) - set(catalogues))
        if missing:
            raise ConfigError(f"the schedule reads {', '.join(missing)}, and no such corpus was opened")
        count = sum(len(entry) for entry in catalogues.values() if not isinstance(entry, AssumedCorpus))
        kept_in = cache_folder(cache, count)
        sizes, sides, lengths = _opened(schedule, catalogues, kept_in, progress)
        key = _sizes_key(schedule, catalogues)
        pools = make_pools(schedule, {name: entry.buckets for name, entry in catalogues.items()}, lengths)
        rules = [Rules.of(stage) for stage in schedule.stages]
        found = read_supplies(kept_in, key, rules, pools)
        if found is None:
            found, done = [], 0
            for pool in pools:
                found.append(supplies(pool, rules))
                done += len(pool)
                if progress is not None:
                    progress(done)
            write_supplies(kept_in, key, rules, pools, found)
        by_stage = [
            {pool.name: held[n] for pool, held in zip(pools, found, strict=True)} for n in range(len(schedule.stages))
        ]
        plan = cls(schedule, catalogues, sizes, sides, pools, by_stage, kept_in)
        if limits:
            check_supply(plan)
        return plan

    @property
    def steps(self) -> int:
        """Steps of the whole run."""
        return self.stages[-1].first_step + self.stages[-1].steps

    def first_step(self, stage: int) -> int:
        """The first step of stage number `stage`; `first_step(len(stages))` is the number of steps."""
        return self.stages[stage].first_step if stage < len(self.stages) else self.steps

    def stage_of(self, step: int) -> int:
        """Number of the stage that `step` belongs to; ValueError outside the run."""
        if not 0 <= step < self.steps:
            raise ValueError(f"step {step} is outside the run's {counted(self.steps, 'step')}, 0 to {self.steps - 1}")
        return bisect_right([stage.first_step for stage in self.stages], step) - 1

    def lr(self, step: int) -> float:
        """Learning rate of `step`."""
        return learning_rate(step, self.steps, self.schedule.lr)

    def start(self, stage: int = 0) -> State:
        """The state before the first row of a stage; of stage `len(stages)`: the end of the run."""
        cursors = {name: Cursor() for name in self.pools}
        for number in range(stage):
            cursors = self.stages[number].leave(self._skip(number, self.stages[number].clock.tokens, cursors))
        return State(stage=stage, step=self.first_step(stage), window=0, row=0, cursors=cursors)

    def at(self, step: int) -> State:
        """The state before `step`, by lengths alone: the one that training up to there would leave behind.

        Raises ValueError when the step is not in [0, steps].
        """
        if step == self.steps:
            return self.start(len(self.stages))
        number = self.stage_of(step)
        stage, start = self.stages[number], self.start(number)
        window = stage.windows.window_of(step - stage.first_step)
        clock = stage.clock.before(stage.windows.first_step(window))
        cursors = self._skip(number, clock, start.cursors)
        row = self._first_row(number, window, step, cursors)
        return State(stage=number, step=step, window=window, row=row, cursors=cursors)

    def rows(self, state: State | None = None) -> Iterator[tuple[StepRows, State]]:
        """Steps from `state` (or the start) to the end, each with the state behind it.

        Raises CheckpointError when the state is not one of this plan's.
        """
        state = self.start() if state is None else state
        self._check_state(state)
        while state.stage < len(self.stages):
            rows, behind = self._step(state)
            yield rows, behind
            state = behind

    def adopt(self, state: State) -> State:
        """The state with the pools of this plan: those that a changed schedule adds begin, those it drops are left out.

        `rows` judges the rest.
        """
        cursors = {name: state.cursors.get(name, Cursor()) for name in self.pools}
        return msgspec.structs.replace(state, cursors=cursors)

    def corpus_digest(self, corpus: str) -> str:
        """Names a corpus's documents, and those of them that are not trained on."""
        side = self.sides.get(corpus)
        return self.catalogues[corpus].digest + (f"-{side.digest}" if side is not None else "")

    def held_out(self, corpus: str, *, context: int | None = None, patches: int | None = None) -> list[Row]:
        """The held-out documents of a corpus, packed once in the order of their records.

        `context` is that of the last stage when left out. Long text is cut; pictures that don't fit are left out.
        """
        return held_out_rows(self, corpus, context=context, patches=patches)

    def window(self, stage: int, number: int, cursors: dict[str, Cursor]) -> Window:
        """Window `number` of a stage, drawn from `cursors`; the last one is kept, since its steps ask for it again."""
        key = (stage, number, cursors)
        if self._last is None or self._last[0] != key:
            plan = self.stages[stage]
            name = (self.schedule.seed, "rows", stage)
            made = make_window(plan.lines, plan.clock, plan.windows, number, cursors, name)
            self._last = (key, made)
        return self._last[1]

    def _step(self, state: State) -> tuple[StepRows, State]:
        plan = self.stages[state.stage]
        window = self.window(state.stage, state.window, state.cursors)
        place = state.step - plan.first_step - window.first_step
        start, stop = window.first_row[place], window.first_row[place + 1]
        step = StepRows(
            state.step, state.stage, plan.rules.context, window.rows(start, stop, plan.lines), self.lr(state.step)
        )
        if place + 2 < len(window.first_row):
            return step, msgspec.structs.replace(state, step=state.step + 1, row=stop)
        stage, number, cursors = state.stage, state.window + 1, window.cursors
        if number == plan.windows.count:
            stage, number, cursors = stage + 1, 0, plan.leave(cursors)
        return step, State(stage=stage, step=state.step + 1, window=number, row=0, cursors=cursors)

    def _first_row(self, stage: int, number: int, step: int, cursors: dict[str, Cursor]) -> int:
        plan = self.stages[stage]
        place = step - plan.first_step - plan.windows.first_step(number)
        return self.window(stage, number, cursors).first_row[place] if place else 0

    def _skip(self, stage: int, clock: int, cursors: dict[str, Cursor]) -> dict[str, Cursor]:
        moved = {
            line.pool.name: line.skip(cursors[line.pool.name], line.upto(clock), self._index)
            for line in self.stages[stage].lines
        }
        return {**cursors, **moved} if clock else cursors

    def _check_state(self, state: State) -> None:
        strange = sorted(set(state.cursors) ^ set(self.pools))
        fits = 0 <= state.stage <= len(self.stages) and not strange
        fits = fits and self.first_step(state.stage) <= state.step <= self.steps
        fits = fits and all(_stands_in(c, self.pools[name]) for name, c in state.cursors.items())
        if fits and state.stage < len(self.stages):
            stage = self.stages[state.stage]
            fits = state.step < self.first_step(state.stage + 1)
            fits = fits and state.window == stage.windows.window_of(state.step - stage.first_step)
        if not fits:
            raise CheckpointError(
                f"the curriculum's state (stage {state.stage}, step {state.step}, pools {', '.join(state.cursors)}) "
                f"belongs to another schedule or other corpora (this plan: {counted(len(self.stages), 'stage')}, "
                f"{counted(self.steps, 'step')}, pools {', '.join(self.pools)}); resume with those that the run began "
                "with"
            )


def _opened(
    schedule: Schedule,
    catalogues: Mapping[str, Source],
    folder: Path | None,
    progress: Callable[[int], None] | None,
) -> tuple[dict[str, Sizes], dict[str, Split], dict[str, Lengths]]:
    """Sizes and sides of the corpora that exist, and the lengths of all."""
    real = {name: entry for name, entry in catalogues.items() if not isinstance(entry, AssumedCorpus)}
    sizes, done = {}, 0
    for name, entry in real.items():
        told = None if progress is None else lambda read, before=done: progress(before + read)
        sizes[name] = sizes_of(entry, schedule.held_out, folder, told)
        done += len(entry)
    sides = split_sizes(sizes, folder, _sizes_key(schedule, real))
    lengths: dict[str, Lengths] = {
        name: entry for name, entry in catalogues.items() if isinstance(entry, AssumedCorpus)
    }
    for name, entry in real.items():
        masked = None if folder is None else folder / f"lengths-{entry.digest}-{sides[name].digest}"
        lengths[name] = columns_of(entry, sizes[name], sides[name], masked)
    return sizes, sides, lengths


def _stands_in(cursor: Cursor, pool: Pool) -> bool:
    return 0 <= cursor.position < len(pool) and not cursor.position % SPREAD and cursor.pieces >= 0


def _stages(schedule: Schedule, pools: list[Pool], supply: list[dict[str, Supply]]) -> Iterator[StagePlan]:
    first = 0
    for rules, held in zip(schedule.stages, supply, strict=True):
        lines = tuple(stage_lines(rules, pools, held))
        clock = Clock.of(rules)
        windows = Windows.of(clock, schedule.window * mean_piece(lines), least_window(lines))
        yield StagePlan(rules, lines, held, clock, windows, first)
        first += clock.steps


def _sizes_key(schedule: Schedule, catalogues: Mapping[str, Source]) -> str:
    """Names the sizes of all training documents: corpora and who is held out."""
    return digest([to_mapping(schedule.held_out), {name: catalogues[name].digest for name in sorted(catalogues)}])


def rows_digest(schedule: Schedule, catalogues: Mapping[str, Source]) -> str:
    """Digest of all that decides the rows: the schedule without its learning rate and limits, and the corpora."""
    raw = to_mapping(schedule.resolved())
    raw.pop("lr")
    for corpus in raw["corpora"].values():
        for key in ("path", "max_epochs", "bucket_epochs"):
            corpus.pop(key, None)
    return digest([ROWS_VERSION, raw, {name: catalogues[name].digest for name in schedule.corpora}])
