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
