"""The processes that train one run together, each on its share of every step's rows: as torchrun starts them, or one.

What the ranks tell each other here are a few numbers a step and, where it is rare, objects; tensors of the model go
between them in `model/optim/sharded.py` (gradients, weights) and `JointModel.quantile_update` (counts).

Odd: all of this goes over gloo, the default group, from CPU to CPU, also where tensors go over NCCL. A gloo call ends
with an error when the other side is gone, which NCCL's does not; so a rank that died is noticed at the next of these.
"""

import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from datetime import timedelta
from typing import TypeVar

import torch
import torch.distributed as dist
from torch import Tensor

from trivium.curriculum.ranks import rank_rows
from trivium.curriculum.rows import Row, StepRows
from trivium.errors import TrainError, UsageError

T = TypeVar("T")

PATIENCE = timedelta(minutes=30)  # a rank may be so much later than the others: it packs a plan, or storage is slow
GIVEN = ("RANK", "WORLD_SIZE", "LOCAL_RANK", "LOCAL_WORLD_SIZE", "MASTER_ADDR", "MASTER_PORT")  # by torchrun
LOST = ("gloo", "connection", "nccl", "socket", "timed out")  # words of torch's errors when another rank is gone


class OtherRankError(TrainError):
    """What ends a rank when another one has failed; the other's message says why."""


@dataclass(frozen=True, slots=True)
class Ranks:
    """This process's place among `world` ranks; `group` carries tensors, None when alone."""

    rank: int = 0
    world: int = 1
    local_rank: int = 0  # among those on this machine
    local_world: int = 1
    group: dist.ProcessGroup | None = None

    @property
    def first(self) -> bool:
        """Whether this is the rank that writes the run folder and talks to people."""
        return self.rank == 0

    def on(self, device: torch.device) -> "Ranks":
        """The same, with tensors going between the ranks' own devices. Every rank calls it at the same time."""
        if self.world == 1 or device.type != "cuda":
            return self
        return replace(self, group=dist.new_group(backend="nccl", timeout=PATIENCE))

    def share(self, step: StepRows) -> tuple[Row, ...]:
        """The rows of a step that this rank computes."""
        return step.rows if self.world == 1 else tuple(rank_rows(step, self.rank, self.world))

    def sum(self, numbers: Sequence[float]) -> list[float]:
        """Sums over the ranks, in fp64: the same on all of them. Raises OtherRankError."""
        if self.world == 1:
            return list(numbers)
        total = torch.tensor(numbers, dtype=torch.float64)
        with self.linked():
            dist.all_reduce(total)
        found: list[float] = total.tolist()
        return found

    def sum_tensor(self, counts: Tensor) -> Tensor:
        """Sums of integers on the CPU over the ranks. Raises OtherRankError."""
        if self.world > 1:
            with self.linked():
                dist.all_reduce(counts)
        return counts

    def gather(self, work: Callable[[], T]) -> list[T]:
        """What `work` gives on each rank, in their order, on all of them.

        Where it raises, its error goes on there, and the others raise OtherRankError.
        """
        if self.world == 1:
            return [work()]
        result, error = None, None
        try:
            result = work()
        except Exception as one:
            error = one
        told: list[tuple[bool, T]] = [(False, result)] * self.world  # type: ignore[list-item]
        with self.linked():
            dist.all_gather_object(told, (error is not None, result))
        self.settle(error, [rank for rank, (failed, _) in enumerate(told) if failed])
        return [one for _, one in told]

    def lead(self, work: Callable[[], T]) -> T:
        """What `work` gives on the first rank, on all ranks; nothing is done on the others. Raises as `gather` does."""
        return self.gather(lambda: work() if self.first else None)[0]  # type: ignore[return-value]

    @contextmanager
    def in_turn(self) -> Iterator[None]:
        """The body on the first rank, then on the others: what it finds out and keeps is there for them.

        Raises OtherRankError where the body has failed on another rank.
        """
        if not self.first:
            self._passed(None)
        error: Exception | None = None
        try:
            yield
        except Exception as one:
            error = one
        if self.first:
            self._passed(error)
            self._passed(None)
        else:
            self._passed(error)
        if error is not None:
            raise error

    def _passed(self, error: Exception | None) -> None:
        self.settle(error, self.sum([float(error is not None)])[0] > 0)

    def settle(self, error: BaseException | None, failed: object) -> None:
        """Raises this rank's error; or OtherRankError when any of the others `failed`."""
        if error is not None:
            raise error
        if failed:
            where = f"rank {', '.join(map(str, failed))}" if isinstance(failed, list) else "another rank"
            raise OtherRankError(f"rank {self.rank} of {self.world} ends because {where} failed; its message says why")

    def alike(self, error: TrainError) -> TrainError:
        """An error that all ranks meet at once: told by the first."""
        return error if self.first else OtherRankError(f"rank {self.rank} of {self.world} ends as rank 0 does")

    @contextmanager
    def linked(self) -> Iterator[None]:
        """Around what needs the other ranks: torch's error when one is gone becomes OtherRankError."""
        try:
            yield
        except RuntimeError as error:
            words = str(error)
            if not isinstance(error, dist.DistError) and not any(word in words.lower() for word in LOST):
                raise
            line = (words.splitlines() or [""])[0][:200]
            raise OtherRankError(
                f"rank {self.rank} of {self.world} can't reach the others ({line}): one of them has ended, and its "
                "message says why; the same command goes on from the last checkpoint"
            ) from None


ALONE = Ranks()


@contextmanager
def joined(environment: Mapping[str, str] = os.environ) -> Iterator[Ranks]:
    """The ranks that torchrun started, this process being one; ALONE without it. Leaves them at the end.

    An error ends the process without a word of parting: the others may wait in a call that this one will never make.
    Raises UsageError.
    """
    world = int(environment.get("WORLD_SIZE", "1")) if "RANK" in environment else 1
    if world == 1:
        yield ALONE
        return
    missing = [name for name in GIVEN if name not in environment]
    if missing:
        raise UsageError(
            f"WORLD_SIZE is {world} and {', '.join(missing)} is not set; start several ranks with torchrun "
            "(`torchrun --nproc-per-node N -m trivium train …`), or unset RANK and WORLD_SIZE to train alone"
        )
    dist.init_process_group("gloo", timeout=PATIENCE)
    rank, local_rank, local_world = (int(environment[name]) for name in ("RANK", "LOCAL_RANK", "LOCAL_WORLD_SIZE"))
    yield Ranks(rank, world, local_rank, local_world, dist.group.WORLD)
    dist.destroy_process_group()
