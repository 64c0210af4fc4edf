"""Two texts beside each other: the words that one has and the other lacks, as pieces that the page marks.

Odd: what comes out is lists of (kind, text), never markup. A passage ends where its excerpt was cut off, amid a word as
often as not: what only one side still holds at the end is no difference, and is not marked.
"""

import re
from collections.abc import Sequence
from difflib import SequenceMatcher

SAME, ONLY = "same", "only"
LONGEST = 1200  # characters of a passage; the comparison is quadratic in its words
BEHIND = 200  # characters more of what stays, since it may say the same in more words
ANCHOR = 40  # characters by which a passage is found again in a text that was cut later

Piece = tuple[str, str]

_PARTS = re.compile(r"\w+|[^\w\s]+|\s+")
_CUT = re.compile(r"(?<=\s)\S+$")


def beside(stays: str, went: str, begins: int) -> tuple[int, list[Piece], list[Piece]] | None:
    """(Where the passage of `stays` begins, its pieces, those of `went`), `went` being an excerpt that began `begins`
    characters into its own text; None when the two have no place in common.
    """
    start = _place(stays, went, begins)
    if start is None:
        return None
    more = stays[start : start + len(went) + BEHIND]
    return start, *compared(more, whole_words(went, stays, start), open_ends=True)


def whole_words(went: str, stays: str, start: int) -> str:
    """The excerpt without a last word that was cut, unless the text that stays ends with it too."""
    cut = _CUT.search(went)
    return went if cut is None or stays[start:].endswith(went[-ANCHOR:]) else went[: cut.start()]


def _place(stays: str, went: str, begins: int) -> int | None:
    head = went[:ANCHOR]
    if not begins or stays[begins : begins + len(head)] == head:
        return begins
    found = stays.find(head)
    return found if found >= 0 else None


def compared(left: str, right: str, *, open_ends: bool = False) -> tuple[list[Piece], list[Piece]]:
    """The pieces of both texts; capitals and white space make no difference.

    With `open_ends` both were cut off: what the left one holds behind all that they share is left out.
    """
    a, b = (_PARTS.findall(text[:LONGEST]) for text in (left, right))
    keys = [[" " if part.isspace() else part.casefold() for part in parts] for parts in (a, b)]
    steps = SequenceMatcher(None, *keys, autojunk=False).get_opcodes()
    sides: tuple[list[Piece], list[Piece]] = ([], [])
    for number, (what, start_a, end_a, start_b, end_b) in enumerate(steps):
        last = open_ends and number == len(steps) - 1
        if last and what == "delete":
            break
        kind = SAME if what == "equal" or (last and what == "insert") else ONLY
        for side, parts in ((sides[0], a[start_a:end_a]), (sides[1], b[start_b:end_b])):
            _add(side, kind, parts)
    return sides


def _add(side: list[Piece], kind: str, parts: Sequence[str]) -> None:
    text = "".join(parts)
    if not text:
        return
    if kind == ONLY and text.isspace():
        kind = SAME
    if side and side[-1][0] == kind:
        side[-1] = kind, side[-1][1] + text
    else:
        side.append((kind, text))
