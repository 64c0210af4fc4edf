"""The router with Quantile Balancing's counts in the table: logits [T, E] and bias [E] in fp32.

Odd: a choice between two nearly equal scores may fall either way, and all of that token's results with it. So errors
are the share of tokens whose result is another one, within rounding, and of counts the share that stands elsewhere.
T tokens, E experts, K experts a token.
"""

import torch
from torch import Tensor

from trivium.kernels.bench.case import Call, Contestant, Measure, Operator, Work
from trivium.kernels.bench.operators.routed import ROUTERS, TINY_ROUTERS, RouterShape
from trivium.kernels.moe import count, route_counted, route_reference
from trivium.kernels.moe.torch_route import by_torch
from trivium.kernels.quantile import BINS

__all__ = ["ROUTE", "choices_apart", "counts_apart", "tokens_apart"]

UNLIKE = 1e-3  # of the tokens or counts: fp32 sums tip a few over
ROUNDING = 1e-4  # of a token's values, beyond which they are others


def _operands(shape: RouterShape, device: torch.device, dtype: torch.dtype) -> list[Tensor]:
    """Routers are fp32 whatever the row is; the bias is one that balancing has moved."""
    return [torch.randn(shape.tokens, shape.experts, device=device), 0.1 * torch.randn(shape.experts, device=device)]


def _ours(shape: RouterShape, device: torch.device) -> Call:
    return lambda logits, bias: route_counted(logits, bias, shape.experts_per_token, BINS)


def _definition(shape: RouterShape, device: torch.device) -> Call:
    def call(logits_TE: Tensor, bias_E: Tensor) -> tuple[Tensor, ...]:
        indices_TK, probs_TK, cutoff_T = route_reference(logits_TE, bias_E, shape.experts_per_token)
        counts_EX = count(torch.sigmoid(logits_TE.detach()), indices_TK, cutoff_T.detach(), bias_E, BINS, None)
        return indices_TK, probs_TK, cutoff_T.detach(), counts_EX

    return call


def _plain(shape: RouterShape, device: torch.device, *, compiled: bool = False) -> Call:
    """Our PyTorch path by autograd, as it stands or compiled."""
    path = torch.compile(by_torch) if compiled else by_torch

    def call(logits_TE: Tensor, bias_E: Tensor) -> tuple[Tensor, ...]:
        indices_TK, probs_TK, _, cutoff_T, counts_EX = path(logits_TE, bias_E, shape.experts_per_token, BINS, None)
        return indices_TK, probs_TK, cutoff_T.detach(), counts_EX

    return call


def _compiled(shape: RouterShape, device: torch.device) -> Call:
    return _plain(shape, device, compiled=True)


def _contestants(device: torch.device) -> list[Contestant[RouterShape]]:
    ours = Contestant(name="trivium", bind=_ours)
    if device.type != "cuda":
        return [ours, Contestant(name="definition", bind=_definition, peer=True)]
    plain = Contestant(name="PyTorch", bind=_plain, peer=True)
    return [ours, plain, Contestant(name="PyTorch compiled", bind=_compiled, peer=True)]


def _work(shape: RouterShape) -> tuple[Work, Work]:
    """The logits are read once and, backwards, their gradient is written once; nothing of size [T, E] is multiplied."""
    logits = 4 * shape.tokens * shape.experts
    return Work(logits, 0), Work(2 * logits, 0)


def choices_apart(found_TK: Tensor, expected_TK: Tensor) -> float:
    """Share of tokens that do not choose the same experts, in whatever order."""
    return float((found_TK.sort(1).values != expected_TK.sort(1).values).any(1).double().mean())


def tokens_apart(found: Tensor, expected: Tensor) -> float:
    """Share of tokens whose values, in whatever order, differ by more than rounding."""
    found, expected = (x.double().view(len(x), -1).sort(1).values for x in (found, expected))
    apart_T = (found - expected).norm(dim=1) > ROUNDING * expected.norm(dim=1)
    return float(apart_T.double().mean())


def counts_apart(found_EX: Tensor, expected_EX: Tensor) -> float:
    """Share of counts in another place: of the loads or of the histogram, the larger."""
    pairs = ((found_EX[:, part], expected_EX[:, part]) for part in (slice(1), slice(1, None)))
    return max(float((a - b).abs().sum()) / (2 * float(b.sum())) for a, b in pairs)


ROUTE = Operator(
    name="route",
    inputs=("logits", "bias"),
    outputs=("indices", "probs", "cutoff", "counts"),
    operands=_operands,
    oracle=_definition,
    contestants=_contestants,
    work=_work,
    layouts=ROUTERS,
    quick=TINY_ROUTERS,
    measures={
        "indices": Measure(choices_apart, UNLIKE),
        "probs": Measure(tokens_apart, UNLIKE),
        "cutoff": Measure(tokens_apart, UNLIKE),
        "counts": Measure(counts_apart, UNLIKE),
        "dlogits": Measure(tokens_apart, UNLIKE),
    },
    counted=True,
)
