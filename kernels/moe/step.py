"""The routed experts for a few tokens, for decoding: each pair's own matrices are fetched, nothing is sorted.

B tokens, E experts, K experts a token, L latent width, F expert hidden width, P = B·K pairs.
"""

import torch
from torch import Tensor

from trivium.kernels.moe.torch_glu import CONSTANT, Activation, glu
from trivium.kernels.packed import accumulation_dtype

__all__ = ["experts_step"]


def experts_step(
    z_BL: Tensor, indices_BK: Tensor, probs_BK: Tensor, w1_EFL: Tensor, w3_EFL: Tensor, w2_ELF: Tensor,
    *, activation: Activation = "situ",
) -> Tensor:  # fmt: skip
    """u_BL as `experts` gives it, without gradients. Reads P experts: worth it while P is no larger than E."""
    dtype = accumulation_dtype(z_BL)
    pair_P = indices_BK.flatten()
    z_PL1 = z_BL.to(dtype).repeat_interleave(indices_BK.shape[1], 0).unsqueeze(-1)
    g_PF1 = torch.bmm(w1_EFL.index_select(0, pair_P).to(dtype), z_PL1)
    u_PF1 = torch.bmm(w3_EFL.index_select(0, pair_P).to(dtype), z_PL1)
    value_PF1, _ = glu(g_PF1, u_PF1, activation)
    value_PF1.mul_(probs_BK.reshape(-1, 1, 1).to(dtype) * CONSTANT[activation])
    y_PL1 = torch.bmm(w2_ELF.index_select(0, pair_P).to(dtype), value_PF1)
    return y_PL1.view(*indices_BK.shape, -1).sum(1).to(z_BL.dtype)
