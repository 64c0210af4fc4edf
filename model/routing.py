"""Routers' choices written down and used again: two ways of computing one model then differ by rounding alone.

A near tie between two experts turns a rounding into another expert, and one such flip hides every smaller difference.
Odd: choices are used in the order in which they were written, so a pass may be cut (a prompt, then single tokens), but
not turned round; `Routes.rows` takes one document's out of a packed row.

T tokens, E experts, K experts a token.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

import torch
from torch import Tensor, nn

from trivium.errors import UsageError
from trivium.model.moe import LatentMoE, Steer


@dataclass(slots=True)
class Routes:
    """Each MoE layer's choices, [T, K], by its name."""

    choices: dict[str, Tensor] = field(default_factory=dict)

    def rows(self, start: int, stop: int) -> "Routes":
        """Tokens [start, stop) alone."""
        return Routes({name: index_TK[start:stop] for name, index_TK in self.choices.items()})


@dataclass(slots=True)
class Flips:
    """Tokens (counted once a layer) whose router would have chosen otherwise than it had to."""

    tokens: int = 0
    flipped: int = 0

    @property
    def rate(self) -> float:
        return self.flipped / self.tokens if self.tokens else 0.0


@contextmanager
def recorded(model: nn.Module) -> Iterator[Routes]:
    """Writes down what the routers choose inside the block."""
    routes = Routes()

    def watching(name: str) -> Steer:
        def steer(logits_TE: Tensor, index_TK: Tensor, share_TK: Tensor) -> tuple[Tensor, Tensor]:
            before = routes.choices.get(name)
            routes.choices[name] = index_TK if before is None else torch.cat([before, index_TK])
            return index_TK, share_TK

        return steer

    with _steered(model, watching):
        yield routes


@contextmanager
def replayed(model: nn.Module, routes: Routes) -> Iterator[Flips]:
    """Routes as `routes` says, with shares from the present scores, and counts where the routers disagree.

    Raises UsageError for a layer that was not written down or has run out of tokens.
    """
    flips = Flips()
    places = dict.fromkeys(routes.choices, 0)

    def forcing(name: str) -> Steer:
        def steer(logits_TE: Tensor, index_TK: Tensor, share_TK: Tensor) -> tuple[Tensor, Tensor]:
            start, tokens = places.get(name, 0), index_TK.shape[0]
            forced_TK = routes.choices.get(name, index_TK[:0])[start : start + tokens].to(index_TK.device)
            if forced_TK.shape != index_TK.shape:
                raise UsageError(f"{name}: {tokens} more tokens to route and {forced_TK.shape[0]} choices left")
            places[name] = start + tokens
            flips.tokens += tokens
            flips.flipped += int((forced_TK.sort(-1).values != index_TK.sort(-1).values).any(-1).sum())
            scores_TK = torch.sigmoid(logits_TE).gather(1, forced_TK)
            return forced_TK, (scores_TK / scores_TK.sum(-1, keepdim=True)).to(share_TK.dtype)

        return steer

    with _steered(model, forcing):
        yield flips


@contextmanager
def _steered(model: nn.Module, make: Callable[[str], Steer]) -> Iterator[None]:
    layers = {name: layer for name, layer in model.named_modules() if isinstance(layer, LatentMoE)}
    if any(layer.steer is not None for layer in layers.values()):
        raise UsageError("the model's routers are being watched or forced already; leave that block first")
    for name, layer in layers.items():
        layer.steer = make(name)
    try:
        yield
    finally:
        for layer in layers.values():
            layer.steer = None
