"""RMSNorm in the table: plain over the whole width of a row, and gated head by head."""

import torch
from torch import Tensor

from trivium.kernels.bench.case import Call, Contestant, Layout, Operator, Work
from trivium.kernels.bench.operators.rows import RAGGED, TINY
from trivium.kernels.gated_norm import gated_norm, gated_norm_reference, rms_norm, rms_norm_reference

__all__ = ["GATED_NORM", "RMS_NORM"]


def _plain(layout: Layout, device: torch.device, dtype: torch.dtype) -> list[Tensor]:
    width = layout.heads * layout.width
    return [torch.randn(layout.tokens, width, device=device).to(dtype), torch.randn(width, device=device)]


def _gated(layout: Layout, device: torch.device, dtype: torch.dtype) -> list[Tensor]:
    shape = layout.tokens, layout.heads, layout.width
    x, gate = (torch.randn(shape, device=device).to(dtype) for _ in range(2))
    return [x, gate, torch.randn(layout.width, device=device)]


def _contestants(device: torch.device, ours: Call, reference: Call) -> list[Contestant]:
    found = [Contestant(name="trivium", bind=lambda layout, device: ours)]
    if device.type != "cuda":
        found.append(Contestant(name="definition", bind=lambda layout, device: reference, peer=True))
    return found


def _work(layout: Layout, forward: int, backward: int) -> tuple[Work, Work]:
    """`forward` and `backward` bf16 tensors of a row, each read or written once."""
    elements = layout.tokens * layout.heads * layout.width
    return Work(2 * forward * elements, 4 * elements), Work(2 * (forward + backward) * elements, 12 * elements)


def _plain_call(x: Tensor, weight: Tensor) -> tuple[Tensor, ...]:
    return (rms_norm(x, weight),)


def _plain_reference(x: Tensor, weight: Tensor) -> tuple[Tensor, ...]:
    return (rms_norm_reference(x, weight),)


def _gated_call(x: Tensor, gate: Tensor, weight: Tensor) -> tuple[Tensor, ...]:
    return (gated_norm(x, gate, weight),)


def _gated_reference(x: Tensor, gate: Tensor, weight: Tensor) -> tuple[Tensor, ...]:
    return (gated_norm_reference(x, gate, weight),)


COLD = tuple(Layout(lengths=(n,), heads=8) for n in (1024, 2048, 777, 5003))

RMS_NORM = Operator(
    name="rms_norm",
    inputs=("x", "weight"),
    outputs=("y",),
    operands=_plain,
    oracle=lambda layout, device: _plain_reference,
    contestants=lambda device: _contestants(device, _plain_call, _plain_reference),
    work=lambda layout: _work(layout, 2, 3),
    layouts=(Layout(lengths=RAGGED, heads=96),),
    quick=TINY,
    cold=COLD,
)

GATED_NORM = Operator(
    name="gated_norm",
    inputs=("x", "gate", "weight"),
    outputs=("y",),
    operands=_gated,
    oracle=lambda layout, device: _gated_reference,
    contestants=lambda device: _contestants(device, _gated_call, _gated_reference),
    work=lambda layout: _work(layout, 3, 5),
    layouts=(Layout(lengths=RAGGED, heads=96),),
    quick=TINY,
    cold=COLD,
)
