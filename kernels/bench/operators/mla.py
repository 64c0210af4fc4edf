"""The core of gated MLA in the table: packed causal attention, fp32 output, each head's largest logit.

q, k [T, H, 192] and v [T, H, 128] in the row's dtype. The largest logit has no gradient; its error is absolute.
T tokens, H heads, D query and key width, V value width.
"""

import torch
from torch import Tensor

from trivium.kernels.bench.case import Call, Contestant, Hard, Layout, Measure, Operator, Work
from trivium.kernels.bench.operators.rows import ONE
from trivium.kernels.bench.peers import attention
from trivium.kernels.mla import BlockPlan, mla, mla_reference

__all__ = ["DOCUMENTS", "EXTRA", "MLA"]

EXTRA = 64  # what a query and key row is wider than a value row, whose width is the layout's
DOCUMENTS = (2000, 2000, 2000, 2000, 192)
HEADS, HARD_HEADS = 96, 8
HUGE = 40.0  # both sides of the logits times this: some thousands, far beyond what exp takes
LOGIT = 1e-3  # a largest logit may be off by this share: the oracle has the same rounded operands, sums differ


def _operands(layout: Layout, device: torch.device, dtype: torch.dtype, size: float = 1.0) -> list[Tensor]:
    T, H, V = layout.tokens, layout.heads, layout.width
    q, k = (torch.randn(T, H, V + EXTRA, device=device) * size for _ in range(2))
    return [x.to(dtype) for x in (q, k, torch.randn(T, H, V, device=device))]


def _huge(layout: Layout, device: torch.device, dtype: torch.dtype) -> list[Tensor]:
    return _operands(layout, device, dtype, HUGE)


def _ours(layout: Layout, device: torch.device) -> Call:
    cu = layout.cu_seqlens()
    plan = BlockPlan.build(cu, layout.tokens, device)
    return lambda *x: mla(*x, cu, plan=plan)


def _definition(layout: Layout, device: torch.device) -> Call:
    """Dense softmax, document by document."""
    cu = layout.cu_seqlens()
    return lambda *x: mla_reference(*x, cu)


def _contestants(device: torch.device) -> list[Contestant[Layout]]:
    ours = Contestant(name="trivium", bind=_ours)
    if device.type == "cuda":
        return [ours, *attention.contestants(device)]
    return [ours, Contestant(name="definition", bind=_definition, peer=True)]


def _work(layout: Layout) -> tuple[Work, Work]:
    """Pairs of a query and a key that it sees: D + V products forwards, 3 D + 2 V more backwards (scores once more).

    Bytes: q, k, v and fp32 o; backwards q, k, v, o and do read, three gradients written.
    """
    D, V, rows = layout.width + EXTRA, layout.width, layout.tokens * layout.heads
    pairs = layout.heads * sum(length * (length + 1) // 2 for length in layout.lengths)
    operands = 2 * rows * (2 * D + V)
    forward = Work(operands + 4 * rows * V, 2 * pairs * (D + V))
    return forward, Work(forward.bytes + 2 * operands + 8 * rows * V, forward.flops + 2 * pairs * (3 * D + 2 * V))


def off(found: Tensor, expected: Tensor) -> float:
    """The largest distance of a head's largest logit, in shares of 1 or of the logit where that is more."""
    return float(((found.double() - expected).abs() / expected.abs().clamp(min=1)).max())


HARD = (
    *(
        Hard(name=f"T = {T}", layout=Layout(lengths=(T,), heads=HARD_HEADS), operands=_operands)
        for T in (1, 15, 16, 17, 63, 64, 65)
    ),
    Hard(
        name="ragged", layout=Layout(lengths=(65, 1, 127, 128, 129, 300), heads=HARD_HEADS), operands=_operands,
        positions=(1, 64, 65, 193, 449, 450, 451, 577, 578, 749),
    ),
    Hard(name="empty documents", layout=Layout(lengths=(0, 64, 0, 0, 17, 0), heads=HARD_HEADS), operands=_operands),
    Hard(name="huge logits", layout=Layout(lengths=(65, 200), heads=HARD_HEADS), operands=_huge),
)  # fmt: skip

MLA = Operator(
    name="mla",
    inputs=("q", "k", "v"),
    outputs=("o", "row_max"),
    operands=_operands,
    oracle=_definition,
    contestants=_contestants,
    work=_work,
    layouts=(Layout(lengths=ONE, heads=HEADS), Layout(lengths=DOCUMENTS, heads=HEADS)),
    quick=(Layout(lengths=(65, 0, 1, 30), heads=2, width=64),),
    axes=(1, 1, 1),
    output_axes=(1, 0),
    oracle_heads=2,
    hard=HARD,
    cold=tuple(Layout(lengths=(n, 100, n // 3), heads=HARD_HEADS) for n in (3072, 6144, 777, 9001)),
    measures={"row_max": Measure(off, LOGIT)},
)
