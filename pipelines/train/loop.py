"""The training run: one loop through all stages, stoppable anywhere, going on bit for bit.

A step's order: train, write its metrics line, evaluate if due, save if due. So a checkpoint of step n stands behind
every line of step n, and cutting the metrics at n gives back what an uninterrupted run had written by then.
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
from trivium.errors import CheckpointError, StorageError
from trivium.model.batch import Batch
from trivium.pipelines.train.balance import probe
from trivium.pipelines.train.board import Board, open_board
from trivium.pipelines.train.checkpoint import Checkpoint, CheckpointStore
from trivium.pipelines.train.crowded import Crowded
from trivium.pipelines.train.feed import Fed, Feed
from trivium.pipelines.train.folder import RunFolder
from trivium.pipelines.train.heldout import HeldOut, evaluate, held_out
from trivium.pipelines.train.leave import Leaving, StepLeftError
from trivium.pipelines.train.loading.skipped import Skipped
from trivium.pipelines.train.metrics import MetricsLog
from trivium.pipelines.train.prepare import Prepared, build_model
from trivium.pipelines.train.progress import TrainProgress
from trivium.pipelines.train.saver import Saver
from trivium.pipelines.train.signals import StopRequest
from trivium.pipelines.train.step import train_step


class Loop:
    """One process's training of a prepared run in its folder, whose lock must be held."""

    def __init__(self, prepared: Prepared, folder: RunFolder, note: Callable[[str], None]) -> None:
        self.prepared, self.folder, self.note = prepared, folder, note
        self.plan, self.saves = prepared.plan, prepared.run.checkpoint
        self.assembler = prepared.assembler()
        self.model = build_model(prepared)
        self.optimizer = prepared.run.optimizer.build(self.model)
        self.store = CheckpointStore(folder.checkpoints, keep=self.saves.keep)
        self.step = 0
        self.state: State | None = None
        self.tokens = 0  # text and vision tokens trained so far
        self.skipped = Skipped(folder.skipped, prepared.run.data.max_bad_fraction)
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

    def run(self, stop: StopRequest) -> None:
        """Trains from where it stands to the end, or to the last whole step when a stop is asked for."""
        held = self._held_out()
        steps, total = self.plan.steps, sum(stage.tokens for stage in self.plan.stages)
        metrics = MetricsLog(self.folder.metrics)
        last = metrics.cut(self.step if self.state is not None else -1)
        self.skipped.begin(self.step if self.state is not None else -1)
        if held is not None:
            self._tell_missed(held)
        if last < self.step:
            self.note(f"{self.folder.metrics} ends at step {last}; the lines up to {self.step} are lost")
        board = open_board(self.folder.events, purge=self.step + 1, note=self.note)
        progress = TrainProgress(steps, total, done=self.step, done_tokens=self.tokens)
        writer = _Writer(metrics, board)
        try:
            ahead = self.prepared.run.data.ahead
            feed = Feed(self.plan, self.assembler, self.state, ahead=ahead, interrupted=lambda: stop.requested)
            with Saver(self.store) as saver, progress, feed:
                if self.state is None and held is not None and not stop.requested:
                    self._evaluate(held, writer, progress, None)
                leaving = Leaving(self.model, lambda: stop.requested)
                crowded = Crowded(threads=torch.get_num_threads())
                for fed in self._steps(feed, saver, writer):
                    try:
                        batch = self._train(fed, leaving, writer, progress)
                    except StepLeftError:
                        break
                    if held is not None and self._evaluation_due():
                        self._evaluate(held, writer, progress, batch)
                    if (hint := crowded.look()) is not None:
                        progress.note(hint)
                    saver.check()
                    if stop.requested or self._save_due():
                        self._save(saver, writer)
                    if stop.requested:
                        return
                self._save_rest(saver, writer)  # a step was left, or stopped while storage gave no answer
        finally:
            writer.close()
            self.skipped.close()
            self.assembler.close()

    def _steps(self, feed: Feed, saver: Saver, writer: "_Writer") -> Iterator[Fed]:
        """The feed's steps; when storage fails, what is trained so far is saved before the error goes on."""
        try:
            yield from feed
        except StorageError:
            self._save_rest(saver, writer)
            raise

    def _save_rest(self, saver: Saver, writer: "_Writer") -> None:
        if self.step > self._saved_step:
            self._save(saver, writer)

    def _train(self, fed: Fed, leaving: Leaving, writer: "_Writer", progress: TrainProgress) -> Batch:
        """One step and its line. Raises StepLeftError, and then nothing has changed."""
        began = time.perf_counter()
        rows = fed.rows
        batch = fed.batch.to(self.prepared.device)
        with leaving.armed():
            measured = train_step(self.model, self.optimizer, self.prepared, batch, step=rows.step + 1, lr=rows.lr)
        left_out = self.skipped.take(rows.step + 1, sum(len(row.pieces) for row in rows.rows), fed.skips)
        before = self.skipped.skipped - len(fed.skips)
        if left_out is not None and before < TOLD:
            first = fed.skips[0]
            progress.note(f"step {rows.step + 1}: {len(fed.skips)} left out ({first.reason}: {first.detail})")
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
            "fill": (rows.tokens - sum(skip.tokens for skip in fed.skips)) / (len(rows.rows) * rows.context),
            **({} if left_out is None else {"skipped": left_out}),
            "time": {name: round(seconds, 6) for name, seconds in clock.items()},
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
        line |= evaluate(self.model, held, self.assembler, self.prepared.device, self.prepared.autocast())
        if batch is not None and self.model.balances():
            line["balance"] = probe(self.model, batch, self.prepared.autocast())
        line["time"] = {"eval": round(time.perf_counter() - began, 6)}
        writer.write(line)
        losses = [f"{name.replace('_', ' ')} {line[name]['loss']:.3f}" for name in _SPLITS if line[name]]
        progress.note(f"step {self.step}: held-out {', '.join(losses) or 'sets are empty'}")

    def _save_due(self) -> bool:
        if self.step == self.plan.steps:
            return True
        steps, seconds = self.saves.every_steps, self.saves.every_seconds
        by_steps = steps is not None and self.step - self._saved_step >= steps
        return by_steps or (seconds is not None and time.monotonic() - self._saved_at >= seconds)

    def _save(self, saver: Saver, writer: "_Writer") -> None:
        began = time.perf_counter()
        self.skipped.sync()
        writer.sync()
        tensors = {f"model/{name}": tensor for name, tensor in self.model.state_dict().items()}
        tensors |= {f"optimizer/{name}": tensor for name, tensor in self.optimizer.named_state().items()}
        tensors["rng/cpu"] = torch.get_rng_state()
        if self.prepared.device.type == "cuda":
            tensors["rng/cuda"] = torch.cuda.get_rng_state()
        state = {
            "curriculum": msgspec.to_builtins(self.state),
            "loader": self.skipped.state,
            "tokens": self.tokens,
            "threads": torch.get_num_threads(),
        }
        saver.save(self.step, tensors, state, self.prepared.identity)
        self._saved_step, self._saved_at = self.step, time.monotonic()
        self._saving = time.perf_counter() - began


TOLD = 5  # documents left out that are told of while training; all stand in skipped.jsonl
_SPLITS = ("text", "image", "image_shuffled")


class _Writer:
    """A metrics line goes to the file and, where there is one, to TensorBoard."""

    def __init__(self, metrics: MetricsLog, board: Board | None) -> None:
        self._metrics, self._board = metrics, board

    def write(self, line: dict[str, Any]) -> None:
        self._metrics.write(line)
        if self._board is not None:
            self._board.write(line)

    def sync(self) -> None:
        self._metrics.sync()
        if self._board is not None:
            self._board.flush()

    def close(self) -> None:
        self._metrics.close()
        if self._board is not None:
            self._board.close()


def _under(tensors: dict[str, Tensor], prefix: str) -> dict[str, Tensor]:
    return {name.removeprefix(prefix): tensor for name, tensor in tensors.items() if name.startswith(prefix)}
