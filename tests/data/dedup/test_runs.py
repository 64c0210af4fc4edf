"""Sorted runs, their merge and tables against plain dictionaries; what a file that was cut off is refused with."""

from collections import defaultdict
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from trivium.data.dedup.runs import RunWriter, Table, best, combine, join_tables, merge, select, write_rows
from trivium.errors import BuildError

HIGH = 1 << 62
ROW = st.tuples(st.sampled_from((0, 1, HIGH, HIGH + 1, 3 * HIGH)), st.integers(0, 1), st.integers(0, 3), st.just(1))
ROWS = st.lists(ROW, max_size=60)


def array(rows) -> np.ndarray:
    return np.array(rows, dtype=np.uint64).reshape(-1, 4)


def oracle(rows):
    """Sorted: (key, check, smallest place, how often)."""
    places = defaultdict(list)
    for key, check, place, _ in rows:
        places[key, check].append(place)
    return [(*key, min(found), len(found)) for key, found in sorted(places.items())]


@given(ROWS)
def test_combining_keeps_the_smallest_occurrence_and_adds_the_counts(rows):
    once = combine(array(rows), 2)
    assert [tuple(row) for row in once.tolist()] == oracle(rows)
    assert np.array_equal(combine(once[::-1].copy(), 2), once)


@settings(max_examples=40)
@given(ROWS, st.integers(1, 7), st.integers(1, 9))
def test_runs_of_any_size_merge_to_the_same_table(tmp_path_factory, rows, limit, memory):
    build = tmp_path_factory.mktemp("runs")
    writer = RunWriter(build, "runs", 2, limit)
    slices = [piece for row in rows for piece in writer.add(array([row]))] + list(writer.flush())
    parts = []
    for part in sorted({piece.part for piece in slices}, reverse=True):
        mine = [piece for piece in slices if piece.part == part]
        for number, found in enumerate(merge(build, mine[::-1], 2, memory)):
            assert len(found) <= max(memory, len({piece.path for piece in mine}))  # one key's rows, one of each run
            parts.append((part, number, build / f"{part}-{number}"))
            write_rows(parts[-1][2], found)
    table = join_tables([path for *_, path in sorted(parts)], build / "table", 4)
    assert [tuple(row) for row in table.rows(0, len(table)).tolist()] == oracle(rows)


@settings(max_examples=40)
@given(ROWS, ROWS)
def test_a_table_finds_what_it_holds_and_nothing_else(tmp_path_factory, rows, others):
    folder = tmp_path_factory.mktemp("table")
    write_rows(folder / "t", combine(array(rows), 2))
    table, asked = Table(folder / "t"), array(rows + others)
    held = {(key, check): place for place, (key, check, *_) in enumerate(oracle(rows))}
    found = table.find(asked[:, 0], asked[:, 1]).tolist()
    assert found == [held.get((key, check), -1) for key, check, *_ in asked.tolist()]
    assert table.has(asked[:, 0]).tolist() == [key in {k for k, _ in held} for key in asked[:, 0].tolist()]


def test_the_most_frequent_rows_and_a_selection(tmp_path):
    rows = np.array([[key, 10 - key % 3] for key in range(30)], dtype=np.uint64)
    write_rows(tmp_path / "t", rows)
    table = Table(tmp_path / "t")
    assert best(table, 12).tolist() == [*range(0, 30, 3), 1, 4]
    assert best(table, 40).tolist() == list(range(30))
    chosen = select(table, tmp_path / "s", lambda part: part[part[:, 1] == 9])
    assert chosen.column(0).tolist() == list(range(1, 30, 3))
    assert [path.name for path in sorted(tmp_path.iterdir())] == ["s", "t"]


@pytest.mark.parametrize("damage", ["cut", "longer", "foreign", "absent"])
def test_a_damaged_file_is_refused_by_name(tmp_path: Path, damage):
    path = tmp_path / "some.rows"
    write_rows(path, array([(1, 2, 3, 4), (5, 6, 7, 8)]))
    payload = path.read_bytes()
    if damage == "absent":
        path.unlink()
    else:
        path.write_bytes({"cut": payload[:-5], "longer": payload + b"x", "foreign": b"#!/bin/sh" + payload}[damage])
    with pytest.raises(BuildError, match=r"some\.rows.*run the"):
        Table(path)
