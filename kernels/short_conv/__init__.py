"""Depthwise causal convolution of width 4 with SiLU over packed documents (K3 report, section 2.1)."""

from torch import Tensor

from trivium.kernels.dispatch import use_triton
from trivium.kernels.packed import expect
from trivium.kernels.precision import without_autocast
from trivium.kernels.short_conv.draft import short_conv_draft
from trivium.kernels.short_conv.plan import TapPlan
from trivium.kernels.short_conv.reference import WIDTH, short_conv_reference
from trivium.kernels.short_conv.step import short_conv_step
from trivium.kernels.short_conv.torch_conv import ShortConv, final_tails

__all__ = ["WIDTH", "TapPlan", "short_conv", "short_conv_draft", "short_conv_reference", "short_conv_step"]


@without_autocast
def short_conv(
    x_TC: Tensor,
    weight_C4: Tensor,
    cu_seqlens: Tensor,
    *,
    initial_tail: Tensor | None = None,
    return_tail: bool = False,
    plan: TapPlan | None = None,
) -> Tensor | tuple[Tensor, Tensor]:
    """Return y_TC, and with `return_tail` the last 3 inputs of each document [D, 3, C] (its next `initial_tail`).

    In x's dtype, y[t] = SiLU(Σ_j w[:, 3 − j] x[t − j]): the weight is nn.Conv1d's [C, 1, 4] without its middle
    dimension. Nothing crosses a document's border: before it lies its `initial_tail` [D, 3, C], zero when None.
    `plan` (TapPlan.build of this `cu_seqlens`) saves building it in every layer.
    Raises ValueError for shapes, dtypes and devices that don't fit, a wrong `cu_seqlens` and a plan of another row.
    """
    if x_TC.dim() != 2:
        raise ValueError(f"x_TC must be [T, C], documents packed into one row; found {list(x_TC.shape)}")
    T, C = x_TC.shape
    plan = TapPlan.of(plan, cu_seqlens, T, x_TC.device)
    sizes = {"T": T, "C": C, "D": len(plan.borders) - 1, "3": WIDTH - 1, "4": WIDTH}
    operands = [("x_TC", "TC", x_TC), ("weight_C4", "C4", weight_C4), ("initial_tail", "D3C", initial_tail)]
    expect(sizes, x_TC, operands)
    if use_triton("short_conv", x_TC):
        from trivium.kernels.short_conv.triton_conv import TritonShortConv

        y_TC = TritonShortConv.apply(x_TC, weight_C4, initial_tail, plan)
    else:
        y_TC = ShortConv.apply(x_TC, weight_C4, initial_tail, plan)
    return (y_TC, final_tails(x_TC, plan.borders, initial_tail)) if return_tail else y_TC
