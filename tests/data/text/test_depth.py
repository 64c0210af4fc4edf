"""The bound on nesting: it never misses a deep page, and old pages with open `p` and `li` are not taken for deep."""

import time

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from resiliparse.parse.html import HTMLTree

from trivium.data.text import depth
from trivium.data.text.depth import nesting_bound

TAGS = ("div", "b", "span", "table", "td", "tr", "p", "li", "ul", "i", "a", "section", "br")


def true_depth(page: str) -> int:
    """Deepest element of the parsed tree, by walking it."""
    node, depth, deepest = HTMLTree.parse(page).document, 0, 0
    while True:
        child = node.first_child
        if child is not None:
            node, depth = child, depth + 1
            deepest = max(deepest, depth)
            continue
        while node.next is None:
            node, depth = node.parent, depth - 1
            if node is None or depth <= 0:
                return deepest
        node = node.next


@given(st.lists(st.tuples(st.sampled_from(TAGS), st.sampled_from(("<{}>", "</{}>", "<{} a='</div>'>x"))), max_size=120))
def test_the_parser_nests_at_most_about_four_times_the_bound(parts):
    page = "<" * 1 + "html>" + "".join(shape.format(tag) for tag, shape in parts)
    assert true_depth(page) <= 4 * depth._nesting(page, 9_999) + 8


CRUMBS = (
    "<div>", "</div>", "<b>", "</b>", "<B id=x>", "<b ", "<i>x</i>", "<li>", "<p-x>", "</p-x>", "<a title='</div>'>",
    "\"", "'", ">", "<!--", "-->", "<script>", "</script>", "<span class='a'>x</span>", "<br/>", "<path/>",
    "</tt </b>", "<ſ>", "text", " ",
)  # fmt: skip


@example("<div>" * 4 + "<li>x</li>" * 4, 3)
@example("<div>" * 2 + "<div><div></div></div>", 2)
@example("<b 1><b 2><b 3></i></i></i><b 4><b 5><div>", 3)
@given(st.lists(st.sampled_from(CRUMBS), max_size=40).map("".join), st.integers(0, 6))
def test_what_is_counted_first_never_hides_what_the_walk_would_see(page, cap):
    assert (nesting_bound(page, cap) > cap) == (depth._nesting(page, cap) > cap)
    few, depth._FEW = depth._FEW, cap
    try:
        assert not depth._few_open(page) or depth._tangle(page, 0) == 0
    finally:
        depth._FEW = few


@pytest.mark.parametrize(
    "unit",
    [
        "<div>",
        "<div></b>",
        '<div><p title="</div>">',
        "<div><!-- </div> -->",
        "<div><script>'</div>'</script>",
        "<DIV CLASS='x'>",
        "<b><i><u>",
        "<table><tr><td>",
    ],
)
def test_deep_pages_pass_the_cap_whatever_hides_in_them(unit):
    assert nesting_bound("<html><body>" + unit * 6000, 1500) == 1501


@pytest.mark.parametrize(
    "unit", ["<p>text", "<li>text", "<tr><td>1<td>2", "<br>", "<b>x</b>", "<div>x</div>", "<a href=x/>y</a>"]
)
def test_flat_pages_stay_below_the_cap(unit):
    assert nesting_bound("<html><body>" + unit * 6000, 1500) <= 1


@pytest.mark.parametrize("unit", ["<!--", '<a "', "<a '", "<script>", "<div ", "<b><", "<title>", "</"])
def test_the_scan_is_linear_on_unfinished_markup(unit):
    page = unit * 400_000
    started = time.process_time()
    nesting_bound(page, 10**9)
    assert time.process_time() - started < 20  # a quadratic scan takes hours
