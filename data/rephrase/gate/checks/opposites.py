"""Words that stand there as their opposite: more for less, before for after, reachable for unreachable."""

import re
from functools import cache
from typing import NamedTuple

from trivium.data.rephrase.gate.checks.denials import denies
from trivium.data.rephrase.gate.lexicon import UNSPACED, any_of, lexicon
from trivium.data.rephrase.gate.likeness import stems
from trivium.data.rephrase.gate.pair import Finding
from trivium.data.rephrase.gate.read.antonyms import forms, opposed
from trivium.data.rephrase.gate.reading import Comparison, shown

_BEFORE = 12  # characters before a word in which a denial is its own
_LETTERS = re.compile(r"[^\W\d_]+")
# A comparison can be turned round: `A is larger than B` is `B is smaller than A`.
_COMPARED = re.compile(r"\b(?:than|als|que|che|do que|чем)\b|比|より")


class _Pair(NamedTuple):
    name: str
    denied: bool
    sides: tuple[re.Pattern[str], re.Pattern[str]]


@cache
def _pairs(language: str) -> tuple[_Pair, ...]:
    return tuple(
        _Pair(pair.name, pair.denied, (any_of(pair.one, language), any_of(pair.two, language)))
        for pair in lexicon(language).opposites
    )


def check(both: Comparison) -> Finding:
    """In no two sentences that are partners stands a word in one and only its opposite in the other.

    Across languages words are not compared, only which sides of which pairs come, where both lists have the pair.
    Turned round, `A is larger than B` is `B is smaller than A`: with the common words in reverse order it passes.
    """
    source, rewrite = both.source, both.rewrite
    for place, sentence in enumerate(source.sentences):
        row = both.likeness[place]
        if not len(row) or float(row.max()) < both.config.partner:
            continue
        for partner in both.partners(place, of_source=True):
            best = rewrite.sentences[partner]
            found = (
                _flipped(both, partner, sentence, best)
                or _prefixed(both, sentence, best)
                or _exchanged(both, sentence, best)
            )
            if not found:
                continue
            detail = f"{shown(found[0])} in {shown(sentence)} became {shown(found[1])} in {shown(best)}"
            return Finding(check="opposites", score=0.0, passed=False, reason="opposite", detail=detail)
    return Finding(check="opposites", score=1.0, passed=True)


def _flipped(both: Comparison, partner: int, sentence: str, best: str) -> tuple[str, str] | None:
    """A side of a pair that all partners of a sentence lack, while one of them has more of the other side."""
    ours, theirs = both.source.language, both.rewrite.language
    alike = denies(sentence, ours) == denies(best, theirs)
    back = both.partners(partner, of_source=False)
    around = " ".join({sentence, *(both.source.sentences[i] for i in back)}).lower()
    lowered, counterpart = sentence.lower(), best.lower()
    named = {pair.name: pair for pair in _pairs(theirs) if pair.name}
    for pair in _pairs(ours):
        other = pair if ours == theirs else named.get(pair.name)
        if other is None or (pair.denied and not alike):
            continue
        for side in (0, 1):
            (mine, against), (theirs_mine, theirs_against) = (_sides(each, side) for each in (pair, other))
            gone, came = mine.search(lowered), theirs_against.search(counterpart)
            if not gone or not came or _denied(lowered, gone, ours) != _denied(counterpart, came, theirs):
                continue  # `without losing` is `keeps`
            texts = ((lowered, counterpart), (both.source.lower, both.rewrite.lower))
            less = all(len(mine.findall(a)) > len(theirs_mine.findall(b)) for a, b in texts)
            texts = ((around, counterpart), (both.source.lower, both.rewrite.lower))
            more = all(len(against.findall(a)) < len(theirs_against.findall(b)) for a, b in texts)
            compared = _COMPARED.search(lowered) or _COMPARED.search(counterpart)
            if less and more and not (compared and ours == theirs and _turned(sentence, best)):
                return gone[0], came[0]
    return None


def _denied(text: str, word: re.Match[str], language: str) -> bool:
    """Whether a denial stands right before a word."""
    return denies(text[max(0, word.start() - _BEFORE) : word.start()], language)


def _sides(pair: _Pair, side: int) -> tuple[re.Pattern[str], re.Pattern[str]]:
    """One side's words and the other's."""
    return pair.sides[side], pair.sides[1 - side]


def _prefixed(both: Comparison, sentence: str, best: str) -> tuple[str, str] | None:
    """A word that one text has with a prefix that denies, and the other without it, where both deny alike."""
    language = both.source.language
    if both.pair.translated or language in UNSPACED or denies(sentence, language) != denies(best, language):
        return None
    ours, theirs = (set(_LETTERS.findall(text)) for text in (both.source.lower, both.rewrite.lower))
    mine, other = set(_LETTERS.findall(sentence.lower())), set(_LETTERS.findall(best.lower()))
    for prefix in lexicon(language).prefixes:
        for word in sorted(other - ours):
            if len(word) < 5 + len(prefix) * (not word.startswith(prefix)):
                continue
            if word.startswith(prefix) and word[len(prefix) :] in mine and word[len(prefix) :] not in theirs:
                return word[len(prefix) :], word
            if prefix + word in mine and prefix + word not in theirs:
                return prefix + word, word
    return None


def _exchanged(both: Comparison, sentence: str, best: str) -> tuple[str, str] | None:
    """A word that the rewrite has nowhere, where its antonym stands that the source has nowhere; English only."""
    if (both.source.language, both.rewrite.language) != ("en", "en") or denies(sentence, "en") != denies(best, "en"):
        return None
    if (_COMPARED.search(sentence) or _COMPARED.search(best)) and _turned(sentence, best):
        return None
    near = both.partners(both.source.sentences.index(sentence), of_source=True)
    back = both.partners(both.rewrite.sentences.index(best), of_source=False)
    ours = " ".join({sentence, *(both.source.sentences[i] for i in back)}).lower()
    theirs = " ".join({best, *(both.rewrite.sentences[i] for i in near)}).lower()
    known, told = (frozenset().union(*map(forms, _LETTERS.findall(text))) for text in (ours, theirs))
    gone, came = _said_plainly(sentence.lower(), told), _said_plainly(best.lower(), known)
    return next(((one, other) for one in gone for other in came if opposed(one, other)), None)


def _said_plainly(text: str, elsewhere: frozenset[str]) -> list[str]:
    """Words of a sentence that the other text has in no form, and that no denial stands before."""
    found = [word for word in _LETTERS.finditer(text) if not forms(word[0]) & elsewhere]
    return [word[0] for word in found if not _denied(text, word, "en")]


def _turned(one: str, other: str) -> bool:
    """Whether most pairs of common words come in the other order."""
    common = stems(one) & stems(other)
    first, second = one.lower(), other.lower()
    order = sorted(common, key=first.find)
    pairs = [(a, b) for i, a in enumerate(order) for b in order[i + 1 :]]
    return bool(pairs) and sum(second.find(a) > second.find(b) for a, b in pairs) * 2 > len(pairs)
