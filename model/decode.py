"""Decoding from caches: KDA states, convolution tails, latent keys; the backbone's own forward pass does the work.

Odd: AttnRes mixes over depth, token by token, so it needs no cache at all; pictures enter with the first tokens.

B documents, V vocabulary.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from trivium.errors import UsageError
from trivium.model.batch import Batch
from trivium.model.cache import LayerCache
from trivium.model.joint import JointModel
from trivium.model.layer import Pass


@dataclass(slots=True)
class DecodeState:
    """Documents so far: the layers' caches, each one's length in tokens, and the logits of its token to come."""

    caches: list[LayerCache]
    tokens_B: Tensor
    logits_BV: Tensor


@torch.no_grad()
def prefill(model: JointModel, batch: Batch) -> DecodeState:
    """Reads packed documents (pictures allowed) and keeps what their next tokens need.

    Raises UsageError when one of them is empty.
    """
    lengths_B = batch.cu_seqlens.diff()
    if not bool((lengths_B > 0).all()):
        raise UsageError(f"document {int(lengths_B.argmin())} of the batch is empty; give each at least one token")
    caches = model.backbone.new_cache()
    hidden = model.backbone(model.embed(batch), Pass.over(batch.cu_seqlens, batch.tokens), caches)
    return DecodeState(caches, lengths_B, model.backbone.head(hidden.normed_TD[batch.cu_seqlens[1:] - 1]))


@torch.no_grad()
def step(model: JointModel, tokens: Sequence[int], state: DecodeState) -> Tensor:
    """Appends one token to each document, in place, and gives the logits of the next: [B, V].

    Raises UsageError for another number of tokens than documents.
    """
    documents, device = state.logits_BV.shape[0], state.logits_BV.device
    if len(tokens) != documents:
        raise UsageError(f"{len(tokens)} tokens for {documents} documents; give one for each")
    x_BD = model.backbone.embed(torch.tensor(tokens, device=device))
    shared = Pass(torch.arange(documents + 1, device=device), decoding=True)
    hidden = model.backbone(x_BD, shared, state.caches)
    state.tokens_B = state.tokens_B + 1
    state.logits_BV = model.backbone.head(hidden.normed_TD)
    return state.logits_BV
