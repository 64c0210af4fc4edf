"""The generator: a pure function of seed and index, canonical, and every choice visible in the picture."""

import io
from collections import Counter

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from PIL import Image

from trivium.data.guard import Guard, Limits
from trivium.data.svg.drawings import DrawingRules, draw
from trivium.data.svg.policy import SvgPolicy
from trivium.data.svg.requests import TASK, Picture, request_for
from trivium.data.svg.sanitise import sanitise

RULES = DrawingRules()


@given(st.integers(0, 2**32), st.integers(0, 2**32))
def test_a_drawing_is_pure_and_in_canonical_form(seed: int, index: int) -> None:
    code = draw(seed, index, RULES)
    assert code == draw(seed, index, RULES)
    assert sanitise(code.encode(), SvgPolicy()).text == code


def test_golden() -> None:
    assert draw(1, 0, RULES).split("\n") == [
        '<svg xmlns="http://www.w3.org/2000/svg" width="8" height="8" viewBox="0 0 8 8">',
        '<rect width="8" height="8" fill="gold"/>',
        '<polygon points="6,0 8,2 6,4 4,2" fill="gray"/>',
        "</svg>",
    ]


def test_choices_are_spread_and_hardly_repeat() -> None:
    codes = [draw(1, index, RULES) for index in range(2000)]
    assert len(set(codes)) > 1750
    counts = Counter(color for code in codes for color in RULES.colors if f'fill="{color}"' in code)
    assert min(counts.values()) > 0.6 * max(counts.values())
    assert all(len(code) < 260 for code in codes)


def test_equal_pictures_have_equal_code() -> None:
    seen: dict[bytes, str] = {}
    with Guard(TASK, Limits()) as guard:
        for index in range(150):
            code = draw(5, index, RULES)
            picture = guard.call(request_for(code, 56, (255, 255, 255), check=False), Picture)
            with Image.open(io.BytesIO(picture.png)) as image:
                key = np.asarray(image).tobytes()
            assert seen.setdefault(key, code) == code
    assert len(seen) > 140
