"""Attention Residuals in Triton: shapes, launches and what is kept for the gradient.

Wide rows of bf16 take Hopper's kernels (`gluon_launch`) where they can; all else takes those of any GPU. Kept are the
sources and two numbers a source and token. N sources, T tokens, W model width, P programs.
"""

import functools
from dataclasses import dataclass
from types import ModuleType
from typing import Any

import torch
import triton
from torch import Tensor
from torch.autograd.function import once_differentiable

from trivium.kernels.ahead import rehearse
from trivium.kernels.attnres.shared import buffers, owners
from trivium.kernels.attnres.triton_backward import backward, columns, scalars
from trivium.kernels.attnres.triton_forward import forward
from trivium.kernels.dispatch import takes_gluon

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


def _ringed(sources: tuple[Tensor, ...], others: tuple[Tensor, ...] = ()) -> ModuleType | None:
    """Hopper's launches, where these tensors fit them."""
    width = sources[0].shape[-1]
    if not (2048 <= width <= 8192 and width % 8 == 0 and len(sources) <= 12):
        return None
    tensors = (*sources, *others)
    if not all(x.dtype == torch.bfloat16 and x.is_contiguous() and x.data_ptr() % 16 == 0 for x in tensors):
        return None
    if not takes_gluon(sources[0].device):
        return None
    from trivium.kernels.attnres import gluon_launch

    return gluon_launch


def run_forward(
    query_W: Tensor, gamma_W: Tensor, weight_W: Tensor | None, eps: float, norm_eps: float, sources: tuple[Tensor, ...],
    launch: Launch | None = None,
) -> tuple[Tensor, Tensor]:  # fmt: skip
    """(mixture or its norm, logits and rstds [T, 2, N]) of contiguous sources; a `launch` is for any GPU's kernel."""
    if launch is None and (hopper := _ringed(sources)) is not None:
        return hopper.run_forward(query_W, gamma_W, weight_W, eps, norm_eps, sources)
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
    if launch is None and (hopper := _ringed(sources, (dy, *dsources))) is not None:
        return hopper.run_backward(query_W, gamma_W, weight_W, norm_eps, sources, stats_T2N, dy, dsources, add)
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
        ctx.owners = owners(sources_TW)
        sources = tuple(source.contiguous() for source in sources_TW)
        y, stats_T2N = run_forward(query_W, gamma_W, weight_W, eps, norm_eps, sources)
        ctx.save_for_backward(query_W, gamma_W, weight_W, stats_T2N, *sources)
        ctx.norm_eps = norm_eps
        if y.is_cuda and any(ctx.needs_input_grad):
            about = y.shape[-1], weight_W is not None, query_W.dtype, gamma_W.dtype, *(x.dtype for x in sources)
            rehearse(("attnres", y.device, *about), y.device, functools.partial(_both_ways, y.device, *about))
        return y

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, dy: Tensor) -> tuple[Tensor | None, ...]:
        query_W, gamma_W, weight_W, stats_T2N, *sources = ctx.saved_tensors
        dsources, add, returned = buffers(ctx.owners, sources)
        da_W, dweight_W = run_backward(
            query_W, gamma_W, weight_W, ctx.norm_eps, tuple(sources), stats_T2N, dy.contiguous(), dsources, add
        )
        dquery_W, dgamma_W = (da_W * gamma_W).to(query_W.dtype), (da_W * query_W).to(gamma_W.dtype)
        dweight_W = None if weight_W is None else dweight_W.to(weight_W.dtype)
        return dquery_W, dgamma_W, dweight_W, None, None, *returned


def _both_ways(
    device: torch.device, width: int, norm: bool, query: torch.dtype, gamma: torch.dtype, *sources: torch.dtype
) -> None:
    """A few rows, forwards and backwards: the kernels of any number of them."""
    rows = tuple(torch.zeros(16, width, device=device, dtype=dtype) for dtype in sources)
    query_W, gamma_W = (torch.zeros(width, device=device, dtype=dtype) for dtype in (query, gamma))
    weight_W = gamma_W if norm else None
    y, stats_T2N = run_forward(query_W, gamma_W, weight_W, 1e-5, 1e-5, rows)
    run_backward(query_W, gamma_W, weight_W, 1e-5, rows, stats_T2N, y, tuple(torch.empty_like(x) for x in rows))
