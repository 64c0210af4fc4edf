"""The tokens of a text, whose borders cuts go by: never inside a word, a grapheme cluster or a UTF-8 character.

A token is a run of letters and digits, or one character of anything else (punctuation, an ideograph, a letter of a
script written without spaces; the same one many times over is one token), with the marks that follow it. Between
tokens lies white space. In numpy, for all scripts.
"""

import functools
import unicodedata
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

Codes = npt.NDArray[np.uint32]
Places = npt.NDArray[np.int64]
Classes = npt.NDArray[np.uint8]

# Classes of code points. A token is a run of WORD, or of one SINGLE, with the marks (EXTEND, JOINER) that follow.
CONTROL, SPACE, WORD, SINGLE, EXTEND, JOINER = range(6)
_KNOWN = 0x20000  # code points with an entry of their own; beyond lie ideographs, tags and variation selectors
# Scripts written without spaces: each letter is a token. Thai … Lao, Tibetan, Myanmar, Khmer, kana … ideographs.
_UNSPACED = ((0xE00, 0xFFF), (0x1000, 0x109F), (0x1780, 0x17FF), (0x3040, 0x30FF), (0x31F0, 0x9FFF), (0xF900, 0xFAFF))
_UNSPACED_WIDE = ((0xFF66, 0xFF9D), (0x1B000, 0x1B16F))
# What sticks to its predecessor though no mark by category: Thai and Lao AM, halfwidth voicing, skin tones.
_STICKY = (0xE33, 0xEB3, 0xFF9E, 0xFF9F, *range(0x1F3FB, 0x1F400))
# What its successor sticks to: ZWJ, viramas that stack letters, Unicode's Prepend characters.
_GLUE = (0x200D, 0x94D, 0x9CD, 0xACD, 0xB4D, 0xC4D, 0xD4D, 0x17D2, 0x1039, *range(0x600, 0x606), 0x6DD, 0x70F, 0x890)
_GLUE_RARE = (
    0x891,
    0x8E2,
    0xD4E,
    0x110BD,
    0x110CD,
    0x111C2,
    0x111C3,
    0x113D1,
    0x1193F,
    0x11941,
    0x11A3A,
    *range(0x11A84, 0x11A8A),
    0x11D46,
    0x11F02,
)


@functools.cache
def _classes() -> Classes:
    found = np.full(_KNOWN, SINGLE, dtype=np.uint8)
    by_category = {"L": WORD, "N": WORD, "M": EXTEND, "Z": SPACE, "Cc": CONTROL, "Cf": EXTEND}
    for code in range(_KNOWN):
        category = unicodedata.category(chr(code))
        found[code] = by_category.get(category, by_category.get(category[0], SINGLE))
    for first, last in (*_UNSPACED, *_UNSPACED_WIDE):
        part = found[first : last + 1]
        part[part == WORD] = SINGLE
    found[ord("_")] = WORD
    found[0x1F1E6:0x1F200] = WORD  # halves of flags
    found[list(_STICKY)] = EXTEND
    found[[*_GLUE, *_GLUE_RARE]] = JOINER
    return found


@functools.cache
def ascii_classes() -> bytes:
    """A table for `bytes.translate`, which is three times as fast as numpy's gather."""
    return _classes()[:128].tobytes() + bytes(128)


def code_points(text: str) -> Codes:
    """One uint32 for each character; lone surrogates pass."""
    return np.frombuffer(text.encode("utf-32-le", "surrogatepass"), dtype="<u4")


def classify(codes: Codes) -> Classes:
    """The class of each code point."""
    known = _classes()
    if len(codes) and int(codes.max()) >= _KNOWN:
        beyond = codes >= _KNOWN
        found = known.take(np.where(beyond, 0, codes))
        found[beyond] = np.where((codes[beyond] >> 16) == 0xE, EXTEND, SINGLE)
        return found
    return known.take(codes)


@dataclass(frozen=True, slots=True)
class Grid:
    """Where tokens and the white space between them begin: `starts` of all units, `token` says which are tokens."""

    starts: Places
    token: npt.NDArray[np.bool_]


def grid(codes: Codes, classes: Classes) -> Grid:
    """Tokens and gaps of a text; a token never begins inside a grapheme cluster. The units cover the text."""
    size = len(classes)
    if not size:
        return Grid(np.empty(0, np.int64), np.empty(0, np.bool_))
    kind = classes
    word = kind == WORD
    marks: npt.NDArray[np.bool_] | None = None
    if int(kind.max()) >= EXTEND:
        kind, marks, word = _attached(kind, word)
    solid = kind > SPACE
    begins = np.empty(size, np.bool_)  # a word character behind another begins no token
    begins[0] = True
    np.logical_not(word[:-1] & word[1:], out=begins[1:])
    pairs = np.flatnonzero((classes[1:] == SINGLE) & (classes[:-1] == SINGLE)) + 1
    begins[pairs[codes[pairs] == codes[pairs - 1]]] = False
    begins &= solid
    if marks is not None:
        begins &= ~marks
    gap = np.empty(size, np.bool_)
    gap[0] = not solid[0]
    np.logical_and(solid[:-1], ~solid[1:], out=gap[1:])
    starts = np.flatnonzero(begins | gap)
    return Grid(starts, solid[starts])


def _attached(
    kind: Classes, word: npt.NDArray[np.bool_]
) -> tuple[Classes, npt.NDArray[np.bool_], npt.NDArray[np.bool_]]:
    """(class of what each character belongs to, which ones belong to the one before, which ones continue a word)."""
    order = np.arange(len(kind))
    last = np.maximum.accumulate(np.where(kind == EXTEND, 0, order))
    glue = np.concatenate(([False], kind[last][:-1] == JOINER))  # what sticks to the glue before it
    marks = kind >= EXTEND
    word = word[np.maximum.accumulate(np.where(marks, 0, order))]
    bare = np.flatnonzero(marks & np.concatenate(([True], kind[:-1] <= SPACE)))  # marks with no letter before them
    kind = kind.copy()
    lead = bare[bare > 0] - 1
    kind[lead[kind[lead] == SPACE]] = SINGLE  # a mark sits on its space
    loose = bare[(bare == 0) | (kind[bare - 1] == CONTROL)]
    kind[loose] = SINGLE
    marks[loose] = False
    marks |= glue & (kind > CONTROL)
    return kind[np.maximum.accumulate(np.where(marks, 0, order))], marks, word
