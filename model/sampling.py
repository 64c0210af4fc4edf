"""Drawing tokens, and writing several documents at once from their caches.

Odd: a document draws from a generator of its own, one number a token, so that its tokens depend on its seed and its
logits and on nothing else: not on its neighbours, nor on their ends.

B documents, V vocabulary.
"""

import math
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from trivium.errors import UsageError
from trivium.model.batch import Batch
from trivium.model.decode import prefill, step
from trivium.model.joint import JointModel


@dataclass(frozen=True, slots=True, kw_only=True)
class Sampling:
    """How much is written, and how each token is drawn. Raises UsageError for values that make no sense."""

    tokens: int = 200  # at most so many
    temperature: float = 0.8  # 0 takes the likeliest token
    top_k: int | None = None  # draw from so many of the likeliest tokens
    top_p: float = 0.95  # and of these from the likeliest of this mass
    seed: int = 0
    stop: tuple[str, ...] = ()  # text that ends the document and is not written; whoever makes text of tokens watches

    def __post_init__(self) -> None:
        if self.tokens < 1:
            raise UsageError(f"{self.tokens} tokens; give at least 1")
        if not 0 <= self.temperature < math.inf:
            raise UsageError(f"temperature {self.temperature:g}; give 0 (the likeliest token) or a number above it")
        if not 0 < self.top_p <= 1:
            raise UsageError(f"top-p {self.top_p:g}; give a mass above 0 and at most 1 (1 leaves no token out)")
        if self.top_k is not None and self.top_k < 1:
            raise UsageError(f"top-k {self.top_k}; give at least 1, or leave it out")
        if not 0 <= self.seed < 1 << 63:
            raise UsageError(f"seed {self.seed}; give a whole number from 0 and below 2^63")
        if "" in self.stop:
            raise UsageError("an empty stop text, which stands everywhere; give at least one character")


def pick(logits_V: Tensor, allowed_V: Tensor, sampling: Sampling, generator: torch.Generator) -> int:
    """One token among those allowed: the likeliest at temperature 0, else drawn with one number of the generator.

    Candidates are the `top_k` likeliest, and of these the smallest set whose mass reaches `top_p`; ties go to the
    lower id.
    """
    logits_V = logits_V.double().masked_fill(~allowed_V, -torch.inf).cpu()
    if sampling.temperature == 0:
        return int(logits_V.argmax())
    logits_V, order_V = logits_V.sort(descending=True, stable=True)
    shares_V = (logits_V[: sampling.top_k] / sampling.temperature).softmax(-1)
    sums_V = shares_V.cumsum(-1)
    # The likeliest token always stays.
    kept = max(1, int((sums_V - shares_V < sampling.top_p).sum()))
    sums_V = sums_V[:kept]
    at = torch.rand((), dtype=torch.float64, generator=generator) * sums_V[-1]
    place = min(int(torch.searchsorted(sums_V, at, right=True)), int((shares_V[:kept] > 0).sum()) - 1)
    return int(order_V[place])


class Generation(Iterator[dict[int, int]]):
    """Documents being written: each `next` gives a token of every document that goes on, by its number.

    A document ends with a token of `stops` (given too), at its sampling's number of tokens, or when the caller says
    `end`; it then leaves the batch, and the others' tokens stay what they were.
    Raises UsageError for another number of samplings than documents.
    """

    def __init__(
        self,
        model: JointModel,
        batch: Batch,
        samplings: Sequence[Sampling],
        *,
        allowed_V: Tensor,
        stops: Collection[int] = (),
    ) -> None:
        self._model, self._samplings, self._stops = model, samplings, frozenset(stops)
        self._allowed_V = allowed_V.to(batch.tokens_T.device)
        self._state = prefill(model, batch)
        if self._state.documents != len(samplings):
            raise UsageError(f"{len(samplings)} samplings for {self._state.documents} documents; give one for each")
        self._generators = [torch.Generator().manual_seed(sampling.seed) for sampling in samplings]
        self._live = list(range(len(samplings)))  # in the order of the state's documents
        self._last: dict[int, int] = {}
        self._written = [0] * len(samplings)
        self._ended: set[int] = set()

    def end(self, document: int) -> None:
        """Lets a document go before the next token."""
        self._ended.add(document)

    def __next__(self) -> dict[int, int]:
        if self._ended:
            places = [place for place, document in enumerate(self._live) if document not in self._ended]
            if places and len(places) < len(self._live):
                self._state.keep(places)
            self._live = [self._live[place] for place in places]
            self._ended.clear()
        if not self._live:
            raise StopIteration
        if self._last:
            step(self._model, [self._last[document] for document in self._live], self._state)
        self._last = {
            document: pick(logits_V, self._allowed_V, self._samplings[document], self._generators[document])
            for document, logits_V in zip(self._live, self._state.logits_BV, strict=True)
        }
        for document, token in self._last.items():
            self._written[document] += 1
            if token in self._stops or self._written[document] == self._samplings[document].tokens:
                self._ended.add(document)
        return dict(self._last)
