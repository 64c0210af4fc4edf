import pytest

from tests.data.pairs.blocks import BlocksEditor, BlocksEngine
from trivium.data.pairs.drawing import Drawer, DrawRules
from trivium.data.pairs.editor import EDITORS
from trivium.data.pairs.engine import ENGINES
from trivium.data.stage import Raw

VIEWS = {"the whole": '{"side":100}', "large": '{"side":160}'}


@pytest.fixture(scope="package")
def drawer():
    """One engine and one guarded child for all tests here."""
    made = Drawer(BlocksEngine(), BlocksEditor(), DrawRules(edits=2), "blocks_draw")
    made.open()
    yield made
    made.close()


@pytest.fixture
def blocks(monkeypatch):
    """The little language as one that records and sessions know."""
    monkeypatch.setitem(ENGINES, "blocks", "tests.data.pairs.blocks:BlocksEngine")
    monkeypatch.setitem(EDITORS, "blocks", "tests.data.pairs.blocks:BlocksEditor")


@pytest.fixture(scope="package")
def draw(drawer):
    """Draws code as one item of a corpus."""

    def made(code, by=drawer, views=VIEWS, **given):
        raw = Raw(
            corpus="blocks",
            domain="blocks",
            source="test",
            address="a.txt",
            license="CC0-1.0",
            body=code.encode(),
            mime="text/plain",
        )
        return by.item(raw, meta=raw.meta(source_sha256="0" * 64), code=code, language="blocks", views=views, **given)

    return made
