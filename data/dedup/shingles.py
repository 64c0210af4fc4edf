"""Text to hashed word n-grams, after a declared normaliser.

Odd: words are hashed once and an n-gram's hash is mixed from its words' hashes in numpy, since building strings costs
more than the whole sketch. Character n-grams are not offered: they glue unrelated long texts together.
"""

import re
import unicodedata
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt
import xxhash

NORMALISER = "nfkc-lower-words"
NORMALISER_VERSION = 1

_WORD = re.compile(r"\w+")
_MIX = np.uint64(0x9E3779B97F4A7C15)  # 2^64 / golden ratio: an odd multiplier spreads the order of words
_FINAL = np.uint64(0xBF58476D1CE4E5B9)  # splitmix64's finaliser

Hashes = npt.NDArray[np.uint64]


def words_of(text: str) -> list[str]:
    """NFKC, lower case, runs of word characters."""
    return _WORD.findall(unicodedata.normalize("NFKC", text).lower())


def shingles(words: Sequence[str], ngram: int) -> Hashes:
    """Sorted distinct 64-bit hashes of the n-grams of `words`; empty when there are fewer words than `ngram`."""
    count = len(words) - ngram + 1
    if count < 1:
        return np.empty(0, dtype=np.uint64)
    table = {word: xxhash.xxh3_64_intdigest(word.encode()) for word in set(words)}
    hashes = np.fromiter((table[word] for word in words), dtype=np.uint64, count=len(words))
    mixed = np.zeros(count, dtype=np.uint64)
    for i in range(ngram):
        mixed = (mixed ^ hashes[i : i + count]) * _MIX
        mixed ^= mixed >> np.uint64(29)
    mixed = mixed * _FINAL
    mixed ^= mixed >> np.uint64(32)
    return np.unique(mixed)


def jaccard(a: Hashes, b: Hashes) -> float:
    """The true similarity of two shingle sets; two empty sets are not alike (0)."""
    union = len(np.union1d(a, b))
    return len(np.intersect1d(a, b, assume_unique=True)) / union if union else 0.0
