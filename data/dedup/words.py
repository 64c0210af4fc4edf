"""Where words begin and end in any script, and a 64-bit hash for each: the declared normaliser of the dedup stages.

A text is NFKC-normalised; characters without width (soft hyphens, joiners, variation selectors) are taken out; each
character is put in lower case by its own mapping. A word is then
    - a run of letters, digits, marks and underscores in scripts that put spaces between words, Hangul among them;
    - each single ideograph or kana;
    - in scripts that write on without spaces (Thai, Lao, Khmer, Burmese and others) a piece of a run: a new one begins,
      never at a mark, where a hash of two neighbouring characters says so, every four characters on average. So an
      edit moves the borders beside it and no others.

Odd: a batch is read by table look-ups and sums in numpy, without a string made. Only texts with characters whose normal
form hangs on their neighbours go through Python's normaliser.
`words_of` says the same character by character; tests hold the two together.
"""

import unicodedata
from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache
from typing import Any

import msgspec
import numpy as np
import numpy.typing as npt

NORMALISER = "nfkc-lower-words-any-script"
NORMALISER_VERSION = 2

Hashes = npt.NDArray[np.uint64]
Counts = npt.NDArray[np.int64]
Codes = npt.NDArray[np.unsignedinteger[Any]]  # uint8 or uint32
Places = npt.NDArray[np.intp]
Kinds = npt.NDArray[np.uint8]

BLOCK = 1 << 16  # characters hashed at once: tables and products of a block stay in the cache

_GAP, _LETTER, _SINGLE, _UNSPACED, _UNSPACED_MARK, _IGNORED = range(6)
_NEIGHBOURS = 0x40  # flag beside the kind: the normal form hangs on neighbours, or is longer than one character
_WITHOUT_FLAG = np.uint8(0xFF ^ _NEIGHBOURS)
_UNKNOWN = 0xFF  # not looked up yet
_ASCII = 0x7F
_NOWHERE = np.empty(0, dtype=np.intp)
_IDEOGRAPHS = (
    (0x2E80, 0x2FDF),  # radicals
    (0x3005, 0x3007),
    (0x3021, 0x3029),
    (0x3038, 0x303B),
    (0x3041, 0x30FF),  # kana
    (0x31F0, 0x31FF),
    (0x3400, 0x4DBF),
    (0x4E00, 0x9FFF),
    (0xF900, 0xFAFF),
    (0x1AFF0, 0x1B16F),
    (0x20000, 0x3FFFF),
)
_WITHOUT_SPACES = (
    (0x0E00, 0x0EFF),  # Thai, Lao
    (0x1000, 0x109F),  # Burmese
    (0x1780, 0x17FF),  # Khmer
    (0x1950, 0x19FF),  # Tai Le, New Tai Lue, Khmer symbols
    (0x1A20, 0x1AAF),  # Tai Tham
    (0xA980, 0xA9FF),  # Javanese, Burmese extended
    (0xAA60, 0xAADF),  # Burmese extended, Tai Viet
)
_JAMO = ((0x1100, 0x11FF), (0xA960, 0xA97F), (0xD7B0, 0xD7FF))  # compose with each other

_ODD = 0x9E3779B97F4A7C15  # 2^64 / golden ratio
_FIRST = 0xBF58476D1CE4E5B9  # splitmix64's multipliers
_SECOND = 0x94D049BB133111EB
_BASE = 0x5851F42D4C957F2D  # odd, so it has an inverse modulo 2^64
_MASK = (1 << 64) - 1


def words_of(text: str) -> list[str]:
    """The words of one text, by the definition above; slow, for tests and for readers."""
    words: list[str] = []
    before, last = _GAP, 0
    for character in unicodedata.normalize("NFKC", text):
        kind, lowered = _classify(character)
        if kind == _IGNORED:
            continue
        code = ord(lowered)
        joins = (kind == before == _LETTER) or (
            before >= _UNSPACED and (kind == _UNSPACED_MARK or (kind == _UNSPACED and not _cuts(last, code)))
        )
        if joins:
            words[-1] += lowered
        elif kind != _GAP:
            words.append(lowered)
        before, last = kind, code
    return words


def word_hash(word: str) -> int:
    """The hash that a batch gives this word: a polynomial of its characters' random values modulo 2^64."""
    total = 0
    for character in reversed(word):
        total = (total * _BASE + _splitmix(ord(character))) & _MASK
    return total


class Words(msgspec.Struct, frozen=True):
    """The words of many texts in order: one hash each, and how many each text has."""

    hashes: Hashes
    counts: Counts


def hash_words(texts: Sequence[str]) -> Words:
    """The words of each text."""
    blocks = list(word_blocks(texts))
    if len(blocks) == 1:
        return blocks[0]
    hashes = np.concatenate([np.empty(0, np.uint64), *(block.hashes for block in blocks)])
    return Words(hashes, np.concatenate([np.empty(0, np.int64), *(block.counts for block in blocks)]))


def word_blocks(texts: Sequence[str]) -> Iterator[Words]:
    """The words of some whole texts at a time, of about BLOCK characters; memory is about 40 bytes a character."""
    block: list[str] = []
    size = 0
    for text in texts:
        block.append(text)
        size += len(text)
        if size >= BLOCK:
            yield _read(block)
            block, size = [], 0
    if block:
        yield _read(block)


def _read(texts: list[str]) -> Words:
    codes = _codes(texts)
    sizes = np.array([len(text) + 1 for text in texts])
    beyond, kinds = _beyond(codes)
    if kinds.max(initial=_GAP) >= _NEIGHBOURS:
        codes = _normalised(texts, codes, sizes, beyond[kinds >= _NEIGHBOURS])
        beyond, kinds = _beyond(codes)
        kinds &= _WITHOUT_FLAG
    ends = np.cumsum(sizes)
    if kinds.max(initial=_GAP) == _IGNORED:
        stays = kinds != _IGNORED
        ignored = beyond[~stays]
        codes, ends = np.delete(codes, ignored), ends - np.searchsorted(ignored, ends)
        beyond, kinds = beyond[stays], kinds[stays]
        beyond -= np.searchsorted(ignored, beyond)
    most = int(kinds.max(initial=_LETTER))
    values = _VALUES.take(codes)
    whole = (values != 0).view(np.uint8)
    if most > _LETTER:
        whole[beyond] = kinds
    starts = _starts(whole, values, most)
    return Words(_sums(values, starts), np.diff(np.searchsorted(starts, ends), prepend=0))


def _beyond(codes: Codes) -> tuple[Places, Kinds]:
    """Where characters beyond ASCII are, and what they are; in ASCII a value says enough: letters have one, gaps 0."""
    places = np.flatnonzero(codes > _ASCII) if codes.dtype != np.uint8 else _NOWHERE
    return places, _kinds(codes.take(places))


def _sums(values: Hashes, starts: Places) -> Hashes:
    """The polynomial of each word's values; overwrites `values`."""
    up, down = _powers(len(values))
    values *= up  # a gap's value is 0, so a sum may run over it up to the next word
    sums = np.empty(len(values) + 1, dtype=np.uint64)
    sums[0] = 0
    np.cumsum(values, out=sums[1:])
    hashes = sums.take(starts)
    np.subtract(hashes[1:], hashes[:-1], out=hashes[:-1])
    hashes[-1:] = sums[-1] - hashes[-1:]
    hashes *= down.take(starts)
    return hashes


def _codes(texts: list[str]) -> Codes:
    """Code points of all texts, a space behind each; bytes where all are ASCII."""
    joined = " ".join(texts) + " "
    if joined.isascii():
        return np.frombuffer(joined.encode("ascii"), dtype=np.uint8)
    return np.frombuffer(joined.encode("utf-32-le", "surrogatepass"), dtype=np.uint32)


def _normalised(texts: list[str], codes: Codes, sizes: Counts, places: Places) -> Codes:
    """The texts' codes with those texts in normal form that `places` lie in; their `sizes` are set anew."""
    ends = np.cumsum(sizes)
    parts, last = [], 0
    for number in np.unique(np.searchsorted(ends, places, "right")).tolist():
        normal = unicodedata.normalize("NFKC", texts[number])
        parts += [codes[last : ends[number] - sizes[number]], _codes([normal])]
        last, sizes[number] = ends[number], len(normal) + 1
    return np.concatenate([*parts, codes[last:]])


def _starts(kinds: Kinds, values: Hashes, most: int) -> Places:
    """Where words begin; `most` is the largest kind there is."""
    begins = np.empty(len(kinds), dtype=bool)
    begins[0] = kinds[0] != _GAP
    now, before = kinds[1:], kinds[:-1]
    if most == _LETTER:
        np.greater(now, before, out=begins[1:])
        return np.flatnonzero(begins)
    joins = (now == _LETTER) & (before == _LETTER)
    if most >= _UNSPACED:
        cut = (values[:-1] * np.uint64(3) + values[1:]) >> np.uint64(40) & np.uint64(3) == 0
        joins |= (before >= _UNSPACED) & ((now == _UNSPACED_MARK) | ((now == _UNSPACED) & ~cut))
    np.greater(now, joins * np.uint8(_IGNORED), out=begins[1:])
    return np.flatnonzero(begins)


def _cuts(last: int, following: int) -> bool:
    """Whether a word begins between two neighbouring characters of a script without spaces."""
    return (_splitmix(last) * 3 + _splitmix(following)) >> 40 & 3 == 0


def _splitmix(value: int) -> int:
    value = (value + 1) * _ODD & _MASK
    value = (value ^ value >> 30) * _FIRST & _MASK
    value = (value ^ value >> 27) * _SECOND & _MASK
    return value ^ value >> 31


@lru_cache(maxsize=1 << 12)
def _classify(character: str) -> tuple[int, str]:
    """Kind and lower case of one character of normalised text."""
    code, category = ord(character), unicodedata.category(character)
    if category == "Cf" or 0xFE00 <= code <= 0xFE0F or 0xE0100 <= code <= 0xE01EF:
        return _IGNORED, character
    if not (character.isalnum() or category[0] == "M" or character == "_"):
        return _GAP, character
    lowered = character.lower()
    lowered = lowered if len(lowered) == 1 else character
    if any(low <= code <= high for low, high in _WITHOUT_SPACES):
        return (_UNSPACED_MARK if category[0] == "M" else _UNSPACED), lowered
    if category[0] != "M" and any(low <= code <= high for low, high in _IDEOGRAPHS):
        return _SINGLE, lowered
    return _LETTER, lowered


# By code point, filled as characters are met.
_KINDS = np.full(0x110000, _UNKNOWN, dtype=np.uint8)
_VALUES = np.zeros(0x110000, dtype=np.uint64)


def _kinds(codes: Codes) -> Kinds:
    kinds = _KINDS.take(codes)
    if kinds.max(initial=_GAP) == _UNKNOWN:
        _learn(np.unique(codes[kinds == _UNKNOWN]).tolist())
        kinds = _KINDS.take(codes)
    return kinds


def _learn(codes: Iterable[int]) -> None:
    for code in codes:
        normal = unicodedata.normalize("NFKC", chr(code))
        parts = [_classify(character) for character in normal]
        kinds = {kind for kind, _ in parts}
        if kinds <= {_GAP}:
            _KINDS[code] = _GAP
        elif len(normal) > 1:
            _KINDS[code] = _NEIGHBOURS
        else:
            ((kind, lowered),) = parts
            hangs = unicodedata.category(normal)[0] == "M" or any(low <= code <= high for low, high in _JAMO)
            _KINDS[code] = kind | (_NEIGHBOURS if hangs else 0)
            _VALUES[code] = 0 if kind == _IGNORED else _splitmix(ord(lowered))


_learn(range(_ASCII + 1))  # `_beyond` looks for none of them

_UP = np.ones(1, dtype=np.uint64)
_DOWN = np.ones(1, dtype=np.uint64)


def _powers(count: int) -> tuple[Hashes, Hashes]:
    """The first `count` powers of the base and of its inverse; kept, and grown when a longer block comes."""
    global _UP, _DOWN
    if len(_UP) < count:
        inverse = pow(_BASE, -1, 1 << 64)
        ones = np.full(max(count, 2 * BLOCK), 1, dtype=np.uint64)
        ones[1:] = _BASE
        _UP = np.multiply.accumulate(ones)
        ones[1:] = inverse
        _DOWN = np.multiply.accumulate(ones)
    return _UP[:count], _DOWN
