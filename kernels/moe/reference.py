"""The definitions of SiTU-GLU, the router and the routed experts (K3 report, equations 11–13).

T tokens, E experts, K experts a token, L latent width, F expert hidden width.
"""

import torch
from torch import Tensor

from trivium.kernels.packed import accumulation_dtype

__all__ = ["BETA_GATE", "BETA_UP", "experts_reference", "route_reference", "situ_glu_reference"]

BETA_GATE, BETA_UP = 4.0, 25.0  # K3 report, equation 12


def situ_glu_reference(g: Tensor, u: Tensor, beta_gate: float = BETA_GATE, beta_up: float = BETA_UP) -> Tensor:
    """β1 tanh(g/β1) σ(g) · β2 tanh(u/β2), computed in fp32."""
    dtype = accumulation_dtype(g, u)
    g_high, u_high = g.to(dtype), u.to(dtype)
    gate = beta_gate * torch.tanh(g_high / beta_gate) * torch.sigmoid(g_high)
    return (gate * beta_up * torch.tanh(u_high / beta_up)).to(g.dtype)


def swiglu_reference(g: Tensor, u: Tensor) -> Tensor:
    """g σ(g) u, the K2 baseline's."""
    return g * torch.sigmoid(g) * u


def route_reference(logits_TE: Tensor, bias_E: Tensor, k: int) -> tuple[Tensor, Tensor, Tensor]:
    """Return (indices_TK, probs_TK, cutoff_T): top-k of σ(logits) + bias, shares of σ alone, the (k+1)-th value."""
    dtype = accumulation_dtype(logits_TE)
    scores_TE = torch.sigmoid(logits_TE.to(dtype))
    top = (scores_TE + bias_E.to(dtype)).detach().topk(k + 1, dim=-1)
    indices_TK = top.indices[:, :k]
    chosen_TK = scores_TE.gather(1, indices_TK)
    return indices_TK, chosen_TK / chosen_TK.sum(-1, keepdim=True), top.values[:, k]


def experts_reference(
    z_TL: Tensor, indices_TK: Tensor, probs_TK: Tensor, w1_EFL: Tensor, w3_EFL: Tensor, w2_ELF: Tensor,
    *, activation: str = "situ",
) -> Tensor:  # fmt: skip
    """u_t = Σ_j p_j w2_j glu(w1_j z_t, w3_j z_t), one token and one expert after another; glu is SiTU or SwiGLU."""
    glu = situ_glu_reference if activation == "situ" else swiglu_reference
    dtype = accumulation_dtype(z_TL)
    rows = []
    for t in range(z_TL.shape[0]):
        z_L = z_TL[t].to(dtype)
        u_L = torch.zeros_like(z_L)
        for j in range(indices_TK.shape[1]):
            e = int(indices_TK[t, j])
            hidden_F = glu(w1_EFL[e].to(dtype) @ z_L, w3_EFL[e].to(dtype) @ z_L)
            u_L = u_L + probs_TK[t, j].to(dtype) * (w2_ELF[e].to(dtype) @ hidden_F)
        rows.append(u_L)
    return torch.stack(rows).to(z_TL.dtype) if rows else z_TL * 1.0
