"""Launches of the packed attention of triton_tiles.py and triton_gradients.py: causal, gated or not, or of patches.

Odd: gated, what is kept for the backward beside the operands is y, which the next layer keeps anyway, and what y lost
to rounding, in the operands' dtype: with both the output is known to 2^-17, for 2 bytes a number in place of 4.
T tokens in the row, H heads, D query and key width, V value width.
"""

from dataclasses import dataclass
from typing import Any, Protocol

import torch
import triton
from torch import Tensor
from torch.autograd.function import once_differentiable

from trivium.kernels.mla.plan import BlockPlan, Tiles
from trivium.kernels.mla.triton_gradients import key_gradients, output_gradients, query_gradients
from trivium.kernels.mla.triton_tiles import forward

__all__ = ["GatedTritonAttention", "Passes", "Tiling", "TritonAttention", "attend", "attend_backwards"]

LOG2_E = 1.4426950408889634
PRECISION = "ieee"  # for fp32 operands; bf16 ones are multiplied as they are
ALIGNMENT = 16  # bytes; descriptors ask it of rows


@dataclass(frozen=True, slots=True)
class Tiling:
    """How a pass is cut: `rows` of a tile, `step` rows of the other side at a time, `heads` that run side by side.

    `registers`: most that a thread may have; None leaves it to the compiler.
    """

    rows: int
    step: int
    warps: int
    stages: int
    heads: int = 4
    registers: int | None = None

    @property
    def options(self) -> dict[str, int]:
        """The launch's."""
        return {"num_warps": self.warps} | ({} if self.registers is None else {"maxnreg": self.registers})


FORWARD = Tiling(rows=128, step=64, warps=8, stages=4)
QUERIES = Tiling(rows=128, step=64, warps=8, stages=3)
KEYS = Tiling(rows=64, step=32, warps=4, stages=2)


@dataclass(frozen=True, slots=True)
class Passes:
    """The tilings of a kind of attention's three passes, and which keys a query sees: up to its own, or all."""

    forward: Tiling
    queries: Tiling
    keys: Tiling
    causal: bool


class Plan(Protocol):
    """Where the tiles of a row lie; those by keys name the first query to walk from."""

    def tiles(self, device: torch.device, rows: int) -> Tiles: ...


def _mla() -> Passes:
    return Passes(FORWARD, QUERIES, KEYS, causal=True)


def _scratch(size: int, _alignment: int, _stream: object) -> Tensor:
    """Where the programs of a launch keep their descriptors."""
    return torch.empty(size, dtype=torch.int8, device="cuda")


def _by_rows(x: Tensor) -> Tensor:
    """`x` with its last dimension contiguous and rows on borders of 16 bytes; such a slice stays where it is."""
    fits = x.data_ptr() % ALIGNMENT == 0 and all(s * x.element_size() % ALIGNMENT == 0 for s in x.stride()[:2])
    return x if x.stride(2) == 1 and fits else x.contiguous()


def _places(*tensors: Tensor) -> list[int]:
    """The strides of tokens and heads of each."""
    return [x.stride(i) for x in tensors for i in (0, 1)]


def attend(
    ctx: Any, q_THD: Tensor, k_THD: Tensor, v_THV: Tensor, gate_THV: Tensor | None, plan: Plan, scale: float,
    passes: Passes, dtype: torch.dtype, top: bool,
) -> tuple[Tensor, Tensor | None]:  # fmt: skip
    """(o or y [T, H, V] in `dtype`, the largest scaled score of each head [H] where `top`); `ctx` keeps the rest."""
    (T, H, D), V, cut = q_THD.shape, v_THV.shape[2], passes.forward
    q, k, v = _by_rows(q_THD), _by_rows(k_THD), _by_rows(v_THV)
    gate = None if gate_THV is None else gate_THV if gate_THV.stride(2) == 1 else gate_THV.contiguous()
    tiles_N3 = plan.tiles(q.device, cut.rows).by_queries_N3
    N = len(tiles_N3)
    o_THV = q.new_empty(T, H, V, dtype=dtype)
    rest_THV = None if gate is None or q.dtype == torch.float32 else torch.empty_like(o_THV)
    lse_HT = q.new_empty(H, T, dtype=torch.float32)
    top_NH = q.new_full((max(N, 1), H), -torch.inf, dtype=torch.float32) if top else None
    if N:
        triton.set_allocator(_scratch)
        forward[(H * N,)](
            q, k, v, tiles_N3, gate, o_THV, rest_THV, lse_HT, top_NH, T, N, H, *_places(q, k, v),
            *([0, 0] if gate is None else _places(gate)), scale * LOG2_E, V, D - V, cut.rows, cut.step, cut.heads,
            gate is not None, cut.stages, PRECISION, passes.causal, **cut.options,
        )  # fmt: skip
    ctx.save_for_backward(q, k, v, gate, o_THV, rest_THV, lse_HT)
    ctx.plan, ctx.scale, ctx.passes = plan, scale, passes
    if top_NH is None:
        return o_THV, None
    row_max_H = top_NH.amax(0).div_(LOG2_E)
    ctx.mark_non_differentiable(row_max_H)
    return o_THV, row_max_H


def attend_backwards(ctx: Any, dy_THV: Tensor) -> tuple[Tensor, Tensor, Tensor, Tensor | None]:
    """Gradients of queries, keys, values and the gate."""
    q, k, v, gate, o_THV, rest_THV, lse_HT = ctx.saved_tensors
    (T, H, D), V = q.shape, v.shape[2]
    dq, dk, dv = (x.new_empty(T, H, x.shape[2]) for x in (q, k, v))
    dgate = None if gate is None else gate.new_empty(T, H, V)
    if not T:
        return dq, dk, dv, dgate
    dy = dy_THV if dy_THV.stride(2) == 1 else dy_THV.contiguous()
    plain = gate is None and dy.dtype == q.dtype and dy.is_contiguous() and dy.data_ptr() % ALIGNMENT == 0
    do_THV, delta_HT = None if plain else q.new_empty(T, H, V), torch.empty_like(lse_HT)
    rows = 32
    output_gradients[(triton.cdiv(T * H, rows),)](
        dy, o_THV, rest_THV, gate, do_THV, dgate, delta_HT, T, H, *_places(dy),
        *([0, 0] if gate is None else _places(gate)), V, rows, gate is not None, num_warps=4,
    )  # fmt: skip
    numbers = H, *_places(q, k, v), ctx.scale * LOG2_E, ctx.scale, V, D - V
    passes = ctx.passes
    triton.set_allocator(_scratch)  # of this thread: autograd has its own
    for kernel, cut, outputs in ((query_gradients, passes.queries, (dq,)), (key_gradients, passes.keys, (dk, dv))):
        both = ctx.plan.tiles(q.device, cut.rows)
        tiles_N3 = both.by_queries_N3 if kernel is query_gradients else both.by_keys_N3
        N = len(tiles_N3)
        kernel[(H * N,)](
            q, k, v, tiles_N3, dy if do_THV is None else do_THV, lse_HT, delta_HT, *outputs, T, N, *numbers, cut.rows,
            cut.step, cut.heads, cut.stages, PRECISION, passes.causal, **cut.options,
        )  # fmt: skip
    return dq, dk, dv, dgate


class TritonAttention(torch.autograd.Function):
    """Forward returns (o_THV in fp32, the largest scaled score of each head [H])."""

    @staticmethod
    def forward(
        ctx: Any, q_THD: Tensor, k_THD: Tensor, v_THV: Tensor, plan: BlockPlan, scale: float
    ) -> tuple[Tensor, Tensor]:
        return attend(ctx, q_THD, k_THD, v_THV, None, plan, scale, _mla(), torch.float32, True)

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, do_THV: Tensor, _dmax: Tensor) -> tuple[Tensor | None, ...]:
        return *attend_backwards(ctx, do_THV)[:3], None, None


class GatedTritonAttention(torch.autograd.Function):
    """Forward returns (y_THV = o · σ(gate) in the operands' dtype, the largest scaled score of each head [H])."""

    @staticmethod
    def forward(
        ctx: Any, q_THD: Tensor, k_THD: Tensor, v_THV: Tensor, gate_THV: Tensor, plan: BlockPlan, scale: float
    ) -> tuple[Tensor, Tensor]:
        return attend(ctx, q_THD, k_THD, v_THV, gate_THV, plan, scale, _mla(), q_THD.dtype, True)

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, dy_THV: Tensor, _dmax: Tensor) -> tuple[Tensor | None, ...]:
        return *attend_backwards(ctx, dy_THV), None, None
