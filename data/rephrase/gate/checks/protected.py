"""What was kept out of the model's hands stands in the rewrite letter by letter."""

from trivium.data.rephrase.gate.pair import Finding
from trivium.data.rephrase.gate.reading import Comparison, shown


def check(both: Comparison) -> Finding:
    """Every protected stretch is there, as often as it was protected."""
    missing = [text for text in both.pair.protected if text.strip() and text not in both.pair.rewrite]
    if not missing:
        return Finding(check="protected", score=1.0, passed=True)
    score = 1.0 - len(missing) / len(both.pair.protected)
    detail = f"{len(missing)} of {len(both.pair.protected)}, first {shown(missing[0])}"
    return Finding(check="protected", score=score, passed=False, reason="protected_changed", detail=detail)
