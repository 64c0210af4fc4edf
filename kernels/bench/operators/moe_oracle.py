"""The experts' definition in fp64 on a sample: all experts' weights in fp64 are larger than a GPU.

Outputs and gradients of some tokens need every expert of those tokens, the weights' gradients of some experts all of
their tokens; so one expert after another takes the rows that either asks for, and autograd derives the rest.
T tokens, E experts, K experts a token, L latent width, F expert hidden width, S sampled, R rows of one expert.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor
from torch.nn import functional

from trivium.kernels.bench.case import Expected
from trivium.kernels.bench.operators.routed import ExpertsShape
from trivium.kernels.moe import Activation, situ_glu_reference

__all__ = ["SampledExperts"]

WEIGHTS = ("w1", "w3", "w2")


def _spread(count: int, few: int, device: torch.device) -> Tensor:
    """At most `few` of `count` places, evenly spread from the first to the last."""
    return torch.linspace(0, count - 1, min(few, count), dtype=torch.float64, device=device).round().long()


def _expert(z_RL: Tensor, p_R: Tensor, w1_FL: Tensor, w3_FL: Tensor, w2_LF: Tensor, activation: Activation) -> Tensor:
    """p · w2 glu(w1 z, w3 z)."""
    g_RF, u_RF = z_RL @ w1_FL.T, z_RL @ w3_FL.T
    value_RF = situ_glu_reference(g_RF, u_RF) if activation == "situ" else functional.silu(g_RF) * u_RF
    return p_R[:, None] * (value_RF @ w2_LF.T)


@dataclass(frozen=True, kw_only=True)
class SampledExperts:
    """How many tokens and experts are compared; everything else must only be finite."""

    tokens: int = 256
    experts: int = 16

    def expect(self, shape: ExpertsShape, operands: Sequence[Tensor], weights: Sequence[Tensor]) -> Expected:
        z_TL, indices_TK, probs_TK, *matrices = operands
        (weight_TL,) = weights
        u_TL, dz_TL = (torch.zeros_like(z_TL, dtype=torch.float64) for _ in range(2))
        dp_TK = torch.zeros_like(probs_TK, dtype=torch.float64)
        sampled_T = torch.zeros(shape.tokens, dtype=torch.bool, device=z_TL.device)
        sampled_T[_spread(shape.tokens, self.tokens, z_TL.device)] = True
        chosen = _spread(shape.experts, self.experts, z_TL.device).tolist()
        dw = [x.new_zeros(len(chosen), *x.shape[1:], dtype=torch.float64) for x in matrices]
        for e in range(shape.experts):
            token_R, place_R = (indices_TK == e).nonzero(as_tuple=True)
            if e not in chosen:
                kept_R = sampled_T[token_R]
                token_R, place_R = token_R[kept_R], place_R[kept_R]
            if not len(token_R):
                continue
            leaves = [x.double().requires_grad_() for x in (z_TL[token_R], probs_TK[token_R, place_R])]
            own = [x[e].double().requires_grad_(e in chosen) for x in matrices]
            u_RL = _expert(*leaves, *own, shape.activation)
            wanted = leaves + (own if e in chosen else [])
            dz_RL, dp_R, *dmatrices = torch.autograd.grad(u_RL, wanted, weight_TL[token_R].double())
            u_TL.index_add_(0, token_R, u_RL.detach())
            dz_TL.index_add_(0, token_R, dz_RL)
            dp_TK[token_R, place_R] = dp_R
            for total, gradient in zip(dw, dmatrices, strict=False):
                total[chosen.index(e)] = gradient
        rows = {name: self.part(shape, name, x) for name, x in (("u", u_TL), ("dz", dz_TL), ("dprobs", dp_TK))}
        return rows | {f"d{name}": x for name, x in zip(WEIGHTS, dw, strict=True)}

    def part(self, shape: ExpertsShape, name: str, found: Tensor) -> Tensor:
        of_experts = name.removeprefix("d") in WEIGHTS
        count, few = (shape.experts, self.experts) if of_experts else (shape.tokens, self.tokens)
        return found.index_select(0, _spread(count, few, found.device))
