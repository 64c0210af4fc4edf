"""Both directions of a row with cut documents: segments run side by side between two folds.

Forwards: state and transition of each segment, a fold for the states that enter them, then the usual pass. Backwards:
the states again from what entered the segments, gradients of states with nothing behind a segment, a fold from the
last segment to the first, then the usual pass. Whole documents of the row take the usual passes only.
D documents, T tokens in the row, H heads, S segments, K key width, V value width.
"""

from dataclasses import dataclass
from types import ModuleType

import torch
from torch import Tensor

from trivium.kernels.kda.factors import Factors
from trivium.kernels.kda.segment_plan import Segments
from trivium.kernels.kda.triton_fold import fold_groups

__all__ = ["Between", "backward", "forward"]


@dataclass(frozen=True, slots=True)
class Between:
    """What the backward keeps of the forward, fp32."""

    entering_SHKV: Tensor
    transitions_SHKK: Tensor


def _ends(segments: Segments) -> tuple[Tensor, Tensor, Tensor]:
    """Of the cut documents: number, first segment, last segment."""
    document_G, start_G, stop_G = segments.groups_G3.long().unbind(1)
    return document_G, start_G, stop_G - 1


def forward(
    kernels: ModuleType, v_THV: Tensor, factors: Factors, segments: Segments, initial: Tensor | None,
    final: Tensor | None,
) -> tuple[Tensor, Between]:  # fmt: skip
    """o_THV and what the backward needs; `final` [D, H, K, V] is filled."""
    (_, H, V), K, S = v_THV.shape, factors.kg_HTK.shape[-1], len(segments.cut.documents_D4)
    o_THV = torch.empty_like(v_THV)
    kernels.forward(v_THV, factors, segments.whole, initial, final, o_THV)
    states, transitions = (v_THV.new_empty(S, H, K, width, dtype=torch.float32) for width in (V, K))
    kernels.segment_states(v_THV, factors, segments.cut, states, transitions)
    entering = fold_groups(states, transitions, segments.groups_G3, initial)
    kernels.forward(v_THV, factors, segments.cut, entering, None if final is None else states, o_THV)
    if final is not None:
        document_G, _, last_G = _ends(segments)
        final.index_copy_(0, document_G, states.index_select(0, last_G))
    return o_THV, Between(entering, transitions)


def backward(
    kernels: ModuleType, v_THV: Tensor, do_THV: Tensor, factors: Factors, segments: Segments, initial: Tensor | None,
    between: Between, dfinal: Tensor | None, dinitial: Tensor | None,
) -> tuple[Tensor, ...]:  # fmt: skip
    """(states entering chunks, deltas, dv_THV, gradients of the states leaving chunks, dots); `dinitial` is filled."""
    saved = kernels.replay(v_THV, factors, segments.whole, initial)
    kernels.replay(v_THV, factors, segments.cut, between.entering_SHKV, saved)
    dentering = torch.empty_like(between.entering_SHKV)
    kernels.segment_gradients(do_THV, factors, segments.cut, dentering)
    dleaving = fold_groups(dentering, between.transitions_SHKK, segments.groups_G3, dfinal, reverse=True)
    deltas = saved[1]
    out = kernels.backward(do_THV, factors, segments.whole, deltas, dfinal, dinitial)
    kernels.backward(do_THV, factors, segments.cut, deltas, dleaving, None if dinitial is None else dentering, out)
    if dinitial is not None:
        document_G, first_G, _ = _ends(segments)
        dinitial.index_copy_(0, document_G, dentering.index_select(0, first_G).to(dinitial.dtype))
    return *saved, *out
