"""The stages on real files: deterministic pictures, the two engines' proof, refusals, the shape of a pair."""

import io
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from PIL import Image as Picture_

from trivium.data.guard import Limits
from trivium.data.records import Image, Text
from trivium.data.stage import Draft, Drop, Raw
from trivium.data.svg.pairs import PROMPTS, SvgRender, SvgSanitize, title_of

EXAMPLES = Path(__file__).parents[3] / "examples" / "svg"
BOX = '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 20 10">{}</svg>'


@pytest.fixture(scope="module")
def render() -> Iterator[SvgRender]:
    stage = SvgRender.Config(pixels=112).build()
    stage.open()
    yield stage
    stage.close()


def raw(body: bytes, address: str = "some-file.svg") -> Raw:
    return Raw(corpus="c", domain="d", source="s", address=address, license="MIT", body=body, mime="image/svg+xml")


def code_of(body: str | bytes, address: str = "some-file.svg") -> Draft:
    body = BOX.format(body).encode() if isinstance(body, str) else body
    (draft,) = SvgSanitize.Config().build().process(raw(body, address))
    assert isinstance(draft, Draft), draft
    return draft


def outcome(stage: SvgRender, draft: Draft) -> Draft | Drop:
    (result,) = stage.process(draft)
    assert isinstance(result, Draft | Drop)
    return result


@pytest.mark.parametrize("path", sorted(EXAMPLES.glob("*/**/*.svg"))[::40], ids=lambda path: path.stem)
def test_real_files_become_pairs_with_the_same_bytes_twice(path: Path, render: SvgRender) -> None:
    results = [outcome(render, code_of(path.read_bytes(), path.name)) for _ in range(2)]
    assert results[0] == results[1]
    pair = results[0]
    assert isinstance(pair, Draft), pair
    *opening, image, text = pair.document.segments
    assert all(isinstance(part, Text) and not part.loss and part.text in PROMPTS for part in opening)
    assert isinstance(image, Image)
    assert isinstance(text, Text)
    assert text.loss
    assert text.text.startswith("\n<svg ")
    assert text.text.endswith("</svg>\n")
    with Picture_.open(io.BytesIO(pair.media[image.media])) as picture:
        assert picture.mode == "RGB"
        assert picture.size == (image.width, image.height)
        assert max(picture.size) == 112
    assert 0 <= pair.document.meta.scores["difference"] <= 5
    assert pair.document.meta.title
    assert [step.name for step in pair.document.meta.lineage.steps] == ["svg_sanitize", "svg_render"]


def test_the_picture_shows_what_the_code_says(render: SvgRender) -> None:
    pair = outcome(render, code_of('<rect width="10" height="10" fill="red"/>'))
    assert isinstance(pair, Draft)
    with Picture_.open(io.BytesIO(pair.media["i0.png"])) as picture:
        pixels = np.asarray(picture)
    assert pixels.shape == (56, 112, 3)
    assert (pixels[:, :56] == (255, 0, 0)).all()
    assert (pixels[:, 56:] == 255).all()


@pytest.mark.parametrize(
    ("body", "reason"),
    [
        ('<rect width="20" height="10" fill="white"/>', "blank"),
        ('<rect width="20" height="10" fill="red"/>', "blank"),
        ('<circle cx="900" cy="5" r="3"/>', "blank"),
        (
            '<filter id="f"><feGaussianBlur stdDeviation="2"/></filter><rect width="9" height="9" filter="url(#f)"/>',
            "engines_disagree",
        ),
    ],
)
def test_pictures_that_prove_nothing_are_refused(body: str, reason: str, render: SvgRender) -> None:
    drop = outcome(render, code_of(body))
    assert isinstance(drop, Drop)
    assert drop.reason == reason, drop
    assert not drop.error
    assert drop.excerpt.startswith("<svg")


def test_a_renderer_that_is_too_slow_costs_one_record() -> None:
    stage = SvgRender.Config(pixels=2000, limits=Limits(wall_seconds=0.1)).build()
    stage.open()
    slow = "".join(f'<circle r="{n % 9 + 1}" cx="{n % 17}" fill-opacity=".5"/>' for n in range(2000))
    drop = outcome(stage, code_of(slow))
    assert isinstance(drop, Drop)
    assert drop.reason == "timeout"
    assert not drop.error
    stage.close()


def test_code_that_is_too_long_is_refused() -> None:
    body = BOX.format('<circle r="1"/>' * 100).encode()
    (drop,) = SvgSanitize.Config(max_chars=1000).build().process(raw(body))
    assert isinstance(drop, Drop)
    assert drop.reason == "too_long"


def test_prompts_are_a_function_of_seed_and_source(render: SvgRender) -> None:
    drafts = [code_of('<circle r="4"/>', f"file-{n}.svg") for n in range(40)]
    prompts = [outcome(render, draft) for draft in drafts]
    openings = {p.document.segments[0].text for p in prompts if isinstance(p.document.segments[0], Text)}  # type: ignore[union-attr]
    assert openings == set(PROMPTS) - {""}
    assert prompts == [outcome(render, draft) for draft in drafts]


@pytest.mark.parametrize(
    ("address", "title"),
    [
        ("outline/arrow-left.svg", "arrow left"),
        ("1F34E.svg", "red apple"),
        ("1F1E9-1F1EA.svg", "regional indicator symbol letter d, regional indicator symbol letter e"),
        ("red__ball_01.svgz", "red ball 01"),
        ("E2C6.svg", "E2C6"),
    ],
)
def test_titles_from_file_names(address: str, title: str) -> None:
    assert title_of(address) == title
