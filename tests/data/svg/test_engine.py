"""The engine: pictures of canonical code, the second engine's word, what is known of the parts, its fonts."""

import io
import re
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from trivium.data.pairs.engine import engine as engine_named
from trivium.data.stage import Draft
from trivium.data.svg import fonts
from trivium.data.svg.engine import SvgEngine, settings
from trivium.errors import GuardError, MissingDependencyError

SHAPES = '<circle cx="5" cy="5" r="4" fill="red"/><rect x="12" y="2" width="6" height="6" fill="blue"/>'
WORDS = '<text x="1" y="8" font-family="{}" font-size="6" fill="#a00000">{}</text>'
BLUR = '<filter id="f"><feGaussianBlur stdDeviation="2"/></filter><rect width="9" height="9" filter="url(#f)"/>'


def test_the_engine_of_a_record_is_found_by_its_name() -> None:
    assert isinstance(engine_named("svg"), SvgEngine)


def test_a_picture_and_its_parts_are_what_the_code_says(engine: SvgEngine, code_of: Callable[..., Draft]) -> None:
    code = code_of(SHAPES).document.text
    first = engine.draw(code, {}, settings(100))
    assert engine.draw(code, {}, settings(100)).payload == first.payload
    pixels = np.asarray(Image.open(io.BytesIO(first.payload)))
    assert pixels.shape == (50, 100, 3)
    assert tuple(pixels[25, 25]) == (255, 0, 0)
    assert (pixels[10:40, 60:90] == (0, 0, 255)).all()
    assert first.facts is not None
    assert [(part.kind, part.color, part.box) for part in first.facts.parts] == [
        ("circle", "#ff0000", (5.0, 5.0, 45.0, 45.0)),
        ("square", "#0000ff", (60.0, 10.0, 90.0, 40.0)),
    ]
    assert 0 <= engine.difference(code) <= 5
    dark = engine.draw(code, {}, settings(100, (0, 0, 0)))
    assert tuple(np.asarray(Image.open(io.BytesIO(dark.payload)))[0, 0]) == (0, 0, 0)


@pytest.mark.parametrize(
    "body",
    [
        SHAPES + '<path d="M1 1L9 1L9 9Z"/>',  # a path can be anything
        SHAPES + '<circle cx="6" cy="5" r="1" fill="red"/>',  # one shape of red is all that is seen
        SHAPES + '<rect x="13" width="7" height="10" fill="green"/>',  # of the square a strip is left
        SHAPES.replace("/>", ' opacity=".5"/>', 1),
        '<g transform="rotate(9)">' + SHAPES.replace("/>", ' transform="skewX(30)"/>') + "</g>",
    ],
)
def test_parts_are_told_only_where_every_one_of_them_can_be_seen(
    body: str, engine: SvgEngine, code_of: Callable[..., Draft]
) -> None:
    facts = engine.draw(code_of(body).document.text, {}, settings(100)).facts
    assert facts is not None
    assert facts.parts == ()


def test_words_are_drawn_in_one_font_on_every_machine(engine: SvgEngine, code_of: Callable[..., Draft]) -> None:
    drawing = engine.draw(code_of(WORDS.format("DejaVu Sans", "Hat")).document.text, {}, settings(200))
    assert drawing.facts is not None
    (part,) = drawing.facts.parts
    assert (part.kind, part.text, part.color) == ("text", "Hat", "#a00000")
    assert part.box is not None
    left, top, right, bottom = part.box
    assert 10 <= left <= 20
    assert 30 <= top <= 40
    assert bottom in (80.0, 81.0)
    assert 95 <= right <= 130
    ink = np.asarray(Image.open(io.BytesIO(drawing.payload)).convert("L")) < 128
    rows, columns = np.nonzero(ink)
    assert np.abs(np.array([columns.min(), rows.min(), columns.max() + 1, rows.max() + 1]) - part.box).max() <= 2
    assert re.fullmatch(r"cairosvg \S+, cairocffi \S+, cairo \S+, fonts [0-9a-f]{12}", engine.environment())


@pytest.mark.parametrize(
    ("body", "reason"),
    [
        (WORDS.format("DejaVu Serif", "a\U00010300b"), "no_glyph"),
        (WORDS.format("DejaVu Sans", "漢"), "no_glyph"),
        (WORDS.format("Arial", "Hat"), "foreign_font"),
        (BLUR, "engines_disagree"),
    ],
)
def test_code_that_another_machine_draws_otherwise_is_refused(
    body: str, reason: str, engine: SvgEngine, code_of: Callable[..., Draft]
) -> None:
    with pytest.raises(GuardError) as caught:
        engine.draw(code_of(body).document.text, {}, settings(100))
    assert caught.value.reason == reason


def test_code_that_the_sanitiser_did_not_write_is_refused(engine: SvgEngine) -> None:
    with pytest.raises(GuardError, match="canonical"):
        engine.draw("<svg/>", {}, settings(100))


def test_without_the_fonts_nothing_is_drawn(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(fonts, "FOLDER", str(tmp_path))
    with pytest.raises(MissingDependencyError, match="apt-get install fonts-dejavu-core"):
        SvgEngine().open()
