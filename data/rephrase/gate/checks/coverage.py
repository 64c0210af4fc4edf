"""Whether each sentence of one text has something like it in the other, by the cosine of sentence embeddings.

A sentence of the rewrite with nothing like it is invented; one of the source is dropped. Sentences that were joined or
parted are found by sums of neighbouring vectors, which need no further run of the model.

Odd: a dropped sentence has a partner all the same, on the same subject. It is told by what its partner is like without
it: where the partner is another sentence's, and adding this one takes it further away, nobody says this one.
"""

import re

import numpy as np

from trivium.data.rephrase.gate.likeness import Likeness, plain, sums
from trivium.data.rephrase.gate.pair import Finding
from trivium.data.rephrase.gate.reading import Comparison, shown

_QUESTION = re.compile(r"[?？]\W*$|(?:ですか|ますか|ましたか|のか)。?$")
_LEAST = 14  # letters below which a sentence says nothing by itself
_HARDLY = 0.004  # cosine that a sentence may take its partner further away
_SHORT = 34  # letters below which an answer is read together with its question


def check(both: Comparison) -> Finding:
    """Both ways; questions and very short sentences state nothing, and a style that condenses may drop."""
    source, rewrite, config = both.source, both.rewrite, both.config
    ours, theirs = both.vectors
    slack = config.foreign if both.pair.translated else 0.0
    if not len(ours) or not len(theirs):
        return Finding(check="coverage", score=1.0, passed=True)
    least, reason, detail = 1.0, "", ""
    support = (theirs @ ours.T).max(axis=1)
    for place, sentence in enumerate(rewrite.sentences):
        if _silent(sentence):
            continue
        value = float(support[place])
        if place and _QUESTION.search(rewrite.sentences[place - 1]) and letters(plain(sentence)) < _SHORT:
            value = max(value, float((sums(theirs[place - 1 : place + 1])[-1] @ sums(ours).T).max()))
        least = min(least, value + slack)
        bound = config.invented - (config.brief if letters(plain(sentence)) < _SHORT else 0.0) - slack
        if value < bound and not reason:
            reason, detail = "invented", f"{shown(sentence)} has nothing like it in the source ({value:.2f})"
    for place, sentence in enumerate(source.sentences) if not both.scope.condenses else ():
        if _silent(sentence):
            continue
        value, gone = _said(place, ours, theirs, config.joined)
        least = min(least, value + slack)
        if (value < config.dropped - slack or gone) and not reason:
            reason, detail = "dropped", f"{shown(sentence)} has nothing like it in the rewrite ({value:.2f})"
    return Finding(check="coverage", score=max(0.0, min(1.0, least)), passed=not reason, reason=reason, detail=detail)


def _said(place: int, ours: Likeness, theirs: Likeness, sure: float) -> tuple[float, bool]:
    """How like the best of the rewrite is to one sentence of the source, and whether that is all another one's."""
    value = float((sums(theirs) @ ours[place]).max())
    best = theirs[int((theirs @ ours[place]).argmax())]
    if value >= sure or len(ours) < 2:
        return value, False
    others = ours @ best
    others[place] = -1.0
    owner = int(others.argmax())
    together = ours[owner] + ours[place]
    joined = float(together / np.linalg.norm(together) @ best)
    return value, joined + _HARDLY < float(others[owner])


def _silent(sentence: str) -> bool:
    return bool(_QUESTION.search(sentence)) or letters(plain(sentence)) < _LEAST


def letters(sentence: str) -> int:
    """Letters and digits, a sign of a script without blanks counted as two."""
    return sum(2 if character >= "\u3040" else 1 for character in sentence if character.isalnum())
