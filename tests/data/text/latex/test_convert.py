"""LaTeX to text: formulas as written, the document's macros expanded within bounds, comments gone, structure kept."""

import pytest

from trivium.data.stage import Draft, Raw
from trivium.data.text.latex.convert import convert
from trivium.data.text.latex.requests import LatexRequest
from trivium.data.text.latex.stage import ExtractLatex
from trivium.errors import GuardError

PREAMBLE = r"""\documentclass{article}
\newcommand{\R}{\mathbb{R}}\newcommand*\norm[2][2]{\|#2\|_{#1}}
\def\half#1{\frac{#1}{2}} \DeclareMathOperator{\tr}{tr}
\newtheorem{thm}{Satz}
\title{On $\R^n$ and \emph{more}} % not this
\begin{document}"""


def text(body: str, preamble: str = PREAMBLE) -> str:
    return convert(LatexRequest(f"{preamble}\n{body}\n\\end{{document}}\nafter")).text


@pytest.mark.parametrize(
    ("latex", "shown"),
    [
        (
            r"Let $x \in \R$, \(y\) and $\norm{x} + \norm[1]{y}$.",
            r"Let $x \in \mathbb{R}$, $y$ and $\|x\|_{2} + \|y\|_{1}$.",
        ),
        (r"$a \text{ if $b$ holds} \half{c}d$", r"$a \text{ if $b$ holds} \frac{c}{2}d$"),
        ("\\begin{equation}\\label{e}\n\\tr A &= 1\n\\end{equation}", "$$\\operatorname{tr} A &= 1$$"),
        ("A\n\\[ x\n = y \\] B", "A\n\n$$x\n = y$$\n\nB"),
        ("$$z$$", "$$z$$"),
        ("\\begin{align*} a &= b \\\\ c \\end{align*}", "$$\\begin{align*} a &= b \\\\ c \\end{align*}$$"),
        ("50\\% sure % no\n   that \\$5 is 5", "50% sure that $5 is 5"),
        ("one%\ntwo", "onetwo"),
        ("\\section*{A  b}\ntext\n\\subsection{C}", "## A b\n\ntext\n\n### C"),
        (
            "\\begin{itemize}\\item a\\item b\\begin{enumerate}\\item c\\end{enumerate}\\end{itemize}",
            "- a\n- b\n  1. c",
        ),
        ("\\begin{description}\\item[k] v\\end{description}", "- k: v"),
        ("\\begin{thm} Es gilt \\ref{e}, \\cite[p.~3]{a,b}.\\end{thm}", "**Satz.** Es gilt [e], [a,b]."),
        ("\\begin{tabular}{|l|r|}\\hline a & b \\\\ c & $d$\\\\\\end{tabular}", "a | b\nc | $d$"),
        ("caf\\'e, na\\\"{\\i}ve, \\ss, ``q'', --- \\LaTeX{} x", "café, naïve, ß, “q”, — LaTeX x"),
        ("\\begin{verbatim}\n% \\R $x$\n\\end{verbatim}", "```\n% \\R $x$\n```"),
        ("Use \\verb|a % b| and \\url{http://x.org/%7E}.", "Use `a % b` and http://x.org/%7E."),
        ("\\begin{tikzpicture}\\draw (0,0);\\end{tikzpicture}x\\footnote{y}", "x (y)"),
        ("\\textbf{a} {\\it b} \\unknown{c}[d] \\href{http://u}{e}", "a b c[d] e"),
    ],
)
def test_each_construct_reads_as_text(latex, shown):
    found = text(latex)
    assert found == f"# On $\\mathbb{{R}}^n$ and more\n\n{shown}"


def test_a_file_without_a_document_and_one_with_errors_are_read_all_the_same():
    assert convert(LatexRequest("Only $x$ here.")).text == "Only $x$ here."
    assert "rest" in text("open { brace $x \\begin{foo} rest")
    assert convert(LatexRequest("\\documentclass{a}\\begin{document}\\end{document}")).text == ""


@pytest.mark.parametrize(
    ("preamble", "body", "reason"),
    [
        (
            r"\def\a{\b\b}"
            + "".join(
                f"\\def\\{x}{{\\{y}\\{y}}}" for x, y in zip("bcdefghijklmnopqr", "cdefghijklmnopqrs", strict=True)
            ),
            r"\a",
            "macro_bomb",
        ),
        (r"\newcommand{\a}{\a\a}", r"\a", "macro_bomb"),
        (r"\newcommand{\a}[1]{#1#1#1#1}", r"\a{\a{\a{\a{\a{\a{\a{\a{\a{\a{" + "x" * 50 + "}" * 10, "macro_bomb"),
        ("", "{" * 50_000, "too_deep"),
    ],
)
def test_hostile_macros_and_nesting_end_with_a_reason(preamble, body, reason):
    with pytest.raises(GuardError) as caught:
        text(body, f"\\documentclass{{a}}{preamble}\\begin{{document}}")
    assert caught.value.reason == reason


def test_the_stage_runs_guarded_and_reports(tmp_path):
    stage = ExtractLatex.Config().build()
    stage.open()
    try:
        raw = Raw(
            corpus="c",
            domain="d",
            source="s",
            address="a",
            license="L",
            body=f"{PREAMBLE}\\usepackage[latin1]{{inputenc}}Größe".encode("latin-1"),
            mime="application/x-tex",
        )
        (found,) = stage.process(raw)
        assert isinstance(found, Draft)
        assert found.document.text.endswith("Größe\n")
        assert found.document.meta.title == "On $\\mathbb{R}^n$ and more"
        assert found.document.meta.lineage.steps[0].name == "extract_latex"
    finally:
        stage.close()
