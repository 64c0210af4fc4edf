"""Depthwise causal convolution of width 4 with SiLU over packed documents (K3 report, section 2.1)."""

from torch import Tensor

from trivium.kernels.short_conv.reference import WIDTH, short_conv_reference

__all__ = ["WIDTH", "short_conv", "short_conv_reference"]


def short_conv(
    x_TC: Tensor,
    weight_C4: Tensor,
    cu_seqlens: Tensor,
    *,
    initial_tail: Tensor | None = None,
    return_tail: bool = False,
) -> Tensor | tuple[Tensor, Tensor]:
    """Return y_TC, and with `return_tail` the last 3 inputs of each document [D, 3, C] (its next `initial_tail`)."""
    y_TC, tail = short_conv_reference(x_TC, weight_C4, cu_seqlens, initial_tail=initial_tail)
    return (y_TC, tail) if return_tail else y_TC
