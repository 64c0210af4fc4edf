"""A rewrite that is the source again, or a piece of it."""

import numpy as np

from trivium.data.dedup.shingles import jaccard, shingles_of
from trivium.data.rephrase.gate.pair import Finding
from trivium.data.rephrase.gate.reading import Comparison

_LEAST = 12  # 5-grams of the smaller text from which on containment says something


def check(both: Comparison) -> Finding:
    """Jaccard similarity of word triples, and how much of the smaller text's 5-grams the other one holds.

    Protected stretches are the same by order, so they do not count.
    """
    source, rewrite = both.pair.source, both.pair.rewrite
    for text in both.pair.protected:
        source, rewrite = source.replace(text, "\n"), rewrite.replace(text, "\n")
    alike = jaccard(shingles_of(source, 3), shingles_of(rewrite, 3))
    one, other = shingles_of(source, 5), shingles_of(rewrite, 5)
    smaller = min(len(one), len(other))
    held = len(np.intersect1d(one, other, assume_unique=True)) / smaller if smaller >= _LEAST else 0.0
    if source.strip() and source.split() == rewrite.split():
        alike = 1.0
    config = both.config
    copied = alike >= config.copy or held >= config.contained
    detail = (
        f"{alike:.0%} of the word triples are common, {held:.0%} of the smaller text stands in the other"
        if copied
        else ""
    )
    return Finding(
        check="copies", score=1.0 - max(alike, held), passed=not copied, reason="copy" if copied else "", detail=detail
    )
