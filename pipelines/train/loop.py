"""The training run: one loop through all stages, stoppable anywhere, going on bit for bit.

A step's order: train, write its metrics line, evaluate if due, save if due. So a checkpoint of step n stands behind
every line of step n, and cutting the metrics at n gives back what an uninterrupted run had written by then.

Several ranks run the same loop on their shares of the rows and come to the same decisions: before each step they tell
each other whether to stop, whether one has failed, and what was left out. The first one writes.
"""

import time
from collections.abc import Callable, Iterator
from typing import Any

import msgspec
import torch
from torch import Tensor

from trivium.console import counted
from trivium.curriculum.rows import State
from trivium.data.config import from_mapping
from trivium.errors import CheckpointError, StorageError, TrainError
from trivium.model.batch import Batch
from trivium.pipelines.train.balance import probe
from trivium.pipelines.train.board import Board, open_board
from trivium.pipelines.train.checkpoint import Checkpoint, CheckpointStore
from trivium.pipelines.train.crowded import Crowded
from trivium.pipelines.train.feed import Fed, Feed
from trivium.pipelines.train.folder import RunFolder
from trivium.pipelines.train.heldout import HeldOut, evaluate, held_out
from trivium.pipelines.train.leave import Leaving, StepLeftError
from trivium.pipelines.train.loading.faults import Skip
from trivium.pipelines.train.loading.skipped import Skipped
from trivium.pipelines.train.meter import Meter
from trivium.pipelines.train.metrics import MetricsLog
from trivium.pipelines.train.prepare import Prepared, build_model
from trivium.pipelines.train.progress import TrainProgress
from trivium.pipelines.train.saver import Saver
from trivium.pipelines.train.signals import StopRequest
from trivium.pipelines.train.step import train_step


class Loop:
    """One rank's training of a prepared run in its folder, whose lock the first rank must hold."""

    def __init__(self, prepared: Prepared, folder: RunFolder, note: Callable[[str], None]) -> None:
        self.prepared, self.folder, self.note, self.ranks = prepared, folder, note, prepared.ranks
        self.plan, self.saves = prepared.plan, prepared.run.checkpoint
        self.assembler = prepared.assembler()
        self.model = build_model(prepared)
        self.optimizer = prepared.run.optimizer.build(self.model, self.ranks.group)
        self.store = CheckpointStore(folder.checkpoints, keep=self.saves.keep)
        self.step = 0
        self.state: State | None = None
        self.tokens = 0  # text and vision tokens trained so far
        self.skipped = Skipped(folder.skipped, prepared.run.data.max_bad_fraction, writes=self.ranks.first)
        self.meter = Meter.of(prepared)
        self._saved_step = 0
        self._saved_at = time.monotonic()
        self._saving: float | None = None  # seconds that the last checkpoint held the loop up, told in the next line

    def resume(self, found: Checkpoint) -> None:
        """Takes up model, optimizer, generators and curriculum from a checkpoint. Raises CheckpointError."""
        tensors = found.tensors()
        try:
            self.model.load_state_dict(_under(tensors, "model/"), strict=True)
            self.optimizer.load_named_state(_under(tensors, "optimizer/"))
            torch.set_rng_state(tensors["rng/cpu"])
            if self.prepared.device.type == "cuda":
                torch.cuda.set_rng_state(tensors["rng/cuda"])
        except (RuntimeError, KeyError, ValueError) as error:
            raise CheckpointError(
                f"{found.folder}: its tensors are not this model's ({error}); go on with the code that wrote it, or "
                "give another --out"
            ) from None
        state = found.state
        self.step, self.tokens = found.step, state["tokens"]
        self.state = self.plan.adopt(from_mapping(state["curriculum"], State, name=str(found.folder)))
        self._saved_step = found.step
        self.skipped.resume(state["loader"])
        if state["threads"] != torch.get_num_threads():
            self.note(
                f"the checkpoint was written with {state['threads']} threads and this process has "
                f"{torch.get_num_threads()}: sums may round otherwise; give --set threads={state['threads']} to go on "
                "bit for bit"
            )
        if state.get("ranks", 1) != self.ranks.world:
            self.note(
                f"the checkpoint was written by {counted(state.get('ranks', 1), 'rank')} and the run goes on with "
                f"{self.ranks.world}: the same rows at the same steps, and sums that round otherwise"
            )

    def run(self, stop: StopRequest) -> None:
        """Trains from where it stands to the end, or to the last whole step when a stop is asked for."""
        held = self.ranks.lead(self._held_out)
        steps, total = self.plan.steps, sum(stage.tokens for stage in self.plan.stages)
        writer = self._writer(held)
        first = self.ranks.first
        progress = TrainProgress(steps, total, done=self.step, done_tokens=self.tokens, quiet=not first)
        try:
            ahead = self.prepared.run.data.ahead
            feed = Feed(
                self.plan, self.assembler, self.state, ahead=ahead, share=self.ranks.share,
                interrupted=lambda: stop.requested,
            )  # fmt: skip
            with Saver(self.store) as saver, progress, feed:
                if self.state is None and held is not None and not self._stopping(stop):
                    self._evaluate(held, writer, progress, None)
                leaving = Leaving(self.model, lambda: stop.requested)
                crowded = Crowded(threads=torch.get_num_threads())
                for fed, skips in self._steps(feed, stop, saver, writer):
                    try:
                        batch = self._train(fed, skips, leaving, writer, progress)
                    except StepLeftError:
                        break
                    if held is not None and self._evaluation_due():
                        self._evaluate(held, writer, progress, batch)
                    if (hint := crowded.look()) is not None:
                        progress.note(hint)
                    saver.check()
                    if self._save_due():
                        self._save(saver, writer)
                self._save_rest(saver, writer)
        finally:
            writer.close()
            self.skipped.close()
            self.assembler.close()
        self.ranks.lead(lambda: None)  # the last checkpoint stands, or the first rank says why not

    def _writer(self, held: HeldOut | None) -> "_Writer":
        """Metrics cut back to the checkpoint, and TensorBoard; on ranks but the first, a writer of nothing."""
        behind = self.step if self.state is not None else -1
        self.skipped.begin(behind)
        if not self.ranks.first:
            return _Writer(None, None)
        metrics = MetricsLog(self.folder.metrics)
        last = metrics.cut(behind)
        if held is not None:
            self._tell_missed(held)
        if last < self.step:
            self.note(f"{self.folder.metrics} ends at step {last}; the lines up to {self.step} are lost")
        return _Writer(metrics, open_board(self.folder.events, purge=self.step + 1, note=self.note))

    def _steps(
        self, feed: Feed, stop: StopRequest, saver: Saver, writer: "_Writer"
    ) -> Iterator[tuple[Fed, tuple[Skip, ...]]]:
        """The feed's steps, each with what all ranks leave out of it, until there are no more or any rank is to stop.

        When storage fails, what is trained so far is saved before the error goes on.
        """
        while self.step < self.plan.steps:
            fed, failure = None, None
            try:
                fed = None if stop.requested else next(feed, None)
            except Exception as error:
                failure = error
            told = (
                fed is None,
                failure is not None,
                isinstance(failure, StorageError),
                0 if fed is None else len(fed.skips),
            )
            stopped, failed, stored, skipped = self.ranks.sum(told)
            if failed:
                if stored == failed:
                    self._save_rest(saver, writer)
                self.ranks.settle(failure, failed)
            if stopped or fed is None:
                return
            yield fed, self._left_out(fed) if skipped else ()

    def _left_out(self, fed: Fed) -> tuple[Skip, ...]:
        """What all ranks leave out of a step, in the step's order."""
        if self.ranks.world == 1:
            return fed.skips
        ids = {name: shards.entries.id for name, shards in self.prepared.sets.items()}
        pieces = [piece for row in fed.rows.rows for piece in row.pieces]
        place = {
            (f"{piece.corpus}/{ids[piece.corpus][piece.record]}", piece.start): i for i, piece in enumerate(pieces)
        }
        every = [skip for mine in self.ranks.gather(lambda: fed.skips) for skip in mine]
        return tuple(sorted(every, key=lambda skip: place[skip.key, skip.start]))

    def _stopping(self, stop: StopRequest) -> bool:
        """Whether any rank was asked to stop."""
        return self.ranks.sum([stop.requested])[0] > 0

    def _save_rest(self, saver: Saver, writer: "_Writer") -> None:
        if self.step > self._saved_step:
            self._save(saver, writer)

    def _train(
        self, fed: Fed, skips: tuple[Skip, ...], leaving: Leaving, writer: "_Writer", progress: TrainProgress
    ) -> Batch:
        """One step and its line. Raises StepLeftError, and then nothing has changed."""
        began = time.perf_counter()
        rows = fed.rows
        batch = fed.batch.to(self.prepared.device)
        with leaving.armed():
            measured = train_step(self.model, self.optimizer, self.prepared, batch, step=rows.step + 1, lr=rows.lr)
        try:
            left_out = self.skipped.take(rows.step + 1, sum(len(row.pieces) for row in rows.rows), skips)
        except TrainError as error:
            raise self.ranks.alike(error) from None
        before = self.skipped.skipped - len(skips)
        if left_out is not None and before < TOLD:
            first = skips[0]
            progress.note(f"step {rows.step + 1}: {len(skips)} left out ({first.reason}: {first.detail})")
            if self.skipped.skipped >= TOLD:
                progress.note(f"further documents left out are not told of here; {self.folder.skipped} names them all")
        clock = {"step": fed.waited + time.perf_counter() - began, "data": fed.waited, **measured.pop("time")}
        if self._saving is not None:
            clock["checkpoint"], self._saving = self._saving, None
        self.step, self.state = rows.step + 1, fed.behind
        self.tokens += sum(measured["tokens"].values())
        line = {
            "kind": "step",
            "step": self.step,
            "stage": rows.stage,
            "context": rows.context,
            **measured,
            "fill": (rows.tokens - sum(skip.tokens for skip in skips)) / (len(rows.rows) * rows.context),
            **({} if left_out is None else {"skipped": left_out}),
            "time": {
                **{name: round(seconds, 6) for name, seconds in clock.items()},
                "mfu": self.meter.mfu(measured["flops"], clock["step"]),
            },
        }
        writer.write(line)
        progress.show(line, self.prepared.schedule.stages[rows.stage].name)
        return batch

    def _held_out(self) -> HeldOut | None:
        """The rows to evaluate on; None when evaluation is off."""
        rules, first = self.prepared.run.eval, self.prepared.schedule.stages[0]
        if not rules.every:
            self.note("held-out evaluation is off: eval.every is 0")
            return None
        context = rules.context or first.context
        patches = first.patch_budget if rules.context is None else 4 * context
        return held_out(
            self.plan, self.assembler, rows=rules.rows, context=context, patches=patches, seed=self.prepared.run.seed
        )

    def _tell_missed(self, held: HeldOut) -> None:
        """Names the bad held-out records; ones that an earlier start did not meet change what losses are means over."""
        fresh = self.skipped.miss(self.step, held.skips)
        if not held.skips:
            return
        first = held.skips[0]
        self.note(
            f"step {self.step}: {len(held.skips)} of {counted(held.documents, 'held-out document')} left out "
            f"({first.reason}: {first.detail}); see {self.folder.skipped}"
        )
        if fresh and self.step:
            self.note(f"{fresh} of them were whole before: held-out losses up to here are means over other records")

    def _evaluation_due(self) -> bool:
        return self.step == self.plan.steps or self.step % self.prepared.run.eval.every == 0

    def _evaluate(self, held: HeldOut, writer: "_Writer", progress: TrainProgress, batch: Batch | None) -> None:
        began = time.perf_counter()
        line: dict[str, Any] = {"kind": "held_out", "step": self.step}
        line |= {} if held.left_out is None else {"left_out": held.left_out}
        prepared = self.prepared
        line |= evaluate(self.model, held, self.assembler, prepared.device, prepared.autocast(), self.ranks)
        if batch is not None and self.model.balances():
            line["balance"] = probe(self.model, batch, prepared.autocast(), self.ranks)
        line["time"] = {"eval": round(time.perf_counter() - began, 6)}
        writer.write(line)
        losses = [f"{name.replace('_', ' ')} {line[name]['loss']:.3f}" for name in _SPLITS if line[name]]
        progress.note(f"step {self.step}: held-out {', '.join(losses) or 'sets are empty'}")

    def _save_due(self) -> bool:
        if self.step == self.plan.steps:
            return True
        steps, seconds = self.saves.every_steps, self.saves.every_seconds
        if steps is not None and self.step - self._saved_step >= steps:
            return True
        if seconds is None:
            return False
        late = self.ranks.first and time.monotonic() - self._saved_at >= seconds  # one clock for all
        return self.ranks.sum([late])[0] > 0

    def _save(self, saver: Saver, writer: "_Writer") -> None:
        """The first rank writes all of it: the optimizer's state comes to it piece by piece from its owners."""
        began = time.perf_counter()
        self.skipped.sync()
        writer.sync()
        with self.ranks.linked():
            optimizer = self.optimizer.named_state()
        self._saved_step, self._saved_at = self.step, time.monotonic()
        if not self.ranks.first:
            return
        tensors = {f"model/{name}": tensor for name, tensor in self.model.state_dict().items()}
        tensors |= {f"optimizer/{name}": tensor for name, tensor in optimizer.items()}
        tensors["rng/cpu"] = torch.get_rng_state()
        if self.prepared.device.type == "cuda":
            tensors["rng/cuda"] = torch.cuda.get_rng_state()
        state = {
            "curriculum": msgspec.to_builtins(self.state),
            "loader": self.skipped.state,
            "tokens": self.tokens,
            "threads": torch.get_num_threads(),
            "ranks": self.ranks.world,
        }
        saver.save(self.step, tensors, state, self.prepared.identity)
        self._saving = time.perf_counter() - began


TOLD = 5  # documents left out that are told of while training; all stand in skipped.jsonl
_SPLITS = ("text", "image", "image_shuffled")


class _Writer:
    """A metrics line goes to the file and to TensorBoard where there is one; nowhere on ranks but the first."""

    def __init__(self, metrics: MetricsLog | None, board: Board | None) -> None:
        self._to = [one for one in (metrics, board) if one is not None]

    def write(self, line: dict[str, Any]) -> None:
        for one in self._to:
            one.write(line)

    def sync(self) -> None:
        for one in self._to:
            one.sync()

    def close(self) -> None:
        for one in self._to:
            one.close()


def _under(tensors: dict[str, Tensor], prefix: str) -> dict[str, Tensor]:
    return {name.removeprefix(prefix): tensor for name, tensor in tensors.items() if name.startswith(prefix)}
