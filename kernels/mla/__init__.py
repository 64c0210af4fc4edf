"""The core of gated MLA without position encoding: packed causal attention, fp32 output (K3 report, section 2.1)."""

from torch import Tensor

from trivium.kernels.mla.reference import mla_reference

__all__ = ["mla", "mla_reference"]


def mla(
    q_THD: Tensor, k_THD: Tensor, v_THV: Tensor, cu_seqlens: Tensor, *, scale: float | None = None
) -> tuple[Tensor, Tensor]:
    """Return (o_THV in fp32, the largest scaled logit of each head over the row [H], without gradient).

    `k_THD` already expanded and joined; `scale` is D^(−1/2) when None.
    """
    return mla_reference(q_THD, k_THD, v_THV, cu_seqlens, scale=scale)
