"""Decoding from caches: KDA states, convolution tails, latent keys; the backbone's own forward pass does the work.

Odd: AttnRes mixes over depth, token by token, so it needs no cache at all; pictures enter with the first tokens.

V vocabulary.
"""

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
    """One document so far: the layers' caches, its length in tokens, and the logits of the token to come."""

    caches: list[LayerCache]
    tokens: int
    logits_V: Tensor


@torch.no_grad()
def prefill(model: JointModel, batch: Batch) -> DecodeState:
    """Reads one document (pictures allowed) and keeps what its next tokens need.

    Raises UsageError when the batch holds more than one document.
    """
    documents = batch.cu_seqlens.shape[0] - 1
    if documents != 1:
        raise UsageError(f"prefill reads one document and the batch holds {documents}; give them one by one")
    caches = model.backbone.new_cache()
    hidden = model.backbone(model.embed(batch), Pass(batch.cu_seqlens), caches)
    return DecodeState(caches, batch.tokens, model.backbone.head(hidden.normed_TD[-1]))


@torch.no_grad()
def step(model: JointModel, token: int, state: DecodeState) -> Tensor:
    """Appends one token to the state, in place, and gives the logits of the next: [V]."""
    device = state.logits_V.device
    x_1D = model.backbone.embed(torch.tensor([token], device=device))
    shared = Pass(torch.tensor([0, 1], device=device))
    hidden = model.backbone(x_1D, shared, state.caches)
    state.tokens += 1
    state.logits_V = model.backbone.head(hidden.normed_TD[0])
    return state.logits_V


def choose(logits_V: Tensor, *, temperature: float, generator: torch.Generator | None = None) -> int:
    """The next token: the likeliest at temperature 0, else drawn from softmax(logits / temperature)."""
    if temperature < 0:
        raise UsageError(f"temperature is {temperature}; give 0 for the likeliest token or a positive number")
    if temperature == 0:
        return int(logits_V.argmax())
    shares_V = (logits_V.double() / temperature).softmax(-1)
    return int(torch.multinomial(shares_V, 1, generator=generator))
