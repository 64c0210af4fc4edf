"""Minified code says the same in fewer letters."""

import re

from hypothesis import given, settings
from hypothesis import strategies as st

from tests.data.svg.conftest import EXAMPLES
from trivium.data.svg import paths
from trivium.data.svg.editor import canonical
from trivium.data.svg.minify import minify, path
from trivium.data.svg.policy import SvgPolicy, SvgRefusedError
from trivium.data.svg.sanitise import sanitise

_NUMBER = st.integers(-99_999, 99_999).map(lambda n: f"{n / 100:.2f}")
_COUNTS = {"M": 2, "L": 2, "H": 1, "V": 1, "C": 6, "S": 4, "Q": 4, "T": 2, "Z": 0}
_LETTERS = st.sampled_from(sorted({*_COUNTS, *map(str.lower, _COUNTS)}))
_SEGMENT = _LETTERS.flatmap(
    lambda letter: st.lists(_NUMBER, min_size=(n := _COUNTS[letter.upper()]), max_size=n).map(
        lambda numbers: letter + " ".join(numbers)
    )
)


@settings(max_examples=40)
@given(st.lists(_SEGMENT, max_size=8))
def test_a_minified_path_has_the_same_segments_and_numbers(segments: list[str]) -> None:
    data, count = paths.canonical("M1 2" + "".join(segments), 2)
    short = path(data)
    assert len(short) <= len(data)
    assert paths.canonical(short, 2) == (data, count)


def test_real_files_become_shorter_and_say_the_same() -> None:
    shares = []
    for file in sorted(EXAMPLES.glob("*/**/*.svg"))[::24]:
        try:
            code = sanitise(file.read_bytes(), SvgPolicy()).text
        except SvgRefusedError:
            continue
        short = minify(code)
        shares.append(len(short) / len(code))
        assert "\n" not in short
        assert re.findall(r"<(\w+)", short) == re.findall(r"<(\w+)", code)
        assert canonical(canonical(short)) == canonical(short) != ""
    assert len(shares) > 20
    assert max(shares) < 1
    assert sum(shares) / len(shares) < 0.98


def test_what_all_parts_share_is_said_once() -> None:
    part = '<circle cx="{}" cy="5" r="4" fill="none" stroke="#123456"/>'
    inside = part.format(5) + part.format(15)
    short = minify(canonical(f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 20 10">{inside}</svg>'))
    assert short.count("#123456") == 1
    assert short.count('fill="none"') == 1


def test_flags_of_arcs_keep_their_spaces() -> None:
    assert path("M0.5 0.5a0.5 0.5 0 0 1 0.5 -0.5l1 1l0.5 0.5") == "M.5 .5a.5 .5 0 0 1 .5 -.5l1 1 .5 .5"
