"""The short convolution in the table: x [T, H·K], weight [H·K, 4]. No peer of the same semantics is installed."""

import torch
from torch import Tensor

from trivium.kernels.bench.case import Call, Contestant, Layout, Operator, Work
from trivium.kernels.bench.operators.rows import RAGGED, TINY
from trivium.kernels.short_conv import TapPlan, short_conv, short_conv_reference

__all__ = ["SHORT_CONV"]


def _operands(layout: Layout, device: torch.device, dtype: torch.dtype) -> list[Tensor]:
    channels = layout.heads * layout.width
    x = torch.randn(layout.tokens, channels, device=device).to(dtype)
    return [x, torch.randn(channels, 4, device=device) * 0.3]


def _ours(layout: Layout, device: torch.device) -> Call:
    cu = layout.cu_seqlens()
    plan = TapPlan.build(cu, layout.tokens, device)
    return lambda x, w: (short_conv(x, w, cu, plan=plan),)


def _definition(layout: Layout, device: torch.device) -> Call:
    cu = layout.cu_seqlens()
    return lambda x, w: (short_conv_reference(x, w, cu)[0],)


def _contestants(device: torch.device) -> list[Contestant]:
    ours = Contestant(name="trivium", bind=_ours)
    return [ours] if device.type == "cuda" else [ours, Contestant(name="definition", bind=_definition, peer=True)]


def _work(layout: Layout) -> tuple[Work, Work]:
    """Forwards x and y; backwards x, dy and dx."""
    elements = layout.tokens * layout.heads * layout.width
    forward = Work(4 * elements, 8 * elements)
    return forward, Work(forward.bytes + 6 * elements, 3 * forward.flops)


SHORT_CONV = Operator(
    name="short_conv",
    inputs=("x", "weight"),
    outputs=("y",),
    operands=_operands,
    oracle=_definition,
    contestants=_contestants,
    work=_work,
    layouts=(Layout(lengths=RAGGED, heads=96),),
    quick=TINY,
    cold=tuple(Layout(lengths=(n, 100, n // 3), heads=8) for n in (1024, 2048, 777, 5003)),
)
