"""Excerpts and chunks: whole, in order, within their size; code, tables and formulas are never in a model's hands."""

import itertools
import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from trivium.data.rephrase.excerpts import chunks, excerpts, stitched
from trivium.data.rephrase.protect import CODE, FORMULA, PROSE, TABLE, blocks, literals

MIXED = """# Heading

A paragraph of prose. It has two sentences, and `code` inside.

```python
x = 1

y = 2
```

| a | b |
|---|---|
| 1 | 2 |

Before a formula:
$$
E = mc^2
$$
\\begin{align}
a &= b \\\\

c &= d
\\end{align}

    if (x) { return y; }

    This dictionary entry is indented and is still prose, as anyone can read.
"""


def measure(text: str) -> int:
    return math.ceil(len(text) / 4)


def test_what_is_no_prose_is_told_apart_whole() -> None:
    found = [(block.kind, MIXED[block.start : block.stop]) for block in blocks(MIXED)]
    assert [kind for kind, _ in found] == [PROSE, PROSE, CODE, TABLE, PROSE, FORMULA, FORMULA, CODE, PROSE]
    assert found[2][1] == "```python\nx = 1\n\ny = 2\n```"
    assert found[6][1].endswith("\\end{align}")


@pytest.mark.parametrize(
    ("text", "held"),
    [
        ("Use `a b` and ``c`d``.", ("`a b`", "``c`d``")),
        ("From $5 to $7 each, but $x^2$ and \\(y\\) are formulas.", ("$x^2$", "\\(y\\)")),
        ("See https://example.org/a?b=1, or not.", ("https://example.org/a?b=1",)),
        ("Twice $x$ and $x$.", ("$x$",)),
        ("It costs $5 and then $10.", ()),
    ],
)
def test_literals_of_prose(text: str, held: tuple[str, ...]) -> None:
    assert literals(text) == held


WORDS = (
    st.text("ab .!?\n", max_size=40)
    | st.just("a.         b" + " " * 30)
    | st.sampled_from(["\n\n", "```\nx\n```\n", "| a | b |\n| 1 | 2 |\n", "$$x$$\n", "。"])
)


@given(parts=st.lists(WORDS, max_size=40), limit=st.integers(1, 60))
def test_nothing_of_a_text_is_lost_or_said_twice(parts: list[str], limit: int) -> None:
    text = "".join(parts)
    for cut in (excerpts(text, limit, measure), chunks(text, limit, measure)):
        spans = [(one.start, one.stop) for one in cut]
        borders = [0, *itertools.chain.from_iterable(spans), len(text)]
        assert borders == sorted(borders)
        between = [text[borders[at] : borders[at + 1]] for at in range(0, len(borders), 2)]
        assert not "".join(between).strip(), "what lies between is white space"
    made = chunks(text, limit, measure)
    assert stitched(text, made, [text[one.start : one.stop] for one in made]).strip() == text.strip()


@given(parts=st.lists(WORDS, max_size=40), limit=st.integers(2, 60))
def test_sizes_hold(parts: list[str], limit: int) -> None:
    text = "".join(parts)
    fixed = [(block.start, block.stop) for block in blocks(text) if block.fixed]
    for one in chunks(text, limit, measure):
        if one.fixed:
            assert (one.start, one.stop) in fixed
        else:
            # Blanks between the pieces of a chunk were not measured with them.
            assert measure("".join(text[one.start : one.stop].split())) <= limit
            assert all(stop <= one.start or start >= one.stop for start, stop in fixed)


def test_excerpts_are_of_about_equal_length() -> None:
    text = "\n\n".join(["word " * 40] * 11)  # 50 tokens each
    sizes = [one.tokens for one in excerpts(text, 500, measure)]
    assert sizes == [300, 250]
