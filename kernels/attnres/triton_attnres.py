"""Attention Residuals in Triton: shapes, launches and what is kept for the gradient.

Kept are the sources and two numbers a source and token. N sources, T tokens, W model width, P programs.
"""

from dataclasses import dataclass
from typing import Any

import torch
import triton
from torch import Tensor
from torch.autograd.function import once_differentiable

from trivium.kernels.attnres.triton_backward import backward, columns, scalars
from trivium.kernels.attnres.triton_forward import forward

__all__ = ["Launch", "TritonAttnRes", "plan", "run_backward", "run_forward"]

COMPILED = not triton.knobs.runtime.interpret


@dataclass(frozen=True, slots=True)
class Launch:
    """How a kernel cuts its rows: rows a program, columns a piece, warps, registers a thread, programs (backwards).

    `fetch` asks for the next row while it works on one; `second`, backwards, is the second of two passes over memory.
    """

    rows: int
    columns: int
    warps: int
    registers: int | None = None
    programs: int = 528
    fetch: bool = False
    second: "Launch | None" = None


WIDE_FORWARD = Launch(1, 8192, 8, 128)
WIDE_BACKWARD = Launch(1, 512, 8, 128, 264, fetch=True)


def plan(width: int, *, gradient: bool) -> Launch:
    """The launch for a width: whole rows, several of narrow ones."""
    if width > 2048:
        return WIDE_BACKWARD if gradient else WIDE_FORWARD
    columns = triton.next_power_of_2(width)
    return Launch(max(1, 1024 // columns), columns, 4)


def run_forward(
    query_W: Tensor, gamma_W: Tensor, weight_W: Tensor | None, eps: float, norm_eps: float, sources: tuple[Tensor, ...],
    launch: Launch | None = None,
) -> tuple[Tensor, Tensor]:  # fmt: skip
    """(mixture or its norm, logits and rstds [T, 2, N]) of contiguous sources."""
    W, N = sources[0].shape[-1], len(sources)
    T = sources[0].numel() // W
    y = torch.empty_like(sources[0])
    stats_T2N = sources[0].new_empty(T, 2, N, dtype=torch.float32)
    if T:
        how = launch or plan(W, gradient=False)
        forward[(triton.cdiv(T, how.rows),)](
            sources, query_W, gamma_W, weight_W, y, stats_T2N, T, eps, norm_eps, weight_W is not None, N, W,
            how.rows, how.columns, num_warps=how.warps, **_registers(how),
        )  # fmt: skip
    return y, stats_T2N


def run_backward(
    query_W: Tensor, gamma_W: Tensor, weight_W: Tensor | None, norm_eps: float, sources: tuple[Tensor, ...],
    stats_T2N: Tensor, dy: Tensor, dsources: tuple[Tensor, ...], add: int = 0,
    launch: Launch | None = None,
) -> tuple[Tensor, Tensor]:  # fmt: skip
    """Fills `dsources`, adding where its bit of `add` is set; gives (da, dweight), [W] each in fp32."""
    W, N = sources[0].shape[-1], len(sources)
    T = sources[0].numel() // W
    how = launch or plan(W, gradient=True)
    if how.second is not None:
        return _two_passes(query_W, gamma_W, weight_W, norm_eps, sources, stats_T2N, dy, dsources, add, how, how.second)
    tiles = triton.cdiv(T, how.rows)
    programs = min(how.programs, tiles)
    sums_2PW = sources[0].new_empty(2, programs, W, dtype=torch.float32)
    if T:
        backward[(programs,)](
            sources, query_W, gamma_W, weight_W, dy, stats_T2N, dsources, sums_2PW, T,
            triton.cdiv(tiles, programs), add, norm_eps, weight_W is not None, add != 0, how.fetch and COMPILED, N, W,
            how.rows, how.columns, num_warps=how.warps, **_registers(how),
        )  # fmt: skip
    da_W, dweight_W = sums_2PW.sum(1)
    return da_W, dweight_W


def _two_passes(
    query_W: Tensor, gamma_W: Tensor, weight_W: Tensor | None, norm_eps: float, sources: tuple[Tensor, ...],
    stats_T2N: Tensor, dy: Tensor, dsources: tuple[Tensor, ...], add: int, one: Launch, two: Launch,
) -> tuple[Tensor, Tensor]:  # fmt: skip
    T, _, N = stats_T2N.shape
    W, norm = sources[0].shape[-1], weight_W is not None
    tiles = triton.cdiv(T, two.rows)
    programs = min(two.programs, tiles)
    sums_2PW = stats_T2N.new_empty(2, programs, W)
    if T:
        found_TX = stats_T2N.new_empty(T, 2 * N + 3)
        scalars[(triton.cdiv(T, one.rows),)](
            sources, weight_W, dy, stats_T2N, found_TX, T, norm_eps, norm, N, W,
            one.rows, one.columns, num_warps=one.warps, **_registers(one),
        )  # fmt: skip
        columns[(programs, triton.cdiv(W, two.columns))](
            sources, query_W, gamma_W, weight_W, dy, stats_T2N, found_TX, dsources,
            sums_2PW, T, triton.cdiv(tiles, programs), add, norm, add != 0, N, W, two.rows,
            two.columns, num_warps=two.warps, **_registers(two),
        )  # fmt: skip
    da_W, dweight_W = sums_2PW.sum(1)
    return da_W, dweight_W


def _registers(how: Launch) -> dict[str, int]:
    return {} if how.registers is None or not COMPILED else {"maxnreg": how.registers}


class TritonAttnRes(torch.autograd.Function):
    """The mixture (`weight` None) or its RMSNorm times `weight`, in the first source's dtype."""

    @staticmethod
    def forward(
        ctx: Any, query_W: Tensor, gamma_W: Tensor, weight_W: Tensor | None, eps: float, norm_eps: float,
        *sources_TW: Tensor,
    ) -> Tensor:  # fmt: skip
        sources = tuple(source.contiguous() for source in sources_TW)
        y, stats_T2N = run_forward(query_W, gamma_W, weight_W, eps, norm_eps, sources)
        ctx.save_for_backward(query_W, gamma_W, weight_W, stats_T2N, *sources)
        ctx.norm_eps = norm_eps
        return y

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, dy: Tensor) -> tuple[Tensor | None, ...]:
        query_W, gamma_W, weight_W, stats_T2N, *sources = ctx.saved_tensors
        dsources = tuple(torch.empty_like(source) for source in sources)
        da_W, dweight_W = run_backward(
            query_W, gamma_W, weight_W, ctx.norm_eps, tuple(sources), stats_T2N, dy.contiguous(), dsources
        )
        dquery_W, dgamma_W = (da_W * gamma_W).to(query_W.dtype), (da_W * query_W).to(gamma_W.dtype)
        dweight_W = None if weight_W is None else dweight_W.to(weight_W.dtype)
        return dquery_W, dgamma_W, dweight_W, None, None, *dsources
