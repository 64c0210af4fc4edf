"""Length of the rewrite over the source's, in letters of a Latin script."""

import re

from trivium.data.rephrase.gate.pair import Finding
from trivium.data.rephrase.gate.reading import Comparison

_HAN = re.compile(r"[\u3400-\u9fff\uac00-\ud7a3]")  # Hangul syllables among them
_KANA = re.compile(r"[\u3040-\u30ff]")
_BLANK = re.compile(r"\s")


def letters(text: str) -> float:
    """Characters that are not blank; a Han sign or Hangul syllable says as much as three letters, a kana as two."""
    size = len(text) - len(_BLANK.findall(text))
    return size + 2.0 * len(_HAN.findall(text)) + len(_KANA.findall(text))


def check(both: Comparison) -> Finding:
    """Neither much shorter, unless the style condenses, nor much longer."""
    config = both.config
    ratio = letters(both.pair.rewrite) / max(1.0, letters(both.pair.source))
    least = config.condensed if both.scope.condenses else config.shortest
    reason = "too_short" if ratio < least else "too_long" if ratio > config.longest else ""
    detail = f"{ratio:.2f} of the source's length; {least:g} to {config.longest:g} is allowed" if reason else ""
    score = min(1.0, ratio / least, config.longest / max(ratio, 1e-9))
    return Finding(check="length", score=score, passed=not reason, reason=reason, detail=detail)
