"""Depthwise causal convolution of width 4 with SiLU over packed documents (K3 report, section 2.1)."""

from torch import Tensor

from trivium.kernels.packed import offsets
from trivium.kernels.short_conv.reference import WIDTH, short_conv_reference
from trivium.kernels.short_conv.step import short_conv_step
from trivium.kernels.short_conv.torch_conv import ShortConv, final_tails

__all__ = ["WIDTH", "short_conv", "short_conv_reference", "short_conv_step"]


def short_conv(
    x_TC: Tensor,
    weight_C4: Tensor,
    cu_seqlens: Tensor,
    *,
    initial_tail: Tensor | None = None,
    return_tail: bool = False,
) -> Tensor | tuple[Tensor, Tensor]:
    """Return y_TC, and with `return_tail` the last 3 inputs of each document [D, 3, C] (its next `initial_tail`).

    Nothing crosses a document's border. Raises ValueError for a wrong `cu_seqlens`.
    """
    borders = offsets(cu_seqlens, x_TC.shape[0])
    y_TC = ShortConv.apply(x_TC, weight_C4, initial_tail, borders)
    return (y_TC, final_tails(x_TC, borders, initial_tail)) if return_tail else y_TC
