"""Launches of the AttnRes kernels for Hopper: contiguous bf16 sources of 2048 to 8192 columns, 12 at most.

N sources, T tokens, W model width, P programs.
"""

from dataclasses import dataclass

import torch
from torch import Tensor

from trivium.kernels.attnres.gluon_backward import backward
from trivium.kernels.attnres.gluon_forward import forward

__all__ = ["Ring", "plan", "run_backward", "run_forward"]

SHARED = 216 * 1024  # bytes of a ring; a program may have 227 KB, and sums across warps need some
MOST = 16  # slots: the copies that begin before the first row are unrolled


@dataclass(frozen=True, slots=True)
class Ring:
    """How rows are held: warps, numbers a thread copies at once, slots, programs, most registers a thread; dweight in
    registers or the cache.
    """

    warps: int
    numbers: int
    slots: int
    programs: int
    registers: int | None = None
    keep: bool = False


def plan(width: int, multiprocessors: int, *, gradient: bool) -> Ring:
    """As many slots as shared memory has room for; two programs a multiprocessor forwards, backwards one.

    Forwards a thread copies 16 bytes at once, unless that leaves more than a sixteenth of the columns empty.
    """
    warps, each = (8, 1) if gradient else (4, 2)
    numbers = 8 if not gradient and -width % (256 * warps) <= width // 16 else 4
    piece = 32 * warps * numbers
    slots = min(MOST, SHARED // each // (-(-width // piece) * piece * 2))
    return Ring(warps, numbers, slots, each * multiprocessors, None if gradient else min(255, 1024 // warps))


def _ring(x_TW: Tensor, *, gradient: bool) -> Ring:
    multiprocessors = torch.cuda.get_device_properties(x_TW.device).multi_processor_count
    return plan(x_TW.shape[-1], multiprocessors, gradient=gradient)


def run_forward(
    query_W: Tensor, gamma_W: Tensor, weight_W: Tensor | None, eps: float, norm_eps: float, sources: tuple[Tensor, ...],
    ring: Ring | None = None,
) -> tuple[Tensor, Tensor]:  # fmt: skip
    """(mixture or its norm, logits and rstds [T, 2, N])."""
    W, N = sources[0].shape[-1], len(sources)
    T = sources[0].numel() // W
    y = torch.empty_like(sources[0])
    stats_T2N = sources[0].new_empty(T, 2, N, dtype=torch.float32)
    if T:
        how = ring or _ring(sources[0], gradient=False)
        forward[(min(how.programs, T),)](
            sources, query_W, gamma_W, weight_W, y, stats_T2N, T, eps, norm_eps, NORM=weight_W is not None, N=N, W=W,
            S=how.slots, WARPS=how.warps, V=how.numbers, num_warps=how.warps, maxnreg=how.registers,
        )  # fmt: skip
    return y, stats_T2N


def run_backward(
    query_W: Tensor, gamma_W: Tensor, weight_W: Tensor | None, norm_eps: float, sources: tuple[Tensor, ...],
    stats_T2N: Tensor, dy: Tensor, dsources: tuple[Tensor, ...], add: int = 0, ring: Ring | None = None,
) -> tuple[Tensor, Tensor]:  # fmt: skip
    """Fills `dsources`, adding where its bit of `add` is set; gives (da, dweight), [W] each in fp32."""
    (T, _, N), W = stats_T2N.shape, sources[0].shape[-1]
    how = ring or _ring(dy, gradient=True)
    programs = min(how.programs, T)
    sums_2PW = stats_T2N.new_empty(2, programs, W)
    if T:
        backward[(programs,)](
            sources, query_W, gamma_W, weight_W, dy, stats_T2N, dsources, sums_2PW, T, add, norm_eps,
            NORM=weight_W is not None, ADD=add != 0, N=N, W=W, S=how.slots, WARPS=how.warps, V=how.numbers,
            KEEP=how.keep, num_warps=how.warps,
        )  # fmt: skip
    da_W, dweight_W = sums_2PW.sum(1)
    return da_W, dweight_W
