"""One token of Kimi Delta Attention from a cached state, for decoding.

B sequences, H heads, K key width, V value width.
"""

import torch
from torch import Tensor

from trivium.kernels.kda.reference import kda_gate, l2_norm
from trivium.kernels.packed import accumulation_dtype, expect
from trivium.kernels.precision import without_autocast

__all__ = ["kda_step"]


@without_autocast
def kda_step(
    q_BHK: Tensor,
    k_BHK: Tensor,
    v_BHV: Tensor,
    gate_BHK: Tensor,
    beta_BH: Tensor,
    A_log_H: Tensor,
    dt_bias_HK: Tensor,
    state_BHKV: Tensor,
    *,
    lower_bound: float | None = -5.0,
    scale: float | None = None,
) -> tuple[Tensor, Tensor]:
    """Return (o_BHV in v's dtype, the next state in fp32) for one token of each of B sequences; no in-place change.

    Operands as `kda` takes them; plain PyTorch on any device. Raises ValueError for a state that doesn't fit them.
    """
    sizes = dict(zip("BHKV", (*q_BHK.shape, v_BHV.shape[-1]), strict=True))
    expect(sizes, q_BHK, [("state_BHKV", "BHKV", state_BHKV)])
    dtype = accumulation_dtype(q_BHK, k_BHK, v_BHV)
    scale = q_BHK.shape[-1] ** -0.5 if scale is None else scale
    q_BHK, k_BHK = l2_norm(q_BHK.to(dtype)), l2_norm(k_BHK.to(dtype))
    decay_BHK = kda_gate(gate_BHK.to(dtype), A_log_H.to(dtype), dt_bias_HK.to(dtype), lower_bound).exp()
    S_BHKV = decay_BHK.unsqueeze(-1) * state_BHKV.to(dtype)
    delta_BHV = v_BHV.to(dtype) - torch.einsum("bhkv,bhk->bhv", S_BHKV, k_BHK)
    # Expanded first: of few numbers the last are rounded apart, so a row's bits would depend on how many there are.
    write_BHK = torch.sigmoid(beta_BH.to(dtype).unsqueeze(-1).expand_as(k_BHK)) * k_BHK
    S_BHKV = S_BHKV + write_BHK.unsqueeze(-1) * delta_BHV.unsqueeze(-2)
    o_BHV = scale * torch.einsum("bhkv,bhk->bhv", S_BHKV, q_BHK)
    return o_BHV.to(v_BHV.dtype), S_BHKV
