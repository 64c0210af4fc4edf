"""The head and its mean loss: hidden [T, D], weight [V, D], targets [T].

Odd: the definition in fp64 is taken in blocks of tokens; of its gradients, rows of some tokens and of some words are
compared, and everything else must be finite.
T tokens, D model width, V vocabulary, N tokens of a block, S sampled.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor
from torch.nn import functional

from trivium.kernels.bench.case import Call, Contestant, Expected, Operator, Work
from trivium.kernels.bench.operators.head_shapes import COLD_HEADS, HEAD, HEAD_LONG, TINY_HEADS, HeadShape
from trivium.kernels.bench.peers import cross_entropy as peers
from trivium.kernels.cross_entropy import linear_cross_entropy, linear_cross_entropy_reference

__all__ = ["CROSS_ENTROPY", "SampledHead"]

MOST_TOKENS = 8192  # of PyTorch's own loss, which holds all logits: 16 GB there
ORACLE_NUMBERS = 1 << 27  # logits of a block in fp64: 1 GiB


def _operands(shape: HeadShape, device: torch.device, dtype: torch.dtype) -> list[Tensor]:
    hidden_TD = torch.randn(shape.tokens, shape.width, device=device).to(dtype)
    weight_VD = torch.randn(shape.vocabulary, shape.width, device=device, dtype=dtype).mul_(shape.width**-0.5)
    return [hidden_TD, weight_VD, torch.randint(shape.vocabulary, (shape.tokens,), device=device)]


def _ours(shape: HeadShape, device: torch.device) -> Call:
    weights_T = torch.full((shape.tokens,), 1 / shape.tokens, device=device)

    def call(hidden_TD: Tensor, weight_VD: Tensor, targets_T: Tensor) -> tuple[Tensor, ...]:
        return linear_cross_entropy(hidden_TD, weight_VD, targets_T, weights_T, count=shape.tokens)[:1]

    return call


def _definition(shape: HeadShape, device: torch.device) -> Call:
    def call(*operands: Tensor) -> tuple[Tensor, ...]:
        return (linear_cross_entropy_reference(*operands)[0] / shape.tokens,)

    return call


def _torch(shape: HeadShape, device: torch.device) -> Call:
    def call(hidden_TD: Tensor, weight_VD: Tensor, targets_T: Tensor) -> tuple[Tensor, ...]:
        return (functional.cross_entropy(functional.linear(hidden_TD, weight_VD).float(), targets_T),)

    return call


def _contestants(device: torch.device) -> list[Contestant[HeadShape]]:
    ours = Contestant(name="trivium", bind=_ours)
    if device.type != "cuda":
        return [ours, Contestant(name="definition", bind=_definition, peer=True)]
    whole = Contestant(name="PyTorch", bind=_torch, peer=True, takes=lambda shape: shape.tokens <= MOST_TOKENS)
    return [ours, whole, *peers.contestants(device)]


def _work(shape: HeadShape) -> tuple[Work, Work]:
    """One product forwards, two more backwards; bytes: both operands once, and their gradients."""
    bytes_once = 2 * shape.width * (shape.tokens + shape.vocabulary)
    flops = 2 * shape.tokens * shape.width * shape.vocabulary
    return Work(bytes_once, flops), Work(2 * bytes_once, 3 * flops)


def _spread(count: int, few: int, device: torch.device) -> Tensor:
    """At most `few` of `count` places, evenly spread from the first to the last."""
    return torch.linspace(0, count - 1, min(few, count), dtype=torch.float64, device=device).round().long()


@dataclass(frozen=True, kw_only=True)
class SampledHead:
    """How many tokens' and words' gradients are compared; the loss is of all tokens."""

    tokens: int = 256
    words: int = 2048

    def expect(self, shape: HeadShape, operands: Sequence[Tensor], weights: Sequence[Tensor]) -> Expected:
        hidden_TD, weight_VD, targets_T = operands
        scale = weights[0].double() / shape.tokens
        wide_VD = weight_VD.double()
        word_S = _spread(shape.vocabulary, self.words, hidden_TD.device)
        token_S = _spread(shape.tokens, self.tokens, hidden_TD.device)
        total = hidden_TD.new_zeros((), dtype=torch.float64)
        dhidden_SD = wide_VD.new_zeros(len(token_S), shape.width)
        dweight_SD = wide_VD.new_zeros(len(word_S), shape.width)
        rows = max(1, ORACLE_NUMBERS // shape.vocabulary)
        for start in range(0, shape.tokens, rows):
            block = slice(start, min(start + rows, shape.tokens))
            hidden_ND, target_N1 = hidden_TD[block].double(), targets_T[block, None]
            logits_NV = hidden_ND @ wide_VD.T
            lse_N1 = logits_NV.logsumexp(1, keepdim=True)
            total += (lse_N1 - logits_NV.gather(1, target_N1)).sum()
            dlogits_NV = logits_NV.sub_(lse_N1).exp_()
            dlogits_NV.scatter_(1, target_N1, dlogits_NV.gather(1, target_N1) - 1).mul_(scale)
            dweight_SD += dlogits_NV[:, word_S].T @ hidden_ND
            own_S = (token_S >= block.start) & (token_S < block.stop)
            dhidden_SD[own_S] = dlogits_NV[token_S[own_S] - block.start] @ wide_VD
        return {"total": total / shape.tokens, "dhidden": dhidden_SD, "dweight": dweight_SD}

    def part(self, shape: HeadShape, name: str, found: Tensor) -> Tensor:
        if name == "total":
            return found
        count, few = (shape.tokens, self.tokens) if name == "dhidden" else (shape.vocabulary, self.words)
        return found.index_select(0, _spread(count, few, found.device))


CROSS_ENTROPY = Operator(
    name="cross_entropy",
    inputs=("hidden", "weight", "targets"),
    outputs=("total",),
    operands=_operands,
    oracle=_definition,
    sampled=SampledHead(),
    contestants=_contestants,
    work=_work,
    layouts=(HEAD, HEAD_LONG),
    quick=TINY_HEADS,
    cold=COLD_HEADS,
    tolerances={"total": 1e-3},
    counted=True,
)
