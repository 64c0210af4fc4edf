"""A text as hashed n-grams of its tokens, all in array arithmetic.

Odd: nothing is a string after the first line. Characters become code points, code points their lower case (every digit
a 0), tokens are found by where the kind of character changes, and a token's hash is a difference of prefix sums of a
polynomial modulo 2^64, undone for its place by the inverse powers. The same text gives the same numbers everywhere.
"""

from functools import cache
from typing import Annotated

import msgspec
import numpy as np
import numpy.typing as npt

from trivium.data.config import Strict

Numbers = npt.NDArray[np.uint64]

_KNOWN = 0x30000
_BLANK, _LETTER, _DIGIT, _SYMBOL = 0, 1, 2, 3
_BASE = 0x9E3779B97F4A7C15  # odd, so that it has an inverse modulo 2^64
_INVERSE = pow(_BASE, -1, 1 << 64)
_MIX = np.uint64(0xBF58476D1CE4E5B9)  # splitmix64's
_ORDER = np.uint64(0x94D049BB133111EB)
_SHIFT = np.uint64(31)
_BLOCK = 1 << 16  # characters whose powers are at hand


class FeatureSpec(Strict, kw_only=True):
    """`bits`: the table has 2^bits weights; `ngrams`: the longest n-gram of tokens; `characters`: how many of a text
    are looked at, from the beginning.
    """

    bits: Annotated[int, msgspec.Meta(ge=8, le=24)] = 18
    ngrams: Annotated[int, msgspec.Meta(ge=1, le=4)] = 2
    characters: Annotated[int, msgspec.Meta(ge=100)] = 50_000


@cache
def _tables() -> tuple[npt.NDArray[np.uint32], npt.NDArray[np.uint8]]:
    """Lower case and kind of each code point."""
    lower = np.arange(_KNOWN + 1, dtype=np.uint32)
    kinds = np.full(_KNOWN + 1, _SYMBOL, dtype=np.uint8)
    for code in range(_KNOWN):
        character = chr(code)
        if character.isdecimal():
            lower[code], kinds[code] = ord("0"), _DIGIT
        elif character.isalnum():
            single = character.lower()
            lower[code], kinds[code] = ord(single) if len(single) == 1 else code, _LETTER
        elif character.isspace():
            kinds[code] = _BLANK
    return lower, kinds


@cache
def _powers() -> tuple[Numbers, Numbers]:
    """The base's powers and those of its inverse, from 0."""
    base, inverse = np.uint64(_BASE), np.uint64(_INVERSE)
    ones = np.ones(_BLOCK, dtype=np.uint64)
    up, down = ones * base, ones * inverse
    up[0] = down[0] = 1
    return np.cumprod(up), np.cumprod(down)


def tokens(text: str) -> Numbers:
    """A hash for each token: runs of letters, runs of digits, single symbols."""
    found = [_tokens(text[start : start + _BLOCK]) for start in range(0, len(text), _BLOCK)]
    return np.concatenate(found) if found else np.empty(0, dtype=np.uint64)


def _tokens(text: str) -> Numbers:
    codes = np.frombuffer(text.encode("utf-32-le", "surrogatepass"), dtype=np.uint32)
    lower, table = _tables()
    places = np.minimum(codes, _KNOWN)
    kinds = table[places]
    changed = np.ones(len(kinds) + 1, dtype=bool)
    changed[1:-1] = (kinds[1:] != kinds[:-1]) | (kinds[1:] == _SYMBOL)
    starts = np.flatnonzero(changed[:-1] & (kinds != _BLANK))
    edges = np.flatnonzero(changed)
    stops = edges[np.searchsorted(edges, starts) + 1]
    up, down = _powers()
    sums = np.zeros(len(codes) + 1, dtype=np.uint64)
    np.cumsum((lower[places].astype(np.uint64) + np.uint64(1)) * up[: len(codes)], out=sums[1:])
    hashes = (sums[stops] - sums[starts]) * down[starts]
    return (hashes ^ (hashes >> _SHIFT)) * _MIX


def features(text: str, spec: FeatureSpec) -> npt.NDArray[np.int64]:
    """The places in the table of all n-grams of the text, as often as they stand there."""
    words = tokens(text[: spec.characters])
    shift = np.uint64(64 - spec.bits)
    grams, found = words, []
    for n in range(1, spec.ngrams + 1):
        if n > 1:
            grams = (grams[:-1] * _ORDER) ^ words[n - 1 :]
        mixed = (grams ^ (grams >> _SHIFT)) * _MIX
        found.append((mixed >> shift).astype(np.int64))
        if len(grams) < 2:
            break
    return np.concatenate(found)
