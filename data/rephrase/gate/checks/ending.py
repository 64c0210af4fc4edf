"""A rewrite that stops in the middle of a sentence."""

import re

from trivium.data.rephrase.gate.pair import Finding
from trivium.data.rephrase.gate.reading import Comparison, shown

_ENDS = re.compile(r"[.!?…。！？｡۔؟:;)\]}>»”’\"'」』*_|$`%0-9、-]\s*$")
_LONG = 60  # letters of a last line that is no heading and no entry of a list


def check(both: Comparison) -> Finding:
    """The last line ends as a sentence does, or is short, or a list's entry, or the source has no end either."""
    text = both.rewrite.text.rstrip()
    last = text.rsplit("\n", 1)[-1].strip()
    wide = len(last) + 2 * len(re.findall(r"[\u3040-\u9fff]", last))
    listed = re.match(r"[-*•|#]|\d+[.)]", last)
    open_ended = (
        wide >= _LONG and not listed and not _ENDS.search(text) and bool(_ENDS.search(both.source.text.rstrip()))
    )
    detail = f"the rewrite ends with {shown(last[-60:])}" if open_ended else ""
    return Finding(
        check="ending", score=0.0 if open_ended else 1.0, passed=not open_ended,
        reason="unfinished" if open_ended else "", detail=detail,
    )  # fmt: skip
