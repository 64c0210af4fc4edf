"""Kimi Delta Attention: a gated delta rule whose decay has one value a channel (K3 report, section 2.1).

D documents, T tokens in the row, H heads, K key width, V value width.
"""

from torch import Tensor

from trivium.kernels.kda.reference import kda_gate, kda_reference
from trivium.kernels.kda.step import kda_step

__all__ = ["kda", "kda_gate", "kda_reference", "kda_step"]


def kda(
    q_THK: Tensor,
    k_THK: Tensor,
    v_THV: Tensor,
    gate_THK: Tensor,
    beta_TH: Tensor,
    A_log_H: Tensor,
    dt_bias_HK: Tensor,
    cu_seqlens: Tensor,
    *,
    initial_state: Tensor | None = None,
    return_state: bool = False,
    lower_bound: float | None = -5.0,
    scale: float | None = None,
) -> Tensor | tuple[Tensor, Tensor]:
    """Return o_THV in v's dtype, and with `return_state` the final states [D, H, K, V].

    q, k as they leave the convolution (the L2 norm is inside), `gate_THK` raw z without bias, `beta_TH` logits.
    """
    o_THV, state = kda_reference(
        q_THK, k_THK, v_THV, gate_THK, beta_TH, A_log_H, dt_bias_HK, cu_seqlens,
        initial_state=initial_state, lower_bound=lower_bound, scale=scale,
    )  # fmt: skip
    o_THV = o_THV.to(v_THV.dtype)
    return (o_THV, state) if return_state else o_THV
