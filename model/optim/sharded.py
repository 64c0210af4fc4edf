"""Per-Head Muon over data-parallel ranks: each keeps the state of, and orthogonalises, only what it owns (ZeRO-1).

A step on every rank: gradients summed to their owners, one norm of all, the owners' updates, the new weights back.
Buckets go to one owner and come from one: no rank ever holds another's state or a buffer of all parameters (K3 report,
section 5.2.2). A rank without a gradient (no picture, no row) sends zeros; what has none anywhere is left alone.

Odd: gradients are summed, not averaged, as one process would sum over the same tokens: divide each rank's loss by what
the whole step divides by. The weights are the same on all ranks only while every rank calls the same methods.
"""

from collections import defaultdict, deque
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from math import hypot
from typing import TYPE_CHECKING

import torch
import torch.distributed as dist
from torch import Tensor

from trivium.model.optim.clip import PARTS
from trivium.model.optim.config import OptimizerConfig
from trivium.model.optim.groups import Group
from trivium.model.optim.muon import STATE, PerHeadMuon, copy_state
from trivium.model.optim.owners import Piece, deal

if TYPE_CHECKING:
    from trivium.model.joint import JointConfig

BUCKET_NUMBERS = 1 << 24  # entries sent at once; a larger piece travels alone and in place
AHEAD = 3  # buckets under way at once: bounds their memory


@dataclass(frozen=True, slots=True)
class _Bucket:
    """Pieces of one owner and one type, sent together."""

    owner: int
    pieces: tuple[Piece, ...]


class ShardedMuon(PerHeadMuon):
    """`PerHeadMuon` shared by the ranks of `group` (None: all of them). Every method but `set_lr` is called by all.

    The parameters are contiguous, equal on all ranks and where they stay: build it when the model is on its device, and
    copy into parameters afterwards, never put others in their place.
    """

    def __init__(
        self,
        named_parameters: Iterable[tuple[str, Tensor]],
        model: "JointConfig",
        config: OptimizerConfig | None = None,
        *,
        lr: float = 0.0,
        group: dist.ProcessGroup | None = None,
    ) -> None:
        self.group = group
        self.rank, self.ranks = dist.get_rank(group), dist.get_world_size(group)
        super().__init__(named_parameters, model, config, lr=lr)
        self._summed = False  # whether this step's gradients are with their owners
        self._present: frozenset[str] = frozenset()  # parameters with a gradient on any rank in this step

    def _mine(self) -> list[tuple[Group, Tensor]]:
        self.pieces = deal(self.groups, self.ranks)
        self._own = {
            piece: piece.view(self._parameters[piece.name].detach())
            for piece in self.pieces
            if piece.owner == self.rank
        }
        return [(piece.alone(), tensor) for piece, tensor in self._own.items()]

    @torch.no_grad()
    def sum_gradients(self) -> None:
        """Sums each gradient over the ranks to the owners of its pieces, and lets go of the parameters' own.

        `clip_grad_norm` and `step` do it where it is not done yet.
        """
        if self._summed:
            return
        self._present = self._anywhere({name for name, one in self._parameters.items() if one.grad is not None})
        self._in_buckets(self._send_gradients)
        for parameter in self._parameters.values():
            parameter.grad = None
        self._summed = True

    def _in_buckets(self, send: Callable[[_Bucket], Callable[[], None]]) -> None:
        """Sends bucket after bucket, a few of them under way at once; `send` returns what waits for one to land."""
        under_way: deque[Callable[[], None]] = deque()
        for bucket in self._buckets():
            under_way.append(send(bucket))
            if len(under_way) > AHEAD:
                under_way.popleft()()
        for land in under_way:
            land()

    def _anywhere(self, here: Collection[str]) -> frozenset[str]:
        """The parameters that any rank names."""
        named = torch.tensor([name in here for name in self._parameters], dtype=torch.int32, device=self._device)
        dist.all_reduce(named, dist.ReduceOp.MAX, group=self.group)
        return frozenset(name for name, one in zip(self._parameters, named.tolist(), strict=True) if one)

    def _send_gradients(self, bucket: _Bucket) -> Callable[[], None]:
        parts = [self._gradient(piece) for piece in bucket.pieces]
        buffer = parts[0] if len(parts) == 1 else torch.cat(parts)
        work = dist.reduce(buffer, group_dst=bucket.owner, group=self.group, async_op=True)

        def land() -> None:
            work.wait()
            if bucket.owner == self.rank:
                for piece, sum_N in self._parts(bucket, buffer):
                    self._own[piece].grad = sum_N.view_as(self._own[piece])

        return land

    def _gradient(self, piece: Piece) -> Tensor:
        """This rank's part of the piece's gradient, flat; zeros where it has none."""
        parameter = self._parameters[piece.name]
        if parameter.grad is None:
            return parameter.new_zeros(piece.numbers)
        return piece.view(parameter.grad.contiguous()).reshape(-1)

    def clip_grad_norm(self, most: float) -> dict[str, float]:
        """As `clip.clip_grad_norm`, of the gradients summed over the ranks: the same on all of them."""
        self.sum_gradients()
        if not self._present:
            return {"total": 0.0}
        own = [(piece, tensor) for piece, tensor in self._own.items() if tensor.grad is not None]
        squares = torch.zeros(len(PARTS) + 1, dtype=torch.float64, device=self._device)
        if own:
            norms = torch.stack(torch._foreach_norm([tensor.grad for _, tensor in own]))
            places = [_part(piece.name) for piece, _ in own]
            squares.index_add_(0, torch.tensor(places, device=self._device), norms.double().square())
        dist.all_reduce(squares, group=self.group)
        norms_by_part = squares.sqrt().tolist()
        total = hypot(*norms_by_part)
        if own and most < total < float("inf"):
            torch._foreach_mul_([tensor.grad for _, tensor in own], most / total)
        seen = {_part(name) for name in self._present}
        return {"total": total} | {part: norms_by_part[place] for place, part in enumerate(PARTS) if place in seen}

    @torch.no_grad()
    def step(self, closure: Callable[[], float] | None = None) -> float | None:
        """Updates what any rank has a gradient of, on its owner, and brings the new weights to all ranks."""
        loss = None
        if closure is not None:
            with torch.enable_grad():
                loss = closure()
        self.sum_gradients()
        super().step()
        self.zero_grad()
        self._in_buckets(self._send_weights)
        return loss

    def _send_weights(self, bucket: _Bucket) -> Callable[[], None]:
        parts = [piece.view(self._parameters[piece.name].detach()).reshape(-1) for piece in bucket.pieces]
        mine, alone = bucket.owner == self.rank, len(parts) == 1
        buffer = parts[0] if alone else torch.cat(parts) if mine else parts[0].new_empty(sum(map(len, parts)))
        work = dist.broadcast(buffer, group_src=bucket.owner, group=self.group, async_op=True)

        def land() -> None:
            work.wait()
            if not mine and not alone:
                torch._foreach_copy_(parts, buffer.split([len(part) for part in parts]))

        return land

    def zero_grad(self, set_to_none: bool = True) -> None:
        """Drops all gradients; the next step starts anew. They are never kept as zeros."""
        for tensor in (*self._parameters.values(), *self._own.values()):
            tensor.grad = None
        self._summed = False

    def update_rms(self) -> dict[str, float]:
        """As `PerHeadMuon.update_rms`, over all pieces of a parameter."""
        names = [group.name for group in self.groups if group.blocks and group.name in self._present]
        own = self._update_squares()
        sums = torch.tensor([own.get(name, (0.0, 0.0)) for name in names], dtype=torch.float64, device=self._device)
        dist.all_reduce(sums, group=self.group)
        return {name: (square / numbers) ** 0.5 for name, (square, numbers) in zip(names, sums.tolist(), strict=True)}

    @torch.no_grad()
    def named_state(self) -> dict[str, Tensor]:
        """The whole state as one process would name it, on the CPU of the group's first rank; empty on the others."""
        whole: dict[str, Tensor] = {}
        known = self._anywhere({piece.name for piece, own in self._own.items() if self.state.get(own)})
        for piece in self.pieces:
            if piece.name not in known:
                continue
            for kind in STATE[piece.group.optimizer]:
                part = self._gather(piece, kind)
                if part is None:
                    continue
                parameter, key = self._parameters[piece.name], f"{piece.name}:{kind}"
                if kind == "step":
                    whole[key] = part
                    continue
                if key not in whole:
                    whole[key] = torch.empty(parameter.shape, dtype=parameter.dtype)
                piece.view(whole[key]).copy_(part)
        return whole

    def _gather(self, piece: Piece, kind: str) -> Tensor | None:
        """One tensor of a piece's state on the first rank, None elsewhere."""
        own = self._own.get(piece)
        held = None if own is None else self.state[own][kind]
        if self.rank == 0 and held is None:
            parameter = self._parameters[piece.name]
            like = torch.zeros((), dtype=torch.float32) if kind == "step" else piece.view(parameter.detach())
            held = torch.empty(like.shape, dtype=like.dtype, device=parameter.device)
            dist.recv(held, group_src=piece.owner, group=self.group)
        elif self.rank != 0 and held is not None:
            dist.send(held, group_dst=0, group=self.group)
        return None if held is None or self.rank else held.cpu()

    @torch.no_grad()
    def load_named_state(self, tensors: Mapping[str, Tensor]) -> None:
        """Takes the own pieces of a whole state, copied; of one process or of any number of ranks. Sends nothing."""
        states = self._checked(tensors)
        self.state = defaultdict(dict)
        for piece, own in self._own.items():
            for kind, tensor in states.get(piece.name, {}).items():
                part = tensor if kind == "step" else piece.view(tensor.contiguous())
                self.state[own][kind] = copy_state(part, kind, own)

    @property
    def _device(self) -> torch.device:
        return next(iter(self._parameters.values())).device

    def _parts(self, bucket: _Bucket, buffer: Tensor) -> Iterator[tuple[Piece, Tensor]]:
        return zip(bucket.pieces, buffer.split([piece.numbers for piece in bucket.pieces]), strict=True)

    def _buckets(self) -> Iterator[_Bucket]:
        """Of what is present; the owners take turns, so that none waits for another to be served."""
        runs: dict[tuple[int, torch.dtype], list[Piece]] = defaultdict(list)
        for piece in self.pieces:
            if piece.name in self._present:
                runs[piece.owner, self._parameters[piece.name].dtype].append(piece)
        queues = [deque(_fill(owner, pieces)) for (owner, _), pieces in sorted(runs.items(), key=_first)]
        while queues:
            for queue in queues:
                yield queue.popleft()
            queues = [queue for queue in queues if queue]


def all_reduce_max(maxima: Mapping[str, Tensor], group: dist.ProcessGroup | None = None) -> dict[str, Tensor]:
    """The largest of each entry over the ranks, in one all-reduce: every head's largest logit, for QK-clip."""
    if not maxima:
        return {}
    flat = torch.cat([tensor.reshape(-1) for tensor in maxima.values()])
    dist.all_reduce(flat, dist.ReduceOp.MAX, group=group)
    parts = flat.split([tensor.numel() for tensor in maxima.values()])
    return {name: part.view_as(tensor) for (name, tensor), part in zip(maxima.items(), parts, strict=True)}


def _first(run: tuple[tuple[int, torch.dtype], list[Piece]]) -> tuple[int, str]:
    (owner, dtype), _ = run
    return owner, str(dtype)


def _fill(owner: int, pieces: Sequence[Piece]) -> Iterator[_Bucket]:
    """Pieces in order, as many as fit into BUCKET_NUMBERS; a larger one alone."""
    held: list[Piece] = []
    room = BUCKET_NUMBERS
    for piece in pieces:
        if held and piece.numbers > room:
            yield _Bucket(owner, tuple(held))
            held, room = [], BUCKET_NUMBERS
        held.append(piece)
        room -= piece.numbers
    if held:
        yield _Bucket(owner, tuple(held))


def _part(name: str) -> int:
    """The place of a parameter's part in PARTS; behind them for any other."""
    return next((place for place, part in enumerate(PARTS) if name.startswith(part + ".")), len(PARTS))
