"""Lines tidied: laws that hold whatever hidden-line removal gives."""

import math
import random
from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from trivium.data.cad.strokes import Stroke, tidy

points = st.tuples(st.integers(-8, 8).map(float), st.integers(-8, 8).map(float))
pieces = st.lists(st.tuples(points, points), max_size=14)


def length(strokes: list[Stroke]) -> float:
    return sum(math.dist(a, b) for stroke in strokes for a, b in pairwise(stroke))


@given(pieces, st.randoms(use_true_random=False))
def test_order_direction_and_doubles_change_nothing(lines: list[Stroke], chance: random.Random) -> None:
    other = [tuple(reversed(line)) if chance.random() < 0.5 else line for line in [*lines, *lines[:3]]]
    chance.shuffle(other)
    assert tidy(lines) == tidy(other)


@given(pieces)
def test_what_lies_under_itself_is_gone(lines: list[Stroke]) -> None:
    assert tidy(lines, under=lines) == []


@given(st.lists(st.floats(0.5, 9), min_size=1, max_size=8))
def test_pieces_of_one_line_become_one_stroke(steps: list[float]) -> None:
    ends = [0.0]
    for step in steps:
        ends.append(ends[-1] + step)
    found = tidy([((a, 2 * a), (b, 2 * b)) for a, b in pairwise(ends)])
    assert len(found) == 1
    assert math.isclose(length(found), ends[-1] * math.sqrt(5), abs_tol=0.02)


def test_a_part_of_a_line_that_is_covered_is_cut_out() -> None:
    assert tidy([((0.0, 0.0), (10.0, 0.0))], under=[((4.0, 0.0), (6.0, 0.0))]) == [
        ((0.0, 0.0), (4.0, 0.0)),
        ((6.0, 0.0), (10.0, 0.0)),
    ]


def test_corners_part_strokes_and_bends_do_not() -> None:
    corner = tidy([((0.0, 0.0), (5.0, 0.0)), ((5.0, 0.0), (5.0, 5.0))])
    arc = [(math.cos(turn / 10), math.sin(turn / 10)) for turn in range(8)]
    bend = tidy([tuple(arc[:4]), tuple(arc[3:])])
    assert (len(corner), len(bend)) == (2, 1)
