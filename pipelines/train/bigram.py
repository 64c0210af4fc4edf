"""The bigram baseline: how predictable training text is from the token before alone.

Definition. Over all adjacent pairs (x_{t-1}, x_t) inside a document of the training split's text corpora, where x_t is
a target (the first pair has BOS as x_{t-1}; pairs never cross documents), with counts c(a, b), c(a) = Σ_b c(a, b) and
N = Σ_a c(a):

    H(x_t | x_{t-1}) = −1/N · Σ_{a,b} c(a, b) · ln( c(a, b) / c(a) )        nats a token

This is the empirical entropy: what a bigram model that has memorised the training pairs would lose on those pairs. It
is a lower bound for any bigram model on new text, so a model whose *held-out* loss is below it uses more than one
token of context. `cross_entropy` is the honest companion: the add-one-smoothed bigram model judged on other documents.
"""

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Ints = NDArray[np.int64]
Document = tuple[NDArray[np.integer], NDArray[np.bool_]]  # ids [T], is a target [T]

_CHUNK = 1 << 22  # pairs merged at a time: bounds memory at a few hundred MB however large the corpus


@dataclass(frozen=True, slots=True)
class Bigrams:
    """Counted pairs; `codes` [P] = first · vocabulary + second, sorted, with `counts` [P]."""

    vocabulary: int
    codes: Ints
    counts: Ints

    @property
    def pairs(self) -> int:
        return int(self.counts.sum())

    def entropy(self) -> float:
        """H(x_t | x_{t-1}) in nats; 0 when nothing was counted."""
        if not self.pairs:
            return 0.0
        firsts = self.codes // self.vocabulary
        _, place, totals = _sum_by(firsts, self.counts)
        weight = self.counts / self.pairs
        return float(-(weight * np.log(self.counts / totals[place])).sum())

    def cross_entropy(self, documents: Iterable[Document], *, smoothing: float = 1.0) -> float:
        """Mean −ln p(x_t | x_{t-1}) over `documents`' targets, p = (c(a,b) + s) / (c(a) + s·V), in nats."""
        held_out = count(documents, self.vocabulary)
        if not held_out.pairs:
            return 0.0
        firsts, _, totals = _sum_by(self.codes // self.vocabulary, self.counts)
        seen = _look_up(self.codes, self.counts, held_out.codes)
        total = _look_up(firsts, totals, held_out.codes // self.vocabulary)
        loss = np.log(total + smoothing * self.vocabulary) - np.log(seen + smoothing)
        return float((held_out.counts * loss).sum() / held_out.pairs)


def count(documents: Iterable[Document], vocabulary: int) -> Bigrams:
    """Counts the pairs of every document."""
    codes, counts = np.empty(0, np.int64), np.empty(0, np.int64)
    waiting: list[Ints] = []
    size = 0
    for ids, target in documents:
        wide = ids.astype(np.int64)
        pairs = (wide[:-1] * vocabulary + wide[1:])[target[1:]]
        waiting.append(pairs)
        size += len(pairs)
        if size >= _CHUNK:
            codes, counts = _merge(codes, counts, waiting)
            waiting, size = [], 0
    codes, counts = _merge(codes, counts, waiting)
    return Bigrams(vocabulary, codes, counts)


def _merge(codes: Ints, counts: Ints, waiting: list[Ints]) -> tuple[Ints, Ints]:
    if not waiting:
        return codes, counts
    new_codes, new_counts = np.unique(np.concatenate(waiting), return_counts=True)
    merged, _, totals = _sum_by(np.concatenate([codes, new_codes]), np.concatenate([counts, new_counts]))
    return merged, totals


def _sum_by(keys: Ints, values: Ints) -> tuple[Ints, Ints, Ints]:
    """Distinct keys sorted, the place of each key among them, and the sum of values of each."""
    distinct, place = np.unique(keys, return_inverse=True)
    sums = np.zeros(len(distinct), np.int64)
    np.add.at(sums, place, values)
    return distinct, place, sums


def _look_up(keys: Ints, values: Ints, wanted: Ints) -> Ints:
    """values[keys == wanted], 0 where a key is absent; `keys` sorted."""
    if not len(keys):
        return np.zeros(len(wanted), np.int64)
    place = np.minimum(np.searchsorted(keys, wanted), len(keys) - 1)
    return np.where(keys[place] == wanted, values[place], 0)
