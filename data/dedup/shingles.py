"""Text to hashed word n-grams, after the declared normaliser of `words`.

Odd: an n-gram's hash is mixed from its words' hashes in numpy, over many texts at once, since building strings costs
more than the whole sketch. Character n-grams are not offered: they glue unrelated long texts together.
"""

from collections.abc import Iterator, Sequence

import msgspec
import numpy as np

from trivium.data.dedup.words import NORMALISER, NORMALISER_VERSION, Counts, Hashes, word_blocks, word_hash, words_of

__all__ = [
    "NORMALISER",
    "NORMALISER_VERSION",
    "Hashes",
    "Shingles",
    "jaccard",
    "ngrams",
    "shingle",
    "shingles",
    "shingles_of",
    "words_of",
]

_MIX = np.uint64(0x9E3779B97F4A7C15)  # 2^64 / golden ratio: an odd multiplier spreads the order of words
_FINAL = np.uint64(0xBF58476D1CE4E5B9)  # splitmix64's finaliser


class Shingles(msgspec.Struct, frozen=True):
    """The n-grams of many texts in order, not yet distinct: text i has `hashes[offsets[i]:offsets[i + 1]]`.

    `words` counts the words of each text.
    """

    hashes: Hashes
    offsets: Counts
    words: Counts

    def sets(self) -> Iterator[Hashes]:
        """The sorted distinct n-grams of each text."""
        for start, stop in zip(self.offsets[:-1].tolist(), self.offsets[1:].tolist(), strict=True):
            yield _distinct(self.hashes[start:stop])


def shingle(texts: Sequence[str], ngram: int) -> Shingles:
    """All n-grams of each text; a text with fewer words than `ngram` has none, and none spans two texts."""
    hashes, counts = [np.empty(0, dtype=np.uint64)], [np.empty(0, dtype=np.int64)]
    for block in word_blocks(texts):  # n-grams too are made while a block is in the cache
        hashes.append(_inside(ngrams(block.hashes, ngram), block.counts, ngram))
        counts.append(block.counts)
    words = np.concatenate(counts)
    offsets = np.concatenate(([0], np.cumsum(np.maximum(words - (ngram - 1), 0))))
    return Shingles(np.concatenate(hashes), offsets, words)


def _inside(mixed: Hashes, words: Counts, ngram: int) -> Hashes:
    """The n-grams that lie in one text; `words` counts each text's."""
    if len(words) == 1:
        return mixed
    inside = np.ones(len(mixed), dtype=bool)
    ends = np.cumsum(words)
    for back in range(1, ngram):  # the windows that begin in the last words of a text reach into the next
        reach = ends[words >= back] - back
        inside[reach[reach < len(mixed)]] = False
    return mixed[inside]


def shingles_of(text: str, ngram: int) -> Hashes:
    """Sorted distinct 64-bit hashes of the n-grams of one text."""
    return next(shingle([text], ngram).sets())


def shingles(words: Sequence[str], ngram: int) -> Hashes:
    """Like `shingles_of`, from words; the slow definition that batches are tested against."""
    return _distinct(ngrams(np.fromiter((word_hash(word) for word in words), np.uint64, len(words)), ngram))


def ngrams(words: Hashes, ngram: int) -> Hashes:
    """A hash of each `ngram` neighbouring words, from the words' hashes; empty when there are fewer."""
    count = len(words) - ngram + 1
    if count < 1:
        return np.empty(0, dtype=np.uint64)
    mixed = words[:count] * _MIX
    shifted = mixed >> np.uint64(29)
    mixed ^= shifted
    for i in range(1, ngram):
        mixed ^= words[i : i + count]
        mixed *= _MIX
        np.right_shift(mixed, np.uint64(29), out=shifted)
        mixed ^= shifted
    mixed *= _FINAL
    np.right_shift(mixed, np.uint64(32), out=shifted)
    mixed ^= shifted
    return mixed


def _distinct(hashes: Hashes) -> Hashes:
    """Sorted, each once; a fifth of the time of np.unique."""
    ordered = np.sort(hashes)
    first = np.ones(len(ordered), dtype=bool)
    np.not_equal(ordered[1:], ordered[:-1], out=first[1:])
    return ordered[first]


def jaccard(a: Hashes, b: Hashes) -> float:
    """The true similarity of two shingle sets, sorted and distinct; two empty sets are not alike (0)."""
    if not len(a) or not len(b):
        return 0.0
    both = np.concatenate((a, b))
    both.sort(kind="stable")  # two sorted runs: one merge
    shared = int(np.count_nonzero(both[1:] == both[:-1]))
    return shared / (len(both) - shared)
