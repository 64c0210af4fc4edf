"""64-bit hashes of many stretches of a text at once: lines, tokens, windows of tokens; in numpy, without strings.

Odd: a stretch's hash is a polynomial of its values' hashes modulo 2^64, so that one `cumsum` hashes all stretches of a
text; what is made of these, hashes of runs above all, is mixed without such structure.
"""

import functools

import numpy as np
import numpy.typing as npt

from trivium.data.dedup.grid import SPACE, Classes, Codes, Grid, Places, ascii_classes, classify, code_points, grid

Hashes = npt.NDArray[np.uint64]
Rows = npt.NDArray[np.uint64]  # [N, W]

_GOLD = np.uint64(0x9E3779B97F4A7C15)  # 2^64 / golden ratio
_A = np.uint64(0xBF58476D1CE4E5B9)  # the multipliers of splitmix64's finaliser
_B = np.uint64(0x94D049BB133111EB)
_NONE = np.uint64(0)
_EMPTY: Hashes = np.empty(0, dtype=np.uint64)
_NO_PLACES: Places = np.empty(0, dtype=np.int64)
_BLOCK = 1 << 15  # characters hashed at a time: the arrays stay in a core's cache, and a book needs no more than a page


def finalise(values: Hashes) -> Hashes:
    """splitmix64's finaliser: every bit of a value touches every bit of its hash."""
    x = values ^ (values >> np.uint64(30))
    x *= _A
    x ^= x >> np.uint64(27)
    x *= _B
    x ^= x >> np.uint64(31)
    return x


def mix(left: Hashes, right: Hashes) -> Hashes:
    """One hash of two, in their order."""
    x = left * _GOLD
    x ^= x >> np.uint64(32)
    x += right
    x *= _A
    x ^= x >> np.uint64(29)
    return x


def hash_stretches(values: npt.NDArray[np.integer], starts: Places) -> Hashes:
    """The hash of values[starts[i]:starts[i + 1]] for each i; `starts` rise strictly and begin with 0."""
    if not len(starts):
        return _EMPTY
    lengths = np.diff(starts, append=len(values))
    up, down = _powers(len(values))
    mixed = values.astype(np.uint64)
    mixed += np.uint64(1)
    mixed *= _A
    mixed ^= mixed >> np.uint64(32)
    mixed *= _B
    mixed *= up
    total = np.cumsum(mixed)[starts + (lengths - 1)]  # wraps, and so do the differences
    total[1:] -= total[:-1].copy()
    total *= down[starts]
    total += lengths.astype(np.uint64)
    return finalise(total)


@functools.lru_cache(maxsize=1)
def _some_powers(count: int) -> tuple[Hashes, Hashes]:
    ones = np.full(count, 1, dtype=np.uint64)
    ones[1:] = _GOLD
    up = np.multiply.accumulate(ones)
    ones[1:] = pow(int(_GOLD), -1, 1 << 64)
    return up, np.multiply.accumulate(ones)


def _powers(count: int) -> tuple[Hashes, Hashes]:
    """The first `count` powers of an odd base and of its inverse modulo 2^64."""
    up, down = _some_powers(max(2 * _BLOCK, 1 << (count - 1).bit_length()))
    return up[:count], down


def windows(hashes: Hashes, size: int) -> Hashes:
    """The hash of each run of `size` consecutive hashes (len - size + 1 of them), by doubling."""
    count = len(hashes) - size + 1
    if count < 1 or size < 1:
        return _EMPTY
    whole: Hashes | None = None
    level, width, offset = hashes, 1, 0
    while size:
        if size & 1:
            part = level[offset : offset + count]
            whole = part if whole is None else mix(whole, part)
            offset += width
        size >>= 1
        if size:
            level = mix(level[:-width], level[width:])
            width *= 2
    return finalise(whole) if whole is not None else _EMPTY


def sliding_min(values: Hashes, width: int) -> Hashes:
    """The smallest of each `width` consecutive values (len - width + 1 of them)."""
    count = len(values) - width + 1
    if count < 1:
        return _EMPTY
    done = 1
    while done * 2 <= width:
        values = np.minimum(values[:-done], values[done:])
        done *= 2
    return np.minimum(values[:count], values[width - done : width - done + count])


def distinct(hashes: Hashes) -> Hashes:
    """Sorted distinct values (numpy's own `unique` is forty times slower on random 64-bit values)."""
    found = np.sort(hashes)
    return found[np.concatenate(([True], found[1:] != found[:-1]))] if len(found) else found


class Tokens:
    """The tokens of one text: where each begins and ends (characters), its hash, and that of the gap before it."""

    def __init__(self, text: str) -> None:
        parts = [self._block(text[a:b], a) for a, b in blocks(text)] or [(_NO_PLACES, _NO_PLACES, _EMPTY, _EMPTY)]
        self.starts: Places = np.concatenate([part[0] for part in parts])
        self.ends: Places = np.concatenate([part[1] for part in parts])
        self.hashes: Hashes = np.concatenate([part[2] for part in parts])
        self.gaps: Hashes = np.concatenate([part[3] for part in parts])

    def __len__(self) -> int:
        return len(self.starts)

    @staticmethod
    def _block(text: str, offset: int) -> tuple[Places, Places, Hashes, Hashes]:
        codes, classes = read(text)
        units: Grid = grid(codes, classes)
        hashes = hash_stretches(codes, units.starts)
        at = np.flatnonzero(units.token)
        starts = units.starts[at]
        ends = np.append(units.starts, len(codes))[at + 1]
        # A gap is always followed by a token or by the end, and belongs to the token after it.
        before = np.maximum(at - 1, 0)
        gaps = np.where(units.token[before], _NONE, hashes[before])
        if offset:
            starts, ends = starts + offset, ends + offset
        return starts, ends, hashes[at], gaps

    def windows(self, size: int, seed: np.uint64 = _NONE) -> Hashes:
        """Hashes of all runs of `size` tokens with the gaps between them, byte for byte; one family for each `seed`."""
        if len(self) < size:
            return _EMPTY
        first = self.hashes ^ seed
        if size == 1:
            return finalise(first)
        joined = mix(self.gaps, first)
        return finalise(mix(first[: len(self) - size + 1], windows(joined[1:], size - 1)))


def read(text: str) -> tuple[Codes, Classes]:
    """Code points and their classes; ASCII takes the short way."""
    if text.isascii():
        raw = text.encode("ascii")
        return np.frombuffer(raw, np.uint8).astype(np.uint32), np.frombuffer(raw.translate(ascii_classes()), np.uint8)
    codes = code_points(text)
    return codes, classify(codes)


def blocks(text: str) -> list[tuple[int, int]]:
    """Stretches of about `_BLOCK` characters, cut before white space."""
    found, start = [], 0
    while start < len(text):
        end = min(start + _BLOCK, len(text))
        if end < len(text):
            cut = max(text.rfind("\n", start + 1, end), text.rfind(" ", start + 1, end))
            while cut > start and classify(code_points(text[cut - 1]))[0] <= SPACE:
                cut -= 1
            if cut > start:
                end = cut
            else:
                end = len(text)
        found.append((start, end))
        start = end
    return found
