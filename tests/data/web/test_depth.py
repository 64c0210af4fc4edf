"""How deep elements lie in each other, told without a browser: never of a sloppy page, always in time."""

import pytest

from trivium.data.web.clean.depth import beyond

MANY = 1 << 60


def depth(page: bytes) -> int:
    """The least limit that a page keeps."""
    return next(limit for limit in range(1000) if beyond(page, limit, MANY) != "too_deep")


@pytest.mark.parametrize(
    ("page", "deep"),
    [
        (b"<div>" * 100 + b"</div>" * 100 + b"<div>", 100),
        (b"<DIV a='>' b=\">\">" * 9, 9),
        (b"<p>one" * 500, 1),
        (b"<ul>" + b"<li>one" * 500 + b"</ul>", 2),
        (b"<ul><li>" * 50, 100),
        (b"<table>" + b"<tr><td>one<td>two" * 500, 3),
        (b"<dl>" + b"<dt>one<dd>two" * 500, 2),
        (b"<a name=x>" * 500, 1),
        (b"<br><img src=a><input>" * 500, 0),
        (b"<div/>" * 30, 30),  # HTML knows no such end
        (b"<svg>" + b"<g/><path/>" * 500, 1),
        (b"<svg>" + b"<g>" * 40, 41),
        (b"<svg><foreignObject>" + b"<div/>" * 40, 42),
        (b"<svg><style>" + b"<g>" * 40, 42),
        (b"<style>" + b"<i>" * 500 + b"</style><i>", 1),
        (b"<script>'" + b"<i>" * 500 + b"'</script ><i>", 1),
        (b"<!--" + b"<i>" * 500 + b"--><i>", 1),
        (b"<!-->" + b"<i>" * 20, 20),
        (b"<div><table><td></div>" * 20, 60),  # what lies in a cell ends nothing outside of it
        (b"<b><p></b>" * 500, 2),
        (b"\xff\xfe" + ("<div>" * 50).encode("utf-16-le"), 50),
        (b"<div" * 500, 0),  # the page ends inside a tag
        (b"", 0),
    ],
)
def test_depth_is_what_a_browser_makes_of_it(page: bytes, deep: int) -> None:
    assert depth(page) == deep


@pytest.mark.parametrize(
    ("page", "reason"),
    [
        (b"<div>" * 3_000_000, "too_deep"),
        (b"<i></i>" * 2_000_000, "too_many_elements"),
        (b"<" * 16_000_000, ""),
        (b'<a x="' * 2_000_000, ""),
        (b"<a ='" * 2_000_000, ""),
        (b"<a " + b"= " * 8_000_000, ""),
        (b"<a =" + b" " * 16_000_000, ""),
        (b"<!--" * 4_000_000, ""),
        (b"<!-->" * 3_000_000, ""),
        (b"<script>" * 2_000_000, ""),
        (b"<x><table>" + b"<div>" * 240 + b"</x>" * 3_000_000, "too_many_elements"),
    ],
)
def test_a_hostile_page_is_read_once(page: bytes, reason: str) -> None:
    """Each takes a few seconds at most; a pattern that goes back would need hours."""
    assert beyond(page, 256, 50_000) == reason
