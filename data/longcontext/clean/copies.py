"""Sections of a document that say again what it said before, word for word or nearly (by shingles)."""

from trivium.data.dedup.shingles import ngrams
from trivium.data.dedup.words import hash_words

NGRAM = 5  # words
SECTION = 120  # words; shorter repetitions are style, not copies
ALIKE = 0.6  # share of a section's shingles that stood before it


def copied_words(text: str, *, section: int = SECTION, alike: float = ALIKE) -> float:
    """Share of the words in sections most of whose 5-word shingles stood earlier in the document."""
    words = hash_words([text]).hashes
    if len(words) < 2 * section:
        return 0.0
    seen: set[int] = set()
    copied = 0
    for start in range(0, len(words), section):
        part = words[start : start + section]
        found = set(ngrams(part, NGRAM).tolist())
        if found and sum(one in seen for one in found) >= alike * len(found):
            copied += len(part)
        # Shingles over the border belong to the section before, so that a copy may begin anywhere.
        seen.update(ngrams(words[max(0, start - NGRAM + 1) : start + section], NGRAM).tolist())
    return copied / len(words)
