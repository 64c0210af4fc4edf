"""Characters that no text should hold, and text that was decoded with the wrong encoding: measured, and mended by ftfy.

Odd: ftfy's detector costs as much as everything else together, so an array comparison first looks for what each of its
patterns needs: two neighbours beyond ASCII of which one is no plain letter of another script, a control character of
the upper half, or one of Ã Â Œ œ. Only lines that have such are shown to ftfy, and only those that it calls bad are
mended, each by itself, since a page joins texts of different histories.
"""

import unicodedata
from collections import Counter
from collections.abc import Iterator
from functools import cache

import msgspec
import numpy as np
import numpy.typing as npt

from trivium.data.frames import DocumentStage
from trivium.data.policy import Limit, decide
from trivium.data.records import Text
from trivium.data.stage import Draft, Outcome, StageConfig

SCORES = ("replacement", "private_use", "control", "unassigned", "mojibake", "mended_lines")
_REPLACEMENT, _PRIVATE, _CONTROL, _UNASSIGNED, _ODD, _LONE = 1, 2, 4, 8, 16, 32
_CODES = 0x110000
# Beyond ASCII, and no plain letter of a script that only pairs with such: Latin, modifiers, punctuation to symbols.
_ODD_RANGES = ((0x80, 0x250), (0x2C6, 0x2DE), (0x384, 0x386), (0x402, 0x403), (0x2010, 0x2700), (0xFB01, 0xFB03))
_ODD_SINGLE = (0xF8FF, 0xFFFD)
_LONE_CODES = (*range(0x80, 0xA0), *map(ord, "ÃÂŒœ"))


@cache
def _table() -> npt.NDArray[np.uint8]:
    """What each code point is suspected of."""
    table = np.zeros(_CODES, dtype=np.uint8)
    for code in range(_CODES):
        category = unicodedata.category(chr(code))
        if category == "Co":
            table[code] = _PRIVATE
        elif category == "Cc":
            table[code] = _CONTROL
        elif category == "Cn":
            table[code] = _UNASSIGNED
    table[[0x09, 0x0A, 0x0D, 0x85]] = 0
    table[0xFFFD] |= _REPLACEMENT
    for first, last in _ODD_RANGES:
        table[first:last] |= _ODD
    table[list(_ODD_SINGLE)] |= _ODD
    table[list(_LONE_CODES)] |= _LONE
    return table


def measure(text: str) -> dict[str, float]:
    """Shares of characters that are U+FFFD, for private use, control characters, not assigned, or ftfy's bad ones."""
    if text.isascii():
        codes = np.frombuffer(text.encode("ascii"), dtype=np.uint8)
        kinds = _table()[codes]
        return _shares(kinds, 0)
    kinds = _kinds(text)
    return _shares(kinds, sum(_badness(line) for _, line in _suspects(text, kinds)))


def _shares(kinds: npt.NDArray[np.uint8], bad: int) -> dict[str, float]:
    size = max(1, len(kinds))
    found = {
        "replacement": int(np.count_nonzero(kinds & _REPLACEMENT)),
        "private_use": int(np.count_nonzero(kinds & _PRIVATE)),
        "control": int(np.count_nonzero(kinds & _CONTROL)),
        "unassigned": int(np.count_nonzero(kinds & _UNASSIGNED)),
        "mojibake": bad,
    }
    return {name: round(count / size, 6) for name, count in found.items()}


def _kinds(text: str) -> npt.NDArray[np.uint8]:
    return _table()[np.frombuffer(text.encode("utf-32-le", "surrogatepass"), dtype=np.uint32)]


def _suspects(text: str, kinds: npt.NDArray[np.uint8]) -> Iterator[tuple[int, str]]:
    """Where a line begins that ftfy should look at, and the line."""
    beyond = np.frombuffer(text.encode("utf-32-le", "surrogatepass"), dtype=np.uint32) > 0x7F
    pairs = beyond[:-1] & beyond[1:] & ((kinds[:-1] | kinds[1:]) & _ODD > 0)
    hits = np.union1d(np.flatnonzero(pairs), np.flatnonzero(kinds & _LONE))
    done = 0
    for hit in hits.tolist():
        if hit >= done:
            start = text.rfind("\n", 0, hit) + 1
            stop = text.find("\n", hit)
            done = len(text) if stop < 0 else stop
            yield start, text[start:done]


def _badness(line: str) -> int:
    from ftfy.badness import badness

    return int(badness(line))


def mend(text: str) -> tuple[str, Counter[str]]:
    """The text with mojibake undone line by line, and how many lines each way of undoing mended.

    A way is ftfy's own account: `encode latin-1, decode utf-8`. Lines that ftfy does not call bad stay as they are.
    """
    ways: Counter[str] = Counter()
    if text.isascii():
        return text, ways
    from ftfy import fix_encoding_and_explain

    parts, end = [], 0
    for start, line in _suspects(text, _kinds(text)):
        if _badness(line):
            mended, steps = fix_encoding_and_explain(line)
            if mended != line and "\n" not in mended:
                ways[", ".join(f"{action} {parameter}" for action, parameter in steps or ())] += 1
                parts += [text[end:start], mended]
                end = start + len(line)
    return ("".join((*parts, text[end:])) if parts else text), ways


class UnicodeRule(Limit, kw_only=True):
    """A limit on one of the scores."""

    KNOWN = SCORES


# Ours, from real pages: none of 2,572 pages of manuals in 20 languages has more; texts with faults have tenfold.
POLICY = (
    UnicodeRule(score="replacement", max=0.002, reason="undecodable"),
    UnicodeRule(score="private_use", max=0.01, reason="private_use"),
    UnicodeRule(score="control", max=0.001, reason="control_characters"),
    UnicodeRule(score="unassigned", max=0.001, reason="unassigned_characters"),
    UnicodeRule(score="mojibake", max=0.002, reason="mojibake"),
)


class Unicode(DocumentStage["Unicode.Config"]):
    """Mends mojibake where ftfy is sure, then measures what is left; the policy decides on that."""

    name = "unicode"
    version = 1

    class Config(StageConfig, kw_only=True, tag="unicode"):
        """`mend: false` only measures."""

        SCORES = SCORES

        mend: bool = True
        policy: tuple[UnicodeRule, ...] = POLICY  # limits on the scores

        def build(self) -> "Unicode":
            return Unicode(self)

    def __init__(self, config: Config) -> None:
        import ftfy

        # Which characters are assigned, and what is mended, hang on these two.
        sources = {"ftfy": ftfy.__version__, "unicode": unicodedata.unidata_version}
        super().__init__(config, known=[config, sources])

    def outcome(self, draft: Draft) -> Outcome:
        ways: Counter[str] = Counter()
        if self.config.mend:
            meta = msgspec.structs.replace(draft.document.meta, title=self._mend(draft.document.meta.title, ways))
            segments = tuple(
                msgspec.structs.replace(part, text=self._mend(part.text, ways)) if isinstance(part, Text) else part
                for part in draft.document.segments
            )
            draft = msgspec.structs.replace(
                draft, document=msgspec.structs.replace(draft.document, segments=segments, meta=meta)
            )
        scores = {**measure(draft.document.text), "mended_lines": float(ways.total())}
        return decide(
            draft, scores, self.config.policy, msgspec.structs.replace(self.step, counts=dict(sorted(ways.items())))
        )

    def _mend(self, text: str, ways: Counter[str]) -> str:
        mended, found = mend(text)
        ways += found
        return mended
