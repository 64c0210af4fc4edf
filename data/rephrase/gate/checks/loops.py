"""A model that fell into a loop: the same words again and again."""

from collections import Counter

from trivium.data.rephrase.gate.pair import Finding
from trivium.data.rephrase.gate.reading import Comparison, shown
from trivium.data.text.repetition import shares
from trivium.data.text.view import View

_SCORE = "duplicate_8grams"
_LEAST = 20  # letters of a sentence that comes twice


def check(both: Comparison) -> Finding:
    """Share of characters in repeated 8-grams, or sentences that come three times, beyond the source's own."""
    source, rewrite = shares(View(both.pair.source)), shares(View(both.pair.rewrite))
    beyond = rewrite[_SCORE] - source[_SCORE]
    often = Counter(sentence for sentence in both.rewrite.sentences if len(sentence) >= _LEAST).most_common(1)
    thrice = bool(often) and often[0][1] > 2 and both.source.text.count(often[0][0]) < 3
    looping = beyond > both.config.loop or thrice
    detail = ""
    if looping:
        detail = f"{rewrite[_SCORE]:.0%} of the text repeats eight words, {source[_SCORE]:.0%} of the source"
        detail += f"; {often[0][1]} times {shown(often[0][0])}" if thrice else ""
    score = max(0.0, min(1.0, 1.0 - beyond))
    return Finding(check="loops", score=score, passed=not looping, reason="loop" if looping else "", detail=detail)
