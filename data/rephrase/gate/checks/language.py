"""The language that was asked for, in the whole and in each longer paragraph."""

from trivium.data.rephrase.gate.pair import Finding
from trivium.data.rephrase.gate.reading import Comparison, shown
from trivium.data.text.language import Identifier

# What the model takes for each other although one was asked for.
_ALIKE = (
    frozenset({"zh", "wuu", "yue"}), frozenset({"hr", "sr", "bs", "sh"}), frozenset({"no", "nb", "nn", "da"}),
    frozenset({"id", "ms"}), frozenset({"pt", "gl"}), frozenset({"es", "ast", "gl"}), frozenset({"fa", "pnb"}),
)  # fmt: skip
_LEAST = 60  # letters below which a paragraph says too little
_SURE = 0.8


def check(both: Comparison, identifier: Identifier) -> Finding:
    """fastText's answer for the prose of the rewrite; formulas, code and addresses are left out."""
    target = both.pair.target
    prose = " ".join(both.rewrite.prose.split())
    letters = sum(character.isalpha() for character in prose)
    if not letters:
        return Finding(check="language", score=1.0, passed=True)
    found, score = identifier.best(prose)
    right = _same(found, target) or (letters < _LEAST and score < _SURE) or score < 0.4
    wrong = "" if right else f"the rewrite reads as {found} ({score:.2f}), asked for was {target}"
    if right:
        for paragraph in both.rewrite.prose.split("\n"):
            if sum(character.isalpha() for character in paragraph) >= _LEAST:
                other, sure = identifier.best(paragraph)
                if not _same(other, target) and sure >= _SURE:
                    wrong = f"{shown(paragraph)} reads as {other} ({sure:.2f}), asked for was {target}"
                    break
    value = score if _same(found, target) else 1.0 - score
    return Finding(
        check="language", score=value, passed=not wrong, reason="wrong_language" if wrong else "", detail=wrong
    )


def _same(found: str, target: str) -> bool:
    return found == target or any(found in group and target in group for group in _ALIKE)
