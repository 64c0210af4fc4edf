"""One stage that draws, opened once for all tests of this folder: its engine, its guarded children."""

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from trivium.data.pairs.drawing import DrawRules
from trivium.data.stage import Draft, Drop, Raw
from trivium.data.svg.draw import SvgDraw
from trivium.data.svg.engine import SvgEngine
from trivium.data.svg.pairs import SvgSanitize
from trivium.data.svg.policy import SvgPolicy
from trivium.data.svg.tree import SVG

EXAMPLES = Path(__file__).parents[3] / "examples" / "svg"


@pytest.fixture(scope="package")
def stage() -> Iterator[SvgDraw]:
    papers = ((255, 255, 255), (47, 79, 79))
    made = SvgDraw.Config(pixels=(112, 168), backgrounds=papers, minified=1.0, draw=DrawRules(edits=1, bugs=1)).build()
    made.open()
    yield made
    made.close()


@pytest.fixture
def engine(stage: SvgDraw) -> SvgEngine:
    return stage.engine


@pytest.fixture(scope="package")
def code_of() -> Callable[..., Draft]:
    """The sanitised draft of a body in a view box of 20 × 10, of a whole file, or of a generator's bundle."""
    sanitise = SvgSanitize.Config(policy=SvgPolicy(text=True)).build()

    def make(body: str | bytes | Raw, address: str = "some-file.svg") -> Draft:
        if isinstance(body, str):
            body = f'<svg xmlns="{SVG}" viewBox="0 0 20 10">{body}</svg>'.encode()
        if isinstance(body, bytes):
            body = Raw(corpus="c", domain="d", source="s", address=address, license="MIT", body=body, mime="image/svg")
        (draft,) = sanitise.process(body)
        assert isinstance(draft, Draft), draft
        return draft

    return make


def drawn(stage: SvgDraw, draft: Draft) -> Draft | Drop:
    (outcome,) = stage.process(draft)
    assert isinstance(outcome, Draft | Drop)
    return outcome
