"""The mathematics score: high for texts with formulas, symbols or the subject's words, low for what only looks so."""

import pytest

from trivium.data.records import Document, Meta, Text
from trivium.data.stage import Draft, Drop
from trivium.data.text.mathematics import MathScore, measure

FILLER = "The committee met in the afternoon and talked about the garden, the weather and the price of bread. " * 6
MATHEMATICAL = {
    "formulas": "Let $x_1$ and $y$ be given, so that $x_1 + y = 2$. Then \\(y \\le 2\\) and $$x_1 \\ge 0.$$ " * 3,
    "words": "Every polynomial of odd degree has a real root: a proof by the intermediate value theorem. The integral "
    "of a continuous function is differentiable, and its derivative of the first order is the integrand. ",
    "symbols": "∀ε > 0 ∃δ > 0: |x − a| < δ ⇒ |f(x) − f(a)| < ε, for all a ∈ ℝ and with ∑ aᵢ² ≤ 1. ",
    "LaTeX": "\\begin{align} \\frac{a}{b} &= \\sum_i \\alpha_i \\\\ \\int f \\, d\\mu &\\leq \\infty \\end{align} ",
}
OTHER = {
    "prose": FILLER,
    "prices": "It costs $5 or $10, and $20 with tax; US$ 7 = 6 €, about $3.50 a piece. A loaf is $2 + tax in US$. " * 4,
    "shell": 'for f in "$HOME"/*; do echo $f $1 ${x}; done; if [ "$a" = "$b" ]; then exit $?; fi # $PATH\n' * 4,
    "code": "def f(x):\n    return x[i] + 1 if x <= 2 else {'a': 3}\n\nclass A:\n    value: int = 4\n" * 5,
    "Greek": "Το σπίτι είναι μεγάλο και ο κήπος του πράσινος, όπως θα περίμενε κανείς εκεί στην άκρη του δρόμου. " * 4,
}


@pytest.mark.parametrize("name", MATHEMATICAL)
def test_mathematics_scores_high(name):
    assert measure(FILLER + MATHEMATICAL[name] * 2)["math_score"] > 0.3


@pytest.mark.parametrize("name", OTHER)
def test_what_is_none_scores_low(name):
    assert measure(OTHER[name])["math_score"] < 0.1


def test_a_text_repeated_scores_the_same():
    once, often = (measure(FILLER * times + MATHEMATICAL["formulas"] * times) for times in (1, 5))
    assert all(abs(once[name] - often[name]) < 0.02 * max(1, often[name]) for name in once)


def test_the_policy_decides_and_the_scores_stay():
    config = {"policy": [{"score": "math_score", "min": 0.3, "reason": "no_mathematics"}]}
    stage = msgspec_config(config).build()
    kept, dropped = (
        next(stage.process(Draft(document=Document(segments=(Text(text=text),), meta=META))))
        for text in (MATHEMATICAL["formulas"], FILLER)
    )
    assert kept.document.meta.scores["math_score"] > 0.9
    assert [step.name for step in kept.document.meta.lineage.steps] == ["math_score"]
    assert isinstance(dropped, Drop)
    assert (dropped.stage, dropped.reason) == ("math_score", "no_mathematics")


META = Meta(source_id="a", corpus="c", domain="mathematics", source="s", address="a", license="CC0-1.0")


def msgspec_config(raw: dict) -> MathScore.Config:
    import msgspec

    return msgspec.convert({"kind": "math_score"} | raw, MathScore.Config)
