"""Kimi Delta Attention in the table.

q, k, v, raw gate [T, H, K] and β logits [T, H] in the row's dtype, A [H] and bias [H, K] in fp32; states [D, H, K, K].
"""

from collections.abc import Callable

import torch
from torch import Tensor

from trivium.kernels.bench.case import Call, Contestant, Hard, Layout, Operator, Work
from trivium.kernels.bench.operators.rows import EVEN, LONG, ONE, RAGGED, TINY
from trivium.kernels.bench.peers import fla
from trivium.kernels.kda import ChunkPlan, kda, kda_reference

__all__ = ["GATES", "KDA"]

CHUNK, BOUND = 64, -5.0
# Scale and shift of the raw gate: σ = 1 in every channel (g = −5), σ = 0, both beside each other, as a model starts.
# σ is 0 for a head of small e^A too, else that one head's few numbers are all there is of dA.
GATES = {"bound": (0.0, 60.0), "open": (0.0, -120.0), "mixed": (30.0, 0.0), "initial": (1.5, -4.0)}


def _operands(
    layout: Layout, device: torch.device, dtype: torch.dtype, gate: tuple[float, float] = (1.5, -3.0)
) -> list[Tensor]:
    T, H, K = layout.tokens, layout.heads, layout.width
    q, k, v, z = (torch.randn(T, H, K, device=device) for _ in range(4))
    rows = [q, k, v, z * gate[0] + gate[1], torch.randn(T, H, device=device)]
    parameters = [torch.randn(H, device=device), torch.randn(H, K, device=device)]
    return [x.to(dtype) for x in rows] + [x * 0.3 for x in parameters]


def _with_states(gate: tuple[float, float]) -> Callable[[Layout, torch.device, torch.dtype], list[Tensor]]:
    def make(layout: Layout, device: torch.device, dtype: torch.dtype) -> list[Tensor]:
        shape = len(layout.lengths), layout.heads, layout.width, layout.width
        return [*_operands(layout, device, dtype, gate), torch.randn(shape, device=device) * 0.3]

    return make


def _ours(layout: Layout, device: torch.device) -> Call:
    """The operator as a model calls it: Triton on a GPU in bf16, the PyTorch path elsewhere and in fp64."""
    cu = layout.cu_seqlens()
    plan = ChunkPlan.build(cu, layout.tokens, device)

    def call(*x: Tensor) -> tuple[Tensor, ...]:
        initial = x[7] if len(x) == 8 else None
        options = {"initial_state": initial, "return_state": initial is not None, "lower_bound": BOUND, "plan": plan}
        found = kda(*x[:7], cu, **options)
        return found if isinstance(found, tuple) else (found,)

    return call


def _definition(layout: Layout, device: torch.device) -> Call:
    """One token after another."""
    cu = layout.cu_seqlens()

    def call(*x: Tensor) -> tuple[Tensor, ...]:
        found = kda_reference(*x[:7], cu, initial_state=x[7] if len(x) == 8 else None, lower_bound=BOUND)
        return found if len(x) == 8 else found[:1]

    return call


def _contestants(device: torch.device) -> list[Contestant]:
    ours = Contestant(name="trivium", bind=_ours)
    if device.type == "cuda":
        return [ours, *fla.contestants(device)]
    return [ours, Contestant(name="definition", bind=_definition, peer=True)]


def _work(layout: Layout) -> tuple[Work, Work]:
    """Forwards q, k, v, gate, o once; backwards the four and do read, four gradients written. β is a 128th.

    Products of a chunk of C rows, a token and head: three with the state (6 K²), five of C rows (10 C K); backwards
    each has two.
    """
    elements = layout.tokens * layout.heads * layout.width
    forward = Work(5 * 2 * elements, elements * (6 * layout.width + 10 * CHUNK))
    return forward, Work(forward.bytes + 9 * 2 * elements, 3 * forward.flops)


HARD_HEADS = 96  # as the first layouts', so that a peer which tunes by heads tunes once
_STATES = Layout(lengths=(65, 0, 1, 63, 64, 0, 130), heads=HARD_HEADS)
_EDITS = (193, 194, 208, 209, 210, 233, 256, 257, 258, 322)  # in the last document: around tiles and chunks
HARD = (
    *(
        Hard(name=f"gate {name}, ragged, states", layout=_STATES, operands=_with_states(gate), positions=_EDITS)
        for name, gate in GATES.items()
    ),
    *(
        Hard(name=f"T = {T}", layout=Layout(lengths=(T,), heads=HARD_HEADS), operands=_operands)
        for T in (1, 15, 16, 17, 63, 64, 65)
    ),
    Hard(name="empty documents", layout=Layout(lengths=(0, 64, 0, 0, 17, 0), heads=HARD_HEADS), operands=_operands),
)

KDA = Operator(
    name="kda",
    inputs=("q", "k", "v", "gate", "beta", "A", "bias", "initial"),
    outputs=("o", "state"),
    operands=_operands,
    oracle=_ours,  # in fp64; tests hold it to the token recurrence at 1e-12
    exact=_definition,
    contestants=_contestants,
    work=_work,
    layouts=(
        *(Layout(lengths=lengths, heads=96) for lengths in (ONE, RAGGED, EVEN)),
        *(Layout(lengths=lengths, heads=32) for lengths in (ONE, EVEN, LONG)),
    ),
    quick=TINY,
    axes=(1, 1, 1, 1, 1, 0, 0, 1),
    output_axes=(1, 1),
    oracle_heads=8,
    hard=HARD,
    cold=tuple(Layout(lengths=(n, 100, n // 3), heads=HARD_HEADS) for n in (3072, 6144, 777, 9001)),
    tolerances={"dA": 1e-1, "dbias": 6e-2},
)
