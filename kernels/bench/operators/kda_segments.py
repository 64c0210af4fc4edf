"""One long document of few heads, cut into segments and whole: what `segment_plan` wins."""

from dataclasses import replace

import torch

from trivium.kernels.bench.case import Call, Contestant, Layout
from trivium.kernels.bench.operators.kda import BOUND, KDA
from trivium.kernels.bench.operators.rows import LONG, TINY
from trivium.kernels.kda import ChunkPlan, kda

__all__ = ["KDA_SEGMENTS"]


def _whole(layout: Layout, device: torch.device) -> Call:
    cu = layout.cu_seqlens()
    plan = ChunkPlan.build(cu, layout.tokens, device)
    here = torch.empty(0, device=device).device
    plan.segments[layout.heads, layout.width, here] = None  # as if the rule had left every document whole
    return lambda *x: (kda(*x, cu, lower_bound=BOUND, plan=plan),)


def _contestants(device: torch.device) -> list[Contestant]:
    return [KDA.contestants(device)[0], Contestant(name="trivium, whole", bind=_whole, peer=True)]


KDA_SEGMENTS = replace(
    KDA,
    name="kda_segments",
    contestants=_contestants,
    layouts=tuple(Layout(lengths=LONG, heads=heads) for heads in (4, 8, 16)),
    quick=TINY,
    hard=(),
    cold=(),
)
