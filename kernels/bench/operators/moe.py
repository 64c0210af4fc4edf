"""The routed experts in the table, with weights in the row's dtype and, apart, with fp32 masters.

z [T, L], indices and probabilities [T, K] as a router of random weights gives them (its experts are as uneven as they
fall), w1 and w3 [E, F, L], w2 [E, L, F]. T tokens, E experts, K experts a token, L width, F expert hidden width.
"""

from collections.abc import Sequence
from dataclasses import replace

import torch
from torch import Tensor

from trivium.kernels.bench.case import Call, Contestant, Operator, Work
from trivium.kernels.bench.operators.moe_oracle import SampledExperts
from trivium.kernels.bench.operators.routed import LATENT, LATENT_FEWER, PLAIN, TINY_EXPERTS, ExpertsShape
from trivium.kernels.bench.peers import liger
from trivium.kernels.bench.report import Waste
from trivium.kernels.moe import experts, experts_reference, route
from trivium.kernels.moe.few_experts import UNIT
from trivium.kernels.moe.torch_moe import TILE

__all__ = ["MOE", "MOE_FP32_WEIGHTS", "ROWS_A_TILE", "tile_waste"]

# Rows of pairs in one tile of the experts' products, by the path that ran.
ROWS_A_TILE = {"FewExpertsBackward": UNIT, "GroupedExpertsBackward": 128}


def _operands(
    shape: ExpertsShape, device: torch.device, dtype: torch.dtype, weights: torch.dtype | None = None
) -> list[Tensor]:
    E, L, F = shape.experts, shape.width, shape.hidden
    z_TL = torch.randn(shape.tokens, L, device=device).to(dtype)
    logits_TE = z_TL.float() @ torch.randn(L, E, device=device) * L**-0.5
    indices_TK, probs_TK, _ = route(logits_TE, torch.zeros(E, device=device), shape.experts_per_token)
    sizes = ((E, F, L), (E, F, L), (E, L, F))
    made = [torch.randn(size, device=device, dtype=weights or dtype).mul_(size[-1] ** -0.5) for size in sizes]
    return [z_TL, indices_TK, probs_TK, *made]


def _with_fp32_weights(shape: ExpertsShape, device: torch.device, dtype: torch.dtype) -> list[Tensor]:
    return _operands(shape, device, dtype, torch.float32)


def _ours(shape: ExpertsShape, device: torch.device) -> Call:
    return lambda *x: (experts(*x, activation=shape.activation),)


def _definition(shape: ExpertsShape, device: torch.device) -> Call:
    return lambda *x: (experts_reference(*x, activation=shape.activation),)


def _contestants(device: torch.device) -> list[Contestant[ExpertsShape]]:
    ours = Contestant(name="trivium", bind=_ours)
    if device.type == "cuda":
        return [ours, *liger.contestants(device)]
    return [ours, Contestant(name="definition", bind=_definition, peer=True)]


def _work(shape: ExpertsShape, row_bytes: int = 2, weight_bytes: int = 2) -> tuple[Work, Work]:
    """Three matrices of L F a pair, each once forwards and twice backwards.

    Bytes: forwards z, u and all weights once; backwards z, du, dz and weights again, gradients of these written.
    """
    pairs = shape.tokens * shape.experts_per_token
    matrices = 3 * shape.width * shape.hidden
    rows, weights = row_bytes * shape.tokens * shape.width, weight_bytes * shape.experts * matrices
    forward = Work(2 * rows + weights, 2 * pairs * matrices)
    return forward, Work(forward.bytes + 3 * rows + 2 * weights, 3 * forward.flops)


def tile_waste(load_E: Tensor, rows_a_tile: int) -> float:
    """Share of the tiles' rows that hold no pair, when each expert's pairs begin a tile of their own."""
    tiles_E = (load_E + rows_a_tile - 1) // rows_a_tile
    return 1 - float(load_E.sum()) / max(1, int(tiles_E.sum()) * rows_a_tile)


def _waste(shape: ExpertsShape, operands: Sequence[Tensor], outputs: Sequence[Tensor]) -> Waste:
    """Counts of the indices; the buffers are the largest of rows that autograd keeps for the backward."""
    load_E = torch.bincount(operands[1].flatten(), minlength=shape.experts)
    pairs = operands[1].numel()
    kept = getattr(outputs[0].grad_fn, "saved_tensors", ())
    rows = max((len(x) for x in kept if x is not None and x.dim() == 2), default=0)
    rows_a_tile = ROWS_A_TILE.get(type(outputs[0].grad_fn).__name__, TILE)
    return Waste(
        buffer=rows / pairs - 1 if rows >= pairs else None,
        tiles=tile_waste(load_E, rows_a_tile),
        rows_a_tile=rows_a_tile,
        fullest=float(load_E.max()) * shape.experts / pairs,
    )


MOE = Operator(
    name="moe",
    inputs=("z", "indices", "probs", "w1", "w3", "w2"),
    outputs=("u",),
    operands=_operands,
    oracle=_definition,
    sampled=SampledExperts(),
    contestants=_contestants,
    work=_work,
    layouts=(PLAIN, LATENT, LATENT_FEWER),
    quick=TINY_EXPERTS,
    counted=True,
    waste=_waste,
)

# What a training step has: masters in fp32, so their gradients too; rows in bf16 on a GPU.
MOE_FP32_WEIGHTS = replace(
    MOE,
    name="moe_fp32_weights",
    operands=_with_fp32_weights,
    contestants=lambda device: [c for c in _contestants(device) if c.package is None],
    work=lambda shape: _work(shape, weight_bytes=4),
)
