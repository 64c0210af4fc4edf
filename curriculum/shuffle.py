"""Shuffles without state: a permutation of n items is a keyed bijection, so any position is found in O(1).

Odd: nothing is ever sorted or stored. An item x < a·b is the pair (x mod a, x div a) with a and b near √n; Feistel
rounds add a hash of one half to the other, modulo a and b in turn. The few positions that land in [n, a·b) walk on
along their cycle until they land inside (Black and Rogaway, "Ciphers with arbitrary finite domains", 2002, method 3).
"""

import hashlib
from functools import lru_cache
from math import isqrt

import numpy as np
import numpy.typing as npt

_ROUNDS = 6
_SMALL, _SMALL_ROUNDS = 4096, 12  # with halves of few values six rounds leave some orders likelier than others
_MIX_A = np.uint32(0x21F0AAAD)  # a 32-bit mixer of low bias (Wellons, "hash-prospector", 2018)
_MIX_B = np.uint32(0x735A2D97)
_SHIFT_A, _SHIFT_B = np.uint32(16), np.uint32(15)
_HIGH = np.uint64(32)
_CHUNK = 1 << 14  # positions at a time: the rounds then stay in the processor's cache
LARGEST = 1 << 60  # items: both halves fit 31 bits

Words = npt.NDArray[np.uint32]


def key64(*parts: object) -> int:
    """A 64-bit key from any parts (their text forms, separated), the same on every machine."""
    text = "\x1f".join(str(part) for part in parts)
    return int.from_bytes(hashlib.blake2b(text.encode(), digest_size=8).digest(), "little")


def permute(positions: npt.NDArray[np.int64], size: int, key: int) -> npt.NDArray[np.int64]:
    """Where `positions` (each in [0, size)) stand in the permutation of `size` items that `key` names.

    Raises ValueError when size is above 2^60.
    """
    if size > LARGEST:
        raise ValueError(f"{size} items are more than the {LARGEST} that can be shuffled")
    if len(positions) <= _CHUNK:
        return _walk(positions, size, key)
    made = np.empty(len(positions), dtype=np.int64)
    for at in range(0, len(positions), _CHUNK):
        made[at : at + _CHUNK] = _walk(positions[at : at + _CHUNK], size, key)
    return made


def _walk(positions: npt.NDArray[np.int64], size: int, key: int) -> npt.NDArray[np.int64]:
    keys = _round_keys(key)[: _SMALL_ROUNDS if size <= _SMALL else _ROUNDS]
    values = _network(positions, size, keys)
    outside = np.flatnonzero(values >= size)
    while outside.size:  # each walk ends: the network is a bijection, so the cycle comes back inside
        values[outside] = _network(values[outside], size, keys)
        outside = outside[values[outside] >= size]
    return values


@lru_cache(maxsize=256)
def _round_keys(key: int) -> tuple[np.uint32, ...]:
    return tuple(np.uint32(key64(key, number) & 0xFFFFFFFF) for number in range(_SMALL_ROUNDS))


def _network(values: npt.NDArray[np.int64], size: int, keys: tuple[np.uint32, ...]) -> npt.NDArray[np.int64]:
    left_size = isqrt(max(size, 1) - 1) + 1
    right_size = -(-size // left_size)
    high, low = np.divmod(values, left_size)
    left, right = low.astype(np.uint32), high.astype(np.uint32)
    for number, key in enumerate(keys):
        if number % 2:
            _add(right, left, key, right_size)
        else:
            _add(left, right, key, left_size)
    return right.astype(np.int64) * left_size + left


def _add(half: Words, other: Words, key: np.uint32, modulus: int) -> None:
    """half ← (half + hash(other) reduced to [0, modulus)) mod modulus, in place."""
    mixed = other + key  # wraps modulo 2^32 by design, as all below
    mixed ^= mixed >> _SHIFT_A
    mixed *= _MIX_A
    mixed ^= mixed >> _SHIFT_B
    mixed *= _MIX_B
    mixed ^= mixed >> _SHIFT_B
    scaled = mixed.astype(np.uint64)
    scaled *= np.uint64(modulus)
    scaled >>= _HIGH
    half += scaled.astype(np.uint32)
    np.minimum(half, half - np.uint32(modulus), out=half)  # below the modulus the difference wraps to a large number


def shuffled_order(size: int, key: int) -> list[int]:
    """All of `range(size)` in the order that `key` names."""
    return [int(i) for i in permute(np.arange(size, dtype=np.int64), size, key)]
