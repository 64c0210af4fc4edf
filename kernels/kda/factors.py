"""What the passes along a document need of q, k, gate and β, made chunk by chunk.

T tokens in the row, H heads, N chunks, C rows a chunk, K key width.
"""

from dataclasses import dataclass

from torch import Tensor

__all__ = ["Factors", "Operands"]


@dataclass(frozen=True, slots=True)
class Operands:
    """The inputs of Kimi Delta Attention, contiguous, and its two constants."""

    q_THK: Tensor
    k_THK: Tensor
    v_THV: Tensor
    gate_THK: Tensor
    beta_TH: Tensor
    A_log_H: Tensor
    bias_HK: Tensor
    lower_bound: float
    scale: float


@dataclass(frozen=True, slots=True)
class Factors:
    """With G the decay since the chunk's first row: k e^G, scale q e^G, k e^(G_C − G), scores, the inverse, β, e^G_C.

    Hopper's inverse is (I + β A)^−1 − I, without β: a row's own part of a product with it stays in fp32. The portable
    kernels' is (I + β A)^−1 β, and they keep no β.
    """

    kg_HTK: Tensor
    qg_HTK: Tensor
    kt_HTK: Tensor
    scores_HTC: Tensor
    solve_HTC: Tensor
    beta_HT: Tensor | None  # fp32
    decay_NHK: Tensor

    def all(self) -> tuple[Tensor, ...]:
        """In the kernels' order, without a β that is not kept."""
        products = self.kg_HTK, self.qg_HTK, self.kt_HTK, self.scores_HTC, self.solve_HTC
        return (*products, self.decay_NHK) if self.beta_HT is None else (*products, self.beta_HT, self.decay_NHK)
