"""The definition of Kimi Delta Attention: one token after another, in fp32 or fp64.

D documents, T tokens in the row, H heads, K key width, V value width.
"""

import torch
import torch.nn.functional as F
from torch import Tensor

from trivium.kernels.packed import accumulation_dtype, offsets

__all__ = ["L2_EPS", "kda_gate", "kda_reference", "l2_norm"]

L2_EPS = 1e-6  # flash-linear-attention, fla/modules/l2norm.py


def l2_norm(x: Tensor) -> Tensor:
    """x / √(Σx² + 1e-6) over the last dimension."""
    return x * torch.rsqrt(x.square().sum(-1, keepdim=True) + L2_EPS)


def kda_gate(gate_THK: Tensor, A_log_H: Tensor, dt_bias_HK: Tensor, lower_bound: float | None) -> Tensor:
    """Log decay g of each channel, ≤ 0.

    `lower_bound` g_min: g = g_min · σ(e^A · (z + bias)) (K3 report, equation 5). None: Kimi Linear's older gate
    without a bound, g = −e^A · softplus(z + bias) (arXiv 2510.26692).
    """
    z_THK = gate_THK + dt_bias_HK
    A_H1 = A_log_H.exp().unsqueeze(-1)
    if lower_bound is None:
        return -A_H1 * F.softplus(z_THK)
    return lower_bound * torch.sigmoid(A_H1 * z_THK)


def kda_reference(
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
    lower_bound: float | None = -5.0,
    scale: float | None = None,
) -> tuple[Tensor, Tensor]:
    """Return (o_THV, final states [D, H, K, V]) by the token recurrence (K3 report, equations 1, 2, 5).

    S ← Diag(e^g) S, then S ← S + β k (v − Sᵀk)ᵀ, then o = scale · Sᵀq; the state begins anew at each document.
    """
    T, H, K = q_THK.shape
    V = v_THV.shape[-1]
    borders = offsets(cu_seqlens, T)
    dtype = accumulation_dtype(q_THK, k_THK, v_THV)
    scale = K**-0.5 if scale is None else scale
    q_THK, k_THK, v_THV = l2_norm(q_THK.to(dtype)), l2_norm(k_THK.to(dtype)), v_THV.to(dtype)
    decay_THK = kda_gate(gate_THK.to(dtype), A_log_H.to(dtype), dt_bias_HK.to(dtype), lower_bound).exp()
    beta_TH = torch.sigmoid(beta_TH.to(dtype))
    outputs, finals = [], []
    for document in range(len(borders) - 1):
        if initial_state is None:
            S_HKV = q_THK.new_zeros(H, K, V)
        else:
            S_HKV = initial_state[document].to(dtype)
        for t in range(borders[document], borders[document + 1]):
            S_HKV = decay_THK[t].unsqueeze(-1) * S_HKV
            delta_HV = v_THV[t] - torch.einsum("hkv,hk->hv", S_HKV, k_THK[t])
            S_HKV = S_HKV + torch.einsum("h,hk,hv->hkv", beta_TH[t], k_THK[t], delta_HV)
            outputs.append(scale * torch.einsum("hkv,hk->hv", S_HKV, q_THK[t]))
        finals.append(S_HKV)
    o_THV = torch.stack(outputs) if outputs else v_THV * 1.0
    return o_THV, torch.stack(finals) if finals else q_THK.new_zeros(0, H, K, V)
