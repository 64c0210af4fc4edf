"""Denials: what the source denies is denied, and what it says is said; sentence by sentence.

Odd: no list holds all ways to deny, and `stayed healthy` answers `did not fall ill`. So a denial that stands alone is
put to the proof: without its particle the sentence must come nearer to its partner, by the embeddings. A particle that
the partner's words bear out takes the sentence further away when it goes.
"""

import re
from functools import cache

from trivium.data.rephrase.gate.lexicon import UNSPACED, lexicon
from trivium.data.rephrase.gate.pair import Finding
from trivium.data.rephrase.gate.reading import Comparison, Reading, shown

_LETTERS = re.compile(r"[^\W\d_]+")
_WITHOUT = re.compile(r"\b\w{3,}(?:less|los|lose[nrsm]?|frei|freie[nrsm]?)\b|\bfree of\b|-free\b")  # endings that deny
# `not, unless` is `only if`.
_UNLESS = re.compile(r"\b(?:unless|except|other than|es sei denn|außer|sauf|à moins|a menos|salvo)\b|除非|以外")
_ONLY = re.compile(r"\b(?:only|nur|seulement|que si|solo|sólo|soltanto|лишь|только)\b|只|仅|だけ|のみ")
_QUESTION = re.compile(r"[?？]\W*$")
_BORNE_OUT = 0.002  # cosine that a denial without a partner's must be worth, to stand


@cache
def _patterns(language: str) -> tuple[re.Pattern[str], re.Pattern[str], re.Pattern[str]]:
    """Idioms that deny nothing, denials, and words that deny without a particle."""
    words = lexicon(language)
    return _any(words.idioms, language), _any(words.denials, language), _any(words.denying, language)


def _any(words: tuple[str, ...], language: str) -> re.Pattern[str]:
    if not words:
        return re.compile(r"(?!)")
    known = "|".join(re.escape(word).replace(r"\ ", r"\s+") for word in sorted(words, key=len, reverse=True))
    return re.compile(known if language in UNSPACED else rf"(?i)(?<!\w)(?:{known})(?!\w)|(?<=\w)n['’]t\b")


def denies(text: str, language: str) -> bool:
    """Whether a sentence holds a denial that is no idiom and no limit (`not until`, `ne que`)."""
    idioms, denials, _ = _patterns(language)
    plain = idioms.sub(" ", text.lower().replace("’", "'"))
    for limit in lexicon(language).limits:
        plain = re.sub(limit, " ", plain)
    return bool(denials.search(plain))


def affirmed(text: str, language: str) -> str:
    """The sentence without its particles of denial."""
    return " ".join(_patterns(language)[1].sub(" ", text.replace("’", "'")).split())


def hints(text: str, denied: str, language: str) -> bool:
    """Whether a sentence denies without a particle: `lacks`, `fails`, or `impossible` where `denied` has `possible`."""
    denying = _patterns(language)[2]
    plain = text.lower().replace("’", "'")
    if denying.search(plain):
        return True
    if any(re.search(limit, plain) for limit in lexicon(language).limits):
        return True
    if _UNLESS.search(denied.lower()) and _ONLY.search(plain):
        return True
    if language in UNSPACED:
        return False
    stems = {word[:5] for word in _LETTERS.findall(denied.lower()) if len(word) > 3}
    return any(
        word[len(prefix) :][:5] in stems
        for word in _LETTERS.findall(plain)
        for prefix in lexicon(language).prefixes
        if word.startswith(prefix)
    ) or bool(_WITHOUT.search(plain))


def check(both: Comparison) -> Finding:
    """A sentence with a denial has a partner that denies or hints at it, both ways."""
    source, rewrite = both.source, both.rewrite
    if not lexicon(source.language).denials or not lexicon(rewrite.language).denials:
        return Finding(check="denials", score=1.0, passed=True)
    lost = _alone(both, source, rewrite, of_source=True)
    added = _alone(both, rewrite, source, of_source=False)
    count = sum(denies(sentence, source.language) for sentence in source.sentences)
    count += sum(denies(sentence, rewrite.language) for sentence in rewrite.sentences)
    reason = detail = ""
    if lost:
        reason, detail = (
            "negation_lost",
            f"{shown(lost[0][0])} is denied in the source only; the rewrite has {shown(lost[0][1])}",
        )
    elif added:
        reason, detail = "negation_added", f"{shown(added[0][0])} denies what the source says: {shown(added[0][1])}"
    score = 1.0 - (len(lost) + len(added)) / max(1, count)
    return Finding(check="denials", score=max(0.0, score), passed=not reason, reason=reason, detail=detail)


def _alone(both: Comparison, mine: Reading, other: Reading, *, of_source: bool) -> list[tuple[str, str]]:
    """Sentences that deny while nothing of their partners does or bears it out, each with the best of these."""
    found = []
    for place, sentence in enumerate(mine.sentences):
        if not denies(sentence, mine.language) or _QUESTION.search(sentence):
            continue
        row = both.likeness[place] if of_source else both.likeness[:, place]
        least = both.config.partner if not (both.scope.condenses and of_source) else both.config.joined
        if not len(row) or float(row.max()) < least:
            continue  # dropped or invented altogether: another check's business
        near = [other.sentences[i] for i in both.partners(place, of_source=of_source)]
        asked = [i - 1 for i in both.partners(place, of_source=of_source) if i]
        near += [other.sentences[i] for i in asked if _QUESTION.search(other.sentences[i])]  # what it answers
        if any(denies(text, other.language) or hints(text, sentence, other.language) for text in near):
            continue
        best = int(row.argmax())
        if both.nearness(affirmed(sentence, mine.language), best, of_source=of_source) > float(row[best]) - _BORNE_OUT:
            found.append((sentence, other.sentences[best]))
    return found
