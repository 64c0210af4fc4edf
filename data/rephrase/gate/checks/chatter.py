"""The model's talk about its task, which is no part of a rewrite."""

import re

from trivium.data.rephrase.gate.lexicon import lexicon
from trivium.data.rephrase.gate.pair import Finding
from trivium.data.rephrase.gate.reading import Comparison, shown

_MARKS = re.compile(r"<\|[a-z_]+\|>|\[/?INST\]|<(?:start|end)_of_turn>|^\s*(?:user|assistant|system)\s*:", re.M | re.I)


def check(both: Comparison) -> Finding:
    """No phrase of that kind, and no marks of a chat's turns, that the source does not have."""
    phrases = (*lexicon(both.pair.target).chatter, *lexicon("en").chatter)
    found = [
        phrase for phrase in phrases if phrase.lower() in both.rewrite.lower and phrase.lower() not in both.source.lower
    ]
    found += [
        match[0].strip() for match in _MARKS.finditer(both.rewrite.text) if match[0].strip() not in both.source.text
    ]
    if not found:
        return Finding(check="chatter", score=1.0, passed=True)
    return Finding(
        check="chatter", score=0.0, passed=False, reason="chatter", detail=f"the rewrite says {shown(found[0])}"
    )
