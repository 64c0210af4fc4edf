"""PyTorch's own packed causal attention behind our operands: flex_attention with a mask by documents.

Odd: it gives its output in the operands' dtype, so that ours does more; the maxima of each row come from `return_aux`.
cuDNN and the varlen kernels are not here: neither tells the maxima, and one knows a single document alone.
T tokens, H heads, D query and key width, V value width.
"""

import importlib.util
from collections.abc import Callable, Sequence

import torch
from torch import Tensor

from trivium.kernels.bench.case import Call, Contestant, Layout

__all__ = ["contestants", "flex_call"]


def contestants(device: torch.device) -> list[Contestant[Layout]]:
    """None where the device is no GPU: uncompiled it would hold all scores."""
    if device.type != "cuda" or importlib.util.find_spec("torch.nn.attention.flex_attention") is None:
        return []
    return [Contestant(name="flex_attention", bind=bind, peer=True, package="torch", takes=lambda s: s.tokens > 0)]


def bind(layout: Layout, device: torch.device) -> Call:
    return flex_call(layout.lengths, device, None)


def document_mask(lengths: Sequence[int], device: torch.device) -> Callable[[Tensor, Tensor, Tensor, Tensor], Tensor]:
    """Whether query t sees key s, as flex_attention asks it."""
    document_T = torch.repeat_interleave(torch.arange(len(lengths)), torch.tensor(lengths)).to(device)

    def sees(_batch: Tensor, _head: Tensor, t: Tensor, s: Tensor) -> Tensor:
        return (document_T[t] == document_T[s]) & (s <= t)

    return sees


def flex_call(lengths: Sequence[int], device: torch.device, scale: float | None, *, compiled: bool = True) -> Call:
    """q, k, v → (o_THV in their dtype, the largest scaled logit of each head [H])."""
    from torch.nn.attention.flex_attention import AuxRequest, create_block_mask, flex_attention

    tokens = sum(lengths)
    mask = create_block_mask(document_mask(lengths, device), None, None, tokens, tokens, device=str(device))
    attention = torch.compile(flex_attention, dynamic=False) if compiled else flex_attention

    def call(q_THD: Tensor, k_THD: Tensor, v_THV: Tensor) -> tuple[Tensor, ...]:
        q, k, v = (x.transpose(0, 1).unsqueeze(0) for x in (q_THD, k_THD, v_THV))
        o, aux = attention(q, k, v, block_mask=mask, scale=scale, return_aux=AuxRequest(max_scores=True))
        return o[0].transpose(0, 1), aux.max_scores.detach()[0].amax(-1).float()

    return call
