"""What a page asks for, where Playwright can't say yet whose request it is."""

from dataclasses import dataclass, field
from typing import Any

import pytest

from trivium.data.web.serving import Serving, address_of

playwright = pytest.importorskip("playwright.sync_api")


@dataclass
class Window:
    """A request of a window that is only being opened: it has no frame yet. It is its own route."""

    url: str
    answers: list[dict[str, Any]] = field(default_factory=list)
    resource_type = "document"

    def is_navigation_request(self) -> bool:
        return True

    @property
    def frame(self) -> object:
        raise playwright.Error("Frame for this navigation request is not available")

    def fulfill(self, **answer: Any) -> None:
        self.answers.append(answer)


def test_a_window_without_a_frame_is_a_window() -> None:
    serving = Serving({"a.html": b"<p>a", "b.html": b"<p>b"}, "a.html")
    first, second = Window(address_of("a.html")), Window(address_of("b.html"))
    serving.answer(first, first)
    serving.answer(second, second)
    assert (first.answers[0]["status"], second.answers[0]["status"]) == (200, 204)
    assert serving.leads == [second.url]


MAIN = "docs/site/index.html"
PAGE = b"""<base href="sub/"><link rel=stylesheet href="../css/a.css?v=2&amp;x=1"><link href=//cdn.example/b.css><img
 src='http://example.com/spy.gif' srcset="big.png 2x, small.png 1x"><meta http-equiv=refresh content="0; url=next.html">
<style>p { background: url(http://far.example) }</style><a href="/top.html">"""
CSS = b"@import '../more/c.css'; p { background: url( dot.png ) }"


@pytest.mark.parametrize(
    ("asked", "wrote"),
    [
        ("https://page.test/docs/site/css/a.css?v=2&x=1", "../css/a.css?v=2&x=1"),
        ("https://cdn.example/b.css", "//cdn.example/b.css"),
        ("https://example.com/spy.gif", "http://example.com/spy.gif"),
        ("https://far.example/", "http://far.example"),
        ("https://page.test/docs/site/sub/big.png", "big.png"),
        ("https://page.test/docs/site/sub/next.html", "next.html"),
        ("https://page.test/top.html", "/top.html"),
        ("https://page.test/docs/site/more/c.css", "../more/c.css"),
        ("https://page.test/docs/site/css/dot.png", "dot.png"),
        ("https://page.test/docs/site/made%20up.png", "docs/site/made up.png"),
        ("https://nobody.example/made/up.png", "https://nobody.example/made/up.png"),
        ("https://[broken/", "https://[broken/"),
    ],
)
def test_an_address_is_shown_as_the_author_wrote_it(asked: str, wrote: str) -> None:
    assert Serving({MAIN: PAGE, "docs/site/css/a.css": CSS}, MAIN).written(asked) == wrote
