"""How much of a text is its own repetition: shares of characters in repeated word n-grams (Gopher, table A1).

Odd: n-grams are numbered exactly, each from the numbers of two (n - 1)-grams, and only those that came twice are
followed to the next n, since an n-gram can repeat only where both of its (n - 1)-grams do. Nothing is hashed.
"""

from collections.abc import Iterator, Sequence

import numpy as np

from trivium.data.text.view import Numbers, View

TOP_NGRAMS = (2, 3, 4)
DUPLICATE_NGRAMS = (5, 6, 7, 8, 9, 10)


def shares(view: View) -> dict[str, float]:
    """`top_2gram` … `duplicate_10grams`, each a share of the text's characters.

    Top: all occurrences of the most frequent n-gram, its words joined by blanks (of several, the first). Duplicate:
    n-grams that came before, read from the left without overlap. An n-gram that stands once counts nothing.
    """
    found = {f"top_{n}gram": 0.0 for n in TOP_NGRAMS} | {f"duplicate_{n}grams": 0.0 for n in DUPLICATE_NGRAMS}
    if not view.text:
        return found
    before = np.concatenate(([0], np.cumsum(view.lengths)))
    for n, starts, grams in _repeats(view.numbered[1], max(DUPLICATE_NGRAMS)):
        if n in TOP_NGRAMS:
            found[f"top_{n}gram"] = _top(starts, grams, before, n) / len(view.text)
        if n in DUPLICATE_NGRAMS:
            found[f"duplicate_{n}grams"] = _duplicate(starts, grams, before, n) / len(view.text)
    return found


def _repeats(numbers: Numbers, longest: int) -> Iterator[tuple[int, Numbers, Numbers]]:
    """(n, where n-grams that come more than once start, their numbers) for each n that has any, from 2."""
    starts = np.flatnonzero(np.bincount(numbers)[numbers] > 1)
    grams = numbers[starts]
    place = np.full(len(numbers) + 1, -1, dtype=np.int64)
    for n in range(2, longest + 1):
        if not len(starts):
            return
        place[:] = -1
        place[starts] = grams
        following = place[starts + 1]
        chosen = following >= 0  # the last start of all has the sentinel behind it
        keys = grams[chosen] * (int(grams.max()) + 1) + following[chosen]
        starts, grams = _often(starts[chosen], keys)
        if len(starts):
            yield n, starts, grams


def _often(starts: Numbers, keys: Numbers) -> tuple[Numbers, Numbers]:
    """Those starts whose key comes more than once, and the keys numbered anew."""
    _, grams, times = np.unique(keys, return_inverse=True, return_counts=True)
    chosen = times[grams] > 1
    return starts[chosen], grams[chosen]


def _top(starts: Numbers, grams: Numbers, before: Numbers, n: int) -> int:
    times = np.bincount(grams)[grams]
    first = int(np.argmax(times))
    start = int(starts[first])
    return int(times[first]) * (int(before[start + n] - before[start]) + n - 1)


def _duplicate(starts: Numbers, grams: Numbers, before: Numbers, n: int) -> int:
    seen: set[int] = set()
    total = free = 0
    sizes: Sequence[int] = (before[starts + n] - before[starts]).tolist()
    for start, gram, size in zip(starts.tolist(), grams.tolist(), sizes, strict=True):
        if start < free:
            continue
        if gram in seen:
            total += size
            free = start + n
        seen.add(gram)
    return total
