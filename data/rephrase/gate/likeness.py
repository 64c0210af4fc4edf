"""Sentences as vectors, and as the words that they share."""

import re
from collections.abc import Callable, Sequence

import numpy as np
import numpy.typing as npt

Likeness = npt.NDArray[np.float32]
Embed = Callable[[Sequence[str]], Likeness]  # unit vectors, one row a text

_WORD = re.compile(r"[^\W_]+")
_HAN = re.compile(r"[\u3040-\u30ff\u3400-\u9fff]")
_LEAD = re.compile(r"^(?:[-*•・#>|\s]+|\(?\d{1,2}[.)]\s+|\*\*)*")
_LABEL = re.compile(r"^[^\W\d_][\w .'’-]{0,20}\s?[:：]\s*(?=\S)")
_WIDTHS = (1, 2, 3)  # neighbouring sentences whose vectors are summed
_STEM = 5  # letters of a word that tell it from others, whatever its ending


def plain(sentence: str) -> str:
    """A sentence without the marks of a list and without who speaks."""
    return _LABEL.sub("", _LEAD.sub("", sentence)).strip() or sentence


def sums(vectors: Likeness) -> Likeness:
    """Unit vectors of up to three neighbouring sentences together; a row each."""
    rows = [vectors[i : i + width].sum(axis=0) for width in _WIDTHS for i in range(len(vectors) - width + 1)]
    table = np.stack(rows)
    result: Likeness = table / np.linalg.norm(table, axis=1, keepdims=True)
    return result


def stems(text: str) -> frozenset[str]:
    """First letters of longer words, and pairs of neighbouring signs where no blanks part words."""
    found: set[str] = set()
    for word in _WORD.findall(text.lower()):
        if _HAN.search(word):
            found.update(word[i : i + 2] for i in range(max(1, len(word) - 1)))
        elif len(word) > 3 or word.isdigit():
            found.add(word[:_STEM])
    return frozenset(found)


def placed_stems(text: str) -> list[tuple[str, int]]:
    """The stems of a text's longer words, each with its place."""
    found = []
    for match in _WORD.finditer(text.lower()):
        word = match[0]
        if _HAN.search(word):
            found += [(word[i : i + 2], match.start() + i) for i in range(max(1, len(word) - 1))]
        elif len(word) > 3 and not word.isdigit():
            found.append((word[:_STEM], match.start()))
    return found
