"""Addresses and identifiers: every one of the source stands in the rewrite, and none is new."""

from trivium.data.rephrase.gate.pair import Finding
from trivium.data.rephrase.gate.reading import Comparison, Reading, shown


def check(both: Comparison) -> Finding:
    """Every address and identifier of the source stands in the rewrite and the other way round.

    Where the style leaves things out, only new ones count. Code in backticks may stand without them.
    """
    source, rewrite, scope = both.source, both.rewrite, both.scope
    kept = total = 0
    problem = ("", "")
    for one, other, lost in ((source, rewrite, True), (rewrite, source, False)):
        for literal in one.literals:
            inner = literal.text.strip("`").strip()
            if lost and scope.condenses:
                continue
            total += 1
            if _stands(inner, other, literal.kind):
                kept += 1
            elif not problem[0]:
                address = literal.kind == "address"
                reason = ("address_lost" if lost else "address_invented") if address else "identifier_changed"
                where = "missing in the rewrite" if lost else "not in the source"
                problem = (reason, f"{shown(inner)} is {where}")
    score = kept / total if total else 1.0
    return Finding(check="literals", score=score, passed=not problem[0], reason=problem[0], detail=problem[1])


def _stands(text: str, other: Reading, kind: str) -> bool:
    if kind == "code" and "\n" in text:
        return "".join(text.split()) in "".join(other.text.split())
    if text in other.text:
        place = other.text.find(text)
        while place >= 0:  # `v1.2` does not stand in `v1.20`
            before, after = other.text[place - 1 : place], other.text[place + len(text) : place + len(text) + 1]
            joined = (before.isascii() and before.isalnum() and text[0].isalnum()) or (
                after.isascii() and (after.isalnum() or after == "_") and text[-1].isalnum()
            )
            if not joined:
                return True
            place = other.text.find(text, place + 1)
    return kind == "identifier" and len(text) > 2 and text.isalnum() and _spelled(text, other)


def _spelled(text: str, other: Reading) -> bool:
    """Whether a plain word with digits stands there in other case, or with a blank or hyphen inside."""
    squeeze = str.maketrans("", "", " -\u00a0‑")
    return (
        text.lower().translate(squeeze) in other.text.lower().translate(squeeze) and "." not in text and "/" not in text
    )
