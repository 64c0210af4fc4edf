"""The plan of a run: every step's stage, rows and learning rate, known before the first step.

Odd: the number of steps is known only after packing (a row's fill is not guessed), so `Plan.open` packs the whole run
once without building rows, and may keep the counts in a cache file under the plan's digest.
"""

from bisect import bisect_right
from collections.abc import Callable, Iterator
from pathlib import Path

import msgspec

from trivium.curriculum.catalogue import Catalogue, Split, split
from trivium.curriculum.facts import StageFacts, Tally, read_cache, write_cache
from trivium.curriculum.learning_rate import learning_rate
from trivium.curriculum.packing import pack
from trivium.curriculum.pools import Pool, make_pools, stage_pools
from trivium.curriculum.rows import Cursor, Piece, Row, State, StepRows
from trivium.curriculum.schedule import PATCHES_A_TOKEN, Schedule
from trivium.curriculum.windows import Window, make_window
from trivium.data.config import digest, to_mapping
from trivium.errors import CheckpointError, ConfigError

ROWS_VERSION = 1  # raise it when the same schedule and corpora would give other rows


class Plan:
    """Rows, steps and learning rate of one schedule over given corpora; a pure function of both."""

    def __init__(
        self, schedule: Schedule, catalogues: dict[str, Catalogue], sides: dict[str, Split], pools: dict[str, Pool]
    ) -> None:
        self.schedule, self.catalogues, self.sides, self.pools = schedule, catalogues, sides, pools
        self.digest = rows_digest(schedule, catalogues)
        self.stages: tuple[StageFacts, ...] = ()
        self._first_steps = [0]
        self._views = [stage_pools(stage, pools, catalogues) for stage in schedule.stages]
        self._last: tuple[tuple[int, int, dict[str, Cursor]], Window] | None = None

    @classmethod
    def open(
        cls,
        schedule: Schedule,
        catalogues: dict[str, Catalogue],
        *,
        cache: Path | None = None,
        progress: Callable[[int], None] | None = None,
    ) -> "Plan":
        """Counts the run; `cache` is a folder for the counts, `progress` is told the tokens planned after each window.

        Raises ConfigError when a stage can't be filled or a corpus would be read more often than its `max_epochs`.
        """
        missing = sorted(set(schedule.corpora) - set(catalogues))
        if missing:
            raise ConfigError(f"the schedule reads {', '.join(missing)}, and no such corpus was opened")
        sides = split(catalogues, schedule.held_out)
        plan = cls(schedule, catalogues, sides, make_pools(schedule, catalogues, sides))
        kept = read_cache(cache, plan.digest)
        plan.stages = kept if kept is not None else plan._count(progress)
        for facts in plan.stages:
            plan._first_steps.append(plan._first_steps[-1] + facts.steps)
        plan._check_epochs()
        if cache is not None and kept is None:
            write_cache(cache, plan.digest, plan.stages)
        return plan

    @property
    def steps(self) -> int:
        """Steps of the whole run."""
        return self._first_steps[-1]

    def first_step(self, stage: int) -> int:
        """The first step of stage number `stage`; `first_step(len(stages))` is the number of steps."""
        return self._first_steps[stage]

    def stage_of(self, step: int) -> int:
        """Number of the stage that `step` belongs to; ValueError outside the run."""
        if not 0 <= step < self.steps:
            raise ValueError(f"step {step} is outside the run's {self.steps} steps")
        return bisect_right(self._first_steps, step) - 1

    def lr(self, step: int) -> float:
        """Learning rate of `step`."""
        return learning_rate(step, self.steps, self.schedule.lr)

    def start(self, stage: int = 0) -> State:
        """The state before the first row of a stage; of stage `len(stages)`: the end of the run."""
        cursors = self.stages[stage].start if stage < len(self.stages) else _reset(self.stages[-1].end)
        return State(stage=stage, step=self._first_steps[stage], window=0, row=0, cursors=cursors)

    def rows(self, state: State | None = None) -> Iterator[tuple[StepRows, State]]:
        """Steps from `state` (or the start) to the end, each with the state behind it.

        Raises CheckpointError when the state is not one of this plan's.
        """
        state = self.start() if state is None else state
        self._check_state(state)
        while state.stage < len(self.stages):
            rows, behind = self._step(state)
            context = self.schedule.stages[state.stage].context
            yield StepRows(state.step, state.stage, context, rows, self.lr(state.step)), behind
            state = behind

    def held_out(self, corpus: str, *, context: int | None = None, patches: int | None = None) -> list[Row]:
        """The held-out documents of a corpus, packed once in the order of their records.

        `context` is that of the last stage when left out. Long text is cut; pictures that don't fit are left out.
        """
        last = self.schedule.stages[-1]
        budget = patches if patches is not None else last.patch_budget if context is None else PATCHES_A_TOKEN * context
        room = last.context if context is None else context
        catalogue = self.catalogues[corpus]
        pieces: list[Piece] = []
        pictures: list[int] = []
        for record in self.sides[corpus].held_out.tolist():
            length, patch_count = int(catalogue.tokens[record]), int(catalogue.patches[record])
            if patch_count and (length > room or patch_count > budget):
                continue
            pieces += [Piece(corpus, record, at, min(at + room, length)) for at in range(0, length, room)]
            pictures += [patch_count] * (len(pieces) - len(pictures))
        packed = pack([piece.tokens for piece in pieces], pictures, context=room, patch_budget=budget)
        return [
            Row(
                tuple(pieces[i] for i in members),
                sum(pieces[i].tokens for i in members),
                sum(pictures[i] for i in members),
            )
            for members in packed
        ]

    def _window(self, stage: int, number: int, cursors: dict[str, Cursor]) -> Window:
        key = (stage, number, cursors)
        if self._last is None or self._last[0] != key:
            made = make_window(self.schedule, stage, number, cursors, self._views[stage][0])
            self._last = (key, made)
        return self._last[1]

    def _step(self, state: State) -> tuple[tuple[Row, ...], State]:
        """The rows of one step and the state behind it; a step may span windows, never stages."""
        wanted = self.schedule.stages[state.stage].rows
        number, at, cursors = state.window, state.row, state.cursors
        rows: list[Row] = []
        while True:
            window = self._window(state.stage, number, cursors)
            stop = min(len(window.packed), at + wanted - len(rows))
            rows += [window.row(i, self.pools) for i in range(at, stop)]
            at = stop
            if at == len(window.packed):
                if window.ends_stage:
                    end = _reset(window.cursors)
                    return tuple(rows), State(stage=state.stage + 1, step=state.step + 1, window=0, row=0, cursors=end)
                number, at, cursors = number + 1, 0, window.cursors
            if len(rows) == wanted:
                behind = State(stage=state.stage, step=state.step + 1, window=number, row=at, cursors=cursors)
                return tuple(rows), behind

    def _count(self, progress: Callable[[int], None] | None) -> tuple[StageFacts, ...]:
        cursors = {name: Cursor() for name in self.pools}
        stages: list[StageFacts] = []
        done = 0
        for number, rules in enumerate(self.schedule.stages):
            views, skipped = self._views[number]
            tally, start, ended = Tally(rules.context), cursors, False
            while not ended:
                window = make_window(self.schedule, number, tally.windows_seen, cursors, views)
                tally.add(window)
                cursors, ended = window.cursors, window.ends_stage
                if progress is not None:
                    progress(done + tally.tokens)
            done += tally.tokens
            taken = dict.fromkeys(rules.shares, 0)
            for name in views:
                taken[self.pools[name].corpus] += cursors[name].taken
            stages.append(tally.facts(rules.rows, skipped, taken, start, cursors))
            cursors = _reset(cursors)
        return tuple(stages)

    def _check_epochs(self) -> None:
        for corpus, rule in self.schedule.corpora.items():
            epochs = self.epochs(corpus)
            if rule.max_epochs is not None and epochs > rule.max_epochs:
                raise ConfigError(
                    f"corpora.{corpus}: the stages read it {epochs:.2f} times and max_epochs is {rule.max_epochs:g}; "
                    f"it has {self.train_tokens(corpus)} training tokens: lower the stages' tokens or its weight, "
                    "add documents, or raise max_epochs"
                )

    def train_tokens(self, corpus: str) -> int:
        """Tokens of a corpus on the training side."""
        return sum(int(pool.tokens.sum()) for pool in self.pools.values() if pool.corpus == corpus)

    def epochs(self, corpus: str) -> float:
        """How often the whole run reads a corpus's training tokens."""
        return sum(facts.taken.get(corpus, 0) for facts in self.stages) / max(1, self.train_tokens(corpus))

    def _check_state(self, state: State) -> None:
        strange = sorted(set(state.cursors) ^ set(self.pools))
        fits = 0 <= state.stage <= len(self.stages) and not strange
        fits = fits and self._first_steps[state.stage] <= state.step <= self.steps
        fits = fits and all(0 <= c.position < len(self.pools[name].records) for name, c in state.cursors.items())
        if not fits:
            raise CheckpointError(
                f"the curriculum's state (stage {state.stage}, step {state.step}, pools {', '.join(state.cursors)}) "
                f"belongs to another schedule or other corpora (this plan: {len(self.stages)} stages, {self.steps} "
                f"steps, pools {', '.join(self.pools)}); resume with those that the run began with"
            )


def rows_digest(schedule: Schedule, catalogues: dict[str, Catalogue]) -> str:
    """Digest of all that decides the rows: the schedule without its learning rate, and the corpora it reads."""
    raw = to_mapping(schedule.resolved())
    raw.pop("lr")
    for corpus in raw["corpora"].values():
        corpus.pop("path")
    return digest([ROWS_VERSION, raw, {name: catalogues[name].digest for name in schedule.corpora}])


def _reset(cursors: dict[str, Cursor]) -> dict[str, Cursor]:
    """A new stage counts its own tokens from zero; places in the corpora stay."""
    return {name: msgspec.structs.replace(cursor, taken=0) for name, cursor in cursors.items()}
