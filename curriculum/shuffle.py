"""Shuffles without state: a permutation of n items is a keyed bijection, so any position is found in O(1).

Odd: nothing is ever sorted or stored. A balanced Feistel network permutes the next power of four, and positions that
land outside n walk on along their cycle until they land inside (Black and Rogaway, "Ciphers with arbitrary finite
domains", 2002).
"""

import hashlib
from functools import lru_cache

import numpy as np
import numpy.typing as npt

_ROUNDS = 6
_MIX_A = np.uint64(0xBF58476D1CE4E5B9)  # splitmix64's multipliers (Steele, Lea and Flood, 2014)
_MIX_B = np.uint64(0x94D049BB133111EB)
_SHIFT_A, _SHIFT_B = np.uint64(30), np.uint64(27)


def key64(*parts: object) -> int:
    """A 64-bit key from any parts (their text forms, separated), the same on every machine."""
    text = "\x1f".join(str(part) for part in parts)
    return int.from_bytes(hashlib.blake2b(text.encode(), digest_size=8).digest(), "little")


def permute(positions: npt.NDArray[np.int64], size: int, key: int) -> npt.NDArray[np.int64]:
    """Where `positions` (each in [0, size)) stand in the permutation of `size` items that `key` names."""
    half = max(1, ((size - 1).bit_length() + 1) // 2)
    shift, mask = np.uint64(half), np.uint64((1 << half) - 1)
    keys = _round_keys(key)
    values = _network(positions.astype(np.uint64), shift, mask, keys)
    outside = np.flatnonzero(values >= np.uint64(size))
    while outside.size:  # each walk ends: the network is a bijection, so the cycle comes back inside
        values[outside] = _network(values[outside], shift, mask, keys)
        outside = outside[values[outside] >= np.uint64(size)]
    return values.astype(np.int64)


@lru_cache(maxsize=256)
def _round_keys(key: int) -> tuple[np.uint64, ...]:
    return tuple(np.uint64(key64(key, number)) for number in range(_ROUNDS))


def _network(
    values: npt.NDArray[np.uint64], shift: np.uint64, mask: np.uint64, keys: tuple[np.uint64, ...]
) -> npt.NDArray[np.uint64]:
    left, right = values >> shift, values & mask
    for key in keys:
        mixed = right + key  # wraps modulo 2^64 by design
        mixed = (mixed ^ (mixed >> _SHIFT_A)) * _MIX_A
        mixed = (mixed ^ (mixed >> _SHIFT_B)) * _MIX_B
        left, right = right, left ^ ((mixed >> np.uint64(31)) & mask)
    return (left << shift) | right


def shuffled_order(size: int, key: int) -> list[int]:
    """All of `range(size)` in the order that `key` names."""
    return [int(i) for i in permute(np.arange(size, dtype=np.int64), size, key)]
