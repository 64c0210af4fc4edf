"""MathML of the kinds that pages hold, as LaTeX."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from trivium.data.text.html.formulas import formula
from trivium.data.text.html.mathml import latex
from trivium.data.text.html.tree import read_tree

FORMULAS = {
    "<msub><mi>a</mi><mi>i</mi></msub>": "a_i",
    "<msubsup><mi>x</mi><mrow><mi>i</mi><mi>j</mi></mrow><mn>10</mn></msubsup>": "x_{ij}^{10}",
    "<msup><mrow><mi>a</mi><mo>+</mo><mi>b</mi></mrow><mn>2</mn></msup>": "{a+b}^2",
    "<msqrt><mi>x</mi><mo>+</mo><mn>1</mn></msqrt><mroot><mi>y</mi><mn>3</mn></mroot>": r"\sqrt{x+1}\sqrt[3]{y}",
    "<mi>sin</mi><mi>θ</mi><mo>&#8290;</mo><mi>Γ</mi><mi>Α</mi>": r"\sin \theta\Gamma Α",
    "<munderover><mo>∑</mo><mrow><mi>i</mi><mo>=</mo><mn>1</mn></mrow><mi>n</mi></munderover><mi>i</mi>": (
        r"\sum_{i = 1}^ni"
    ),
    "<munder><mi>lim</mi><mrow><mi>x</mi><mo>→</mo><mn>0</mn></mrow></munder>": r"\lim_{x \to 0}",
    "<mover><mi>v</mi><mo>→</mo></mover><mover><mrow><mi>A</mi><mi>B</mi></mrow><mo>¯</mo></mover>": (
        r"\vec{v}\overline{AB}"
    ),
    "<munder><mi>a</mi><mo>⏟</mo></munder><mover><mi>f</mi><mi>def</mi></mover>": (
        r"\underbrace{a}\overset{\operatorname{def}}{f}"
    ),
    "<mi mathvariant='double-struck'>R</mi><mi>𝐱</mi><mi>𝔸</mi><mi>ℝ</mi>": r"\mathbb{R}\mathbf{x}\mathbb{A}\mathbb{R}",
    "<mfenced open='[' close=')'><mi>a</mi><mi>b</mi></mfenced>": "[a,b)",
    "<mtable><mtr><mtd><mn>1</mn></mtd><mtd><mn>0</mn></mtd></mtr><mtr><mtd><mn>0</mn></mtd><mtd><mn>1</mn></mtd></mtr>"
    "</mtable>": r"\begin{matrix}1 & 0 \\ 0 & 1\end{matrix}",
    "<mmultiscripts><mi>F</mi><mn>1</mn><none/><mprescripts/><mn>2</mn><mn>3</mn></mmultiscripts>": "{}_2^3F_1",
    "<mtext>if </mtext><mi>x</mi><mo>≠</mo><mi>rank</mi>": r"\text{if }x \neq \operatorname{rank}",
    "<mo>{</mo><mn>50</mn><mo>%</mo><mo>}</mo>": r"\{50\%\}",
    "<mfrac><mi>a</mi></mfrac><mphantom><mi>b</mi></mphantom><mi>∂</mi><mi>x</mi>": r"a\partial x",
}


def tree(markup: str):
    from resiliparse.parse.html import HTMLTree

    html = HTMLTree.parse(f"<body>{markup}").body.html
    return next(iter(read_tree(html[6:-7], max_elements=100_000)[0].nodes()))


@pytest.mark.parametrize("markup", FORMULAS)
def test_mathml_becomes_latex(markup):
    assert latex(tree(f"<math>{markup}</math>")) == FORMULAS[markup]


@pytest.mark.parametrize(
    ("markup", "expected"),
    [
        ('<math display="block" alttext="a_1"><mi>b</mi></math>', ("a_1", True)),
        (
            '<math><semantics><mi>b</mi><annotation encoding="application/x-tex">{\\displaystyle  \\frac{a}{b}}'
            "</annotation></semantics></math>",
            (r"\frac{a}{b}", False),
        ),
        ('<img src="https://latex.codecogs.com/svg.latex?x" alt="x_{1}+y">', ("x_{1}+y", False)),
        ('<img class="mwe-math-fallback-image-display" alt="x^2">', ("x^2", True)),
        ('<img class="photo" alt="x^2">', None),
        ("<math></math>", None),
    ],
)
def test_the_pages_own_source_comes_first(markup, expected):
    assert formula(tree(markup)) == expected


_ELEMENTS = ("mrow", "mfrac", "msup", "msub", "munderover", "msqrt", "mover", "mtable", "mtr", "mmultiscripts", "mi")


@given(
    st.recursive(
        st.sampled_from("xα∑+{"), lambda inner: st.tuples(st.sampled_from(_ELEMENTS), st.lists(inner)), max_leaves=30
    )
)
def test_any_nesting_converts_and_keeps_braces_in_pairs(shape):
    def write(part) -> str:
        if isinstance(part, str):
            return f"<mo>{part}</mo>"
        return f"<{part[0]}>{''.join(map(write, part[1]))}</{part[0]}>"

    found = latex(tree(f"<math>{write(shape)}</math>")).replace(r"\{", "")
    assert found.count("{") == found.count("}")


def test_deep_nesting_ends():
    assert "x" in latex(tree("<math>" + "<mrow>" * 900 + "<mi>x</mi>"))
