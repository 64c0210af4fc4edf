"""What is measured about a text: the rules of Gopher, C4 and FineWeb as plain scores. No rule decides anything here.

Sources: Gopher, arXiv 2112.11446, table A1 (quality and repetition); C4, arXiv 1910.10683, section 2.2; FineWeb, arXiv
2406.17557, section 3.6 (line punctuation, short lines, characters in duplicated lines).
"""

import re
from collections import Counter
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

Numbers = npt.NDArray[np.int64]

_WORD = re.compile(r"\S+")
_LETTER = re.compile(r"[^\W\d_]")
_STOP = frozenset({"the", "be", "to", "of", "and", "that", "have", "with"})  # Gopher's eight
_BULLETS = ("•", "-", "*", "‣", "◦", "–", "·")
_ENDS = (".", "!", "?", '"', "”", "'", "’", "。", "！", "？", ":", ";")
_SHORT_LINE = 30  # characters, FineWeb

TOP_NGRAMS = (2, 3, 4)
DUPLICATE_NGRAMS = (5, 6, 7, 8, 9, 10)
SCORES = (
    "words",
    "mean_word_length",
    "symbols_per_word",
    "bullet_lines",
    "ellipsis_lines",
    "alphabetic_words",
    "stop_words",
    "duplicate_lines",
    "duplicate_line_characters",
    *(f"top_{n}gram" for n in TOP_NGRAMS),
    *(f"duplicate_{n}grams" for n in DUPLICATE_NGRAMS),
    "punctuated_lines",
    "short_lines",
    "lines_per_word",
    "curly_brackets",
    "placeholder",
)


def measure(text: str) -> dict[str, float]:
    """All scores of one text; counts are counts, everything else is a share between 0 and 1 or a mean."""
    words = _WORD.findall(text)
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    if not words:
        return dict.fromkeys(SCORES, 0.0)
    scores = {**_words(text, words), **_lines(lines), **_repetition(words)}
    scores["lines_per_word"] = max(0, len(lines) - 1) / len(words)
    lowered = text.lower()
    scores["curly_brackets"] = float(text.count("{") + text.count("}"))
    scores["placeholder"] = float("lorem ipsum" in lowered or "javascript is disabled" in lowered)
    return {name: round(float(scores[name]), 4) for name in SCORES}


def _words(text: str, words: Sequence[str]) -> dict[str, float]:
    count = len(words)
    bare = Counter(word.strip(".,;:!?\"'()[]").lower() for word in words)
    return {
        "words": count,
        "mean_word_length": sum(map(len, words)) / count,
        "symbols_per_word": (text.count("#") + text.count("...") + text.count("…")) / count,
        "alphabetic_words": sum(1 for word in words if _LETTER.search(word)) / count,
        "stop_words": sum(1 for word in _STOP if word in bare),
    }


def _lines(lines: Sequence[str]) -> dict[str, float]:
    count = len(lines)
    seen: set[str] = set()
    repeated = repeated_characters = 0
    for line in lines:
        if line in seen:
            repeated += 1
            repeated_characters += len(line)
        seen.add(line)
    return {
        "bullet_lines": sum(line.startswith(_BULLETS) for line in lines) / count,
        "ellipsis_lines": sum(line.endswith(("...", "…")) for line in lines) / count,
        "duplicate_lines": repeated / count,
        "duplicate_line_characters": repeated_characters / sum(map(len, lines)),
        "punctuated_lines": sum(line.endswith(_ENDS) for line in lines) / count,
        "short_lines": sum(len(line) <= _SHORT_LINE for line in lines) / count,
    }


def _repetition(words: Sequence[str]) -> dict[str, float]:
    """Share of characters in the most frequent n-gram (small n) and in any repeated n-gram (large n).

    N-grams are numbered exactly, each from the number of its first n - 1 words and its last word; nothing is hashed.
    """
    table: dict[str, int] = {}
    numbers = np.array([table.setdefault(word, len(table)) for word in words], dtype=np.int64)
    lengths = np.array([len(word) for word in words], dtype=np.int64)
    total = int(lengths.sum())
    scores: dict[str, float] = {f"top_{n}gram": 0.0 for n in TOP_NGRAMS}
    scores |= {f"duplicate_{n}grams": 0.0 for n in DUPLICATE_NGRAMS}
    grams = numbers
    for n in range(2, min(max(DUPLICATE_NGRAMS), len(words)) + 1):
        keys = grams[:-1] * len(table) + numbers[n - 1 :]
        _, first, grams = np.unique(keys, return_index=True, return_inverse=True)
        if n in TOP_NGRAMS:
            scores[f"top_{n}gram"] = _top(grams, first, lengths, n) / total
        if n in DUPLICATE_NGRAMS:
            scores[f"duplicate_{n}grams"] = _repeated(grams, first, lengths, n) / total
    return scores


def _top(grams: Numbers, first: Numbers, lengths: Numbers, n: int) -> int:
    """Characters in all occurrences of the most frequent n-gram; of several, the one with most characters."""
    times = np.bincount(grams)
    best = int(times.max())
    if best < 2:
        return 0
    starts = first[times == best]
    before = np.concatenate(([0], np.cumsum(lengths)))
    return best * int((before[starts + n] - before[starts]).max())


def _repeated(grams: Numbers, first: Numbers, lengths: Numbers, n: int) -> int:
    """Characters of words inside an n-gram that came before; each word counts once."""
    again = np.ones(len(grams), dtype=bool)
    again[first] = False
    edges = np.zeros(len(lengths) + 1, dtype=np.int64)
    starts = np.flatnonzero(again)
    np.add.at(edges, starts, 1)
    np.add.at(edges, starts + n, -1)
    return int(lengths[np.cumsum(edges[:-1]) > 0].sum())
