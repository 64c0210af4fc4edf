"""`svg_draw` on real files: pictures that their code draws again to the byte, changes, minified code, papers, sizes."""

import io
from collections.abc import Callable

import msgspec
import pytest
from PIL import Image

from tests.data.svg.conftest import EXAMPLES, drawn
from trivium.data.longcontext.dice import Dice
from trivium.data.pairs.item import sheet_of
from trivium.data.records import Text
from trivium.data.stage import Draft, Drop
from trivium.data.svg.draw import SvgDraw
from trivium.data.svg.engine import SvgEngine
from trivium.data.svg.minify import INSTRUCTION


def same(payload: bytes, other: bytes) -> bool:
    with Image.open(io.BytesIO(payload)) as one, Image.open(io.BytesIO(other)) as two:
        return one.size == two.size and one.convert("RGB").tobytes() == two.convert("RGB").tobytes()


@pytest.fixture(scope="module")
def items(stage: SvgDraw, code_of: Callable[..., Draft]) -> list[Draft]:
    found = []
    for file in [*sorted(EXAMPLES.glob("*/**/*.svg"))[40::180]]:
        item = drawn(stage, code_of(file.read_bytes(), file.name))
        assert isinstance(item, Draft), (file, item)
        found.append(item)
    return found


def test_stored_code_draws_the_stored_pictures_in_both_engines(items: list[Draft], engine: SvgEngine) -> None:
    fresh = SvgEngine(max_difference=5.0)
    try:
        for item in items:
            meta, sheet = item.document.meta, sheet_of(item)
            (code,) = [part.text for part in item.document.segments if isinstance(part, Text)]
            pictures = [(code, one) for one in meta.drawn]
            pictures += [(change.code, one) for change in sheet.changes for one in change.drawn]
            assert len({one.environment for _, one in pictures}) == 1
            for text, one in pictures:
                again = fresh.draw(text, {}, one.settings)
                assert same(again.payload, item.media[one.media]), one
            assert 0 <= meta.scores["difference"] == fresh.difference(code) <= 5
    finally:
        fresh.close()


def test_items_have_an_edit_a_mistake_and_shorter_code_of_the_same_picture(items: list[Draft]) -> None:
    for item in items:
        sheet, meta = sheet_of(item), item.document.meta
        assert [change.role for change in sheet.changes][:2] == ["edit", "bug"]
        for change in sheet.changes[:2]:
            assert not same(item.media[change.pictures[0].media], item.media["i0.png"])
        if meta.scores["minified"] < 1:
            short = sheet.changes[-1]
            assert short.instruction == INSTRUCTION
            assert [picture.media for picture in short.pictures] == ["i0.png"]
            code = item.document.text
            assert len(short.code) == pytest.approx(meta.scores["minified"] * len(code), abs=1)
        assert sheet.facts.what == f"a drawing called “{meta.title}”"
    assert any(item.document.meta.scores["minified"] < 1 for item in items)


def test_a_drawing_that_its_paper_hides_is_drawn_on_another(stage: SvgDraw, code_of: Callable[..., Draft]) -> None:
    for number in range(3):
        item = drawn(stage, code_of('<circle cx="9" cy="5" r="4" fill="white"/>', f"{number}.svg"))
        assert isinstance(item, Draft), item
        assert msgspec.json.decode(item.document.meta.drawn[0].settings)["background"] == [47, 79, 79]
    drop = drawn(stage, code_of('<rect width="20" height="10"/>'))
    assert isinstance(drop, Drop)
    assert drop.reason == "one_colour"


def test_sizes_and_papers_are_the_source_ids_own(stage: SvgDraw, code_of: Callable[..., Draft]) -> None:
    plain, words = code_of("<rect/><circle r='4'/>"), code_of('<text x="1" y="8" font-size="2">Hat</text>')
    found = [next(stage.views_of(plain.document.text, Dice(number))) for number in range(24)]
    assert len({*map(str, found)}) == 4
    assert found == [next(stage.views_of(plain.document.text, Dice(number))) for number in range(24)]
    lettered = {str(next(stage.views_of(words.document.text, Dice(number)))) for number in range(24)}
    assert len(lettered) == 2
    assert all("448" in one for one in lettered)
