"""Formulas: those of the source are kept, new ones come only where the style derives, plain arithmetic holds."""

import itertools

from trivium.data.rephrase.gate.pair import Finding
from trivium.data.rephrase.gate.read.formulas import form, value
from trivium.data.rephrase.gate.reading import Comparison, shown


def check(both: Comparison) -> Finding:
    """Formulas of the source are kept; new ones only where the style derives; plain arithmetic holds."""
    source, rewrite, scope = both.source, both.rewrite, both.scope
    ours = {formula.form: formula.text for formula in source.formulas}
    theirs = {formula.form: formula.text for formula in rewrite.formulas}
    all_ours, all_theirs = form(source.text), form(rewrite.text)
    lost = [text for key, text in ours.items() if key not in theirs and key not in all_theirs]
    new = [text for key, text in theirs.items() if key not in ours and key not in all_ours]
    wrong = [text for text in new if not _holds(text)]
    derived = [text for text in new if scope.derives or _arithmetic(text)]
    invented = [text for text in new if text not in derived]
    reason = detail = ""
    if wrong:
        reason, detail = "formula_wrong", f"{shown(wrong[0])} does not hold"
    elif lost and (new or not scope.condenses):
        beside = f"; {shown(new[0])} stands there" if new else ""
        reason, detail = "formula_changed", f"{shown(lost[0])} is missing{beside}"
    elif invented:
        reason, detail = "formula_invented", f"{shown(invented[0])} is not in the source"
    total = len(ours) + len(new)
    score = 1.0 - (len(lost) + len(invented) + len(wrong)) / (total + len(wrong)) if total else 1.0
    return Finding(check="formulas", score=max(0.0, score), passed=not reason, reason=reason, detail=detail)


def _arithmetic(text: str) -> bool:
    """Whether it is an equality of plain numbers, which `_holds` judges."""
    return "=" in text and all(value(side) is not None for side in form(text).split("="))


def _holds(text: str) -> bool:
    """Whether neighbouring sides that are plain numbers are equal; true where nothing can be read."""
    key = form(text)
    if any(sign in key for sign in "<>!~≡"):
        return True
    values = [value(side) for side in key.split("=")]
    pairs = [(a, b) for a, b in itertools.pairwise(values) if a is not None and b is not None]
    return all(abs(a - b) <= abs(b) / 1000 for a, b in pairs)  # rounded results are usual
