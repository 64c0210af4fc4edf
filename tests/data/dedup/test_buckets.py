"""Candidate pairs of band buckets, small and hot, and the sorting behind them, in memory and by the disk."""

from collections.abc import Iterable
from itertools import combinations, pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from trivium.data.dedup import buckets
from trivium.data.dedup.buckets import (
    ALL_PAIRS,
    BAND_RECORD,
    band_records,
    crowd_pairs,
    crowd_records,
    distinct_pairs,
    pairs,
)
from trivium.data.dedup.sketches import SetReader, alike, compact, place, row_type, write_set
from trivium.data.dedup.spill import ordered
from trivium.errors import BuildError

BANDS, PER_BAND = 16, 7
WHOLE = (0, 1, 1)


@settings(max_examples=50)
@given(
    st.lists(st.lists(st.binary(min_size=5, max_size=5), max_size=30), max_size=6),
    st.sampled_from((1, 7, 1000)),
    st.sampled_from(((0, 5), (1, 3), (4, 5))),
)
def test_records_come_sorted_whatever_fits_into_memory(tmp_path_factory, blocks, most, span):
    begin, end = span
    folder = tmp_path_factory.mktemp("spill")
    arrays = list(ordered([b"".join(block) for block in blocks if block], 5, begin, end, most, folder))
    found = [row.tobytes() for rows in arrays for row in rows]
    given = [record for block in blocks for record in block]
    assert sorted(found) == sorted(given)
    keys = [record[begin:end] for record in found]
    assert keys == sorted(keys)
    assert not list(folder.iterdir())
    for before, after in pairwise(arrays):  # a key in two arrays fills both alone
        if before[-1, begin:end].tobytes() == after[0, begin:end].tobytes():
            assert len({row[begin:end].tobytes() for row in np.concatenate((before, after))}) == 1


def rows_of(values: np.ndarray) -> np.ndarray:
    rows = np.zeros(len(values), dtype=row_type(values.shape[1]))
    rows["values"] = values
    rows["source_id"] = [f"{number * 7919 % 1_000_003:026d}".encode() for number in range(len(values))]
    return rows


def records(values: np.ndarray, band: int | None = None) -> list[bytes]:
    places = np.arange(len(values), dtype=np.uint64)
    found = [block for _, block in band_records(rows_of(values), places, BANDS, PER_BAND, WHOLE)]
    if band is None:
        return found
    rows = np.frombuffer(b"".join(found), dtype=np.uint8).reshape(-1, BAND_RECORD)
    return [rows[rows[:, 0] == band].tobytes()]


def found_pairs(blocks: list[bytes], folder, most: int = 10**6) -> dict[tuple[int, int], int]:
    """Each candidate pair, the smaller place first, and its band."""
    return named((rows.tobytes() for rows in pairs(blocks, 0.75, most, folder)), folder, most)


def named(raw: Iterable[bytes], folder, most: int = 10**6) -> dict[tuple[int, int], int]:
    raw = [block for block in raw if block]
    given = [(a, b, band) for found in distinct_pairs(raw, most, folder) for a, b, band in zip(*found, strict=True)]
    assert len(given) == len({(a, b) for a, b, _ in given})
    return {(min(int(a), int(b)), max(int(a), int(b))): int(band) for a, b, band in given}


@settings(max_examples=25)
@given(st.integers(0, 2**32 - 1), st.integers(2, ALL_PAIRS), st.sampled_from((40, 10**6)))
def test_all_that_share_a_band_are_pairs_by_their_lowest_band(tmp_path_factory, seed, count, most):
    random = np.random.default_rng(seed)
    values = random.integers(0, 3, (count, BANDS * PER_BAND)).astype(np.uint32)
    keep = random.random((count, BANDS)) < 0.1  # few distinct values in some bands, so that bands meet
    values = np.where(np.repeat(keep, PER_BAND, axis=1), values // 2, values + np.arange(count)[:, None] * 10)
    expected = {}
    for a, b in combinations(range(count), 2):
        same = (values[a] == values[b]).reshape(BANDS, PER_BAND).all(axis=1)
        if same.any():
            expected[a, b] = int(same.argmax())
    assert found_pairs(records(values.astype(np.uint32)), tmp_path_factory.mktemp("p"), most) == expected


def hot(random: np.random.Generator, members: int, copies: int, alike: float) -> np.ndarray:
    """Signatures that all share band 0: a boilerplate makes 85 % of every text's values, and texts i and members + i
    are copies that agree in the share `alike` of their values."""
    width = BANDS * PER_BAND
    boilerplate = random.integers(0, 2**32, width, dtype=np.uint32)

    def fresh(count: int) -> np.ndarray:
        own = random.integers(0, 2**32, (count, width), dtype=np.uint32)
        return np.where(random.random((count, width)) < 0.85, boilerplate, own)

    first = fresh(members)
    second = np.where(random.random((copies, width)) < alike, first[:copies], fresh(copies))
    values = np.concatenate((first, second))
    values[:, :PER_BAND] = boilerplate[:PER_BAND]
    return values


@pytest.mark.parametrize("most", [10**6, 3000])
def test_copies_in_a_hot_bucket_are_found_by_pairs_linear_in_its_members(tmp_path, most):
    """All 8,000 share one band, by a boilerplate; 400 have a copy (Jaccard 0.93) that this one bucket must bring.

    A copy that is found in one bucket with probability 0.9 is lost by two of them with 0.01.
    """
    values = hot(np.random.default_rng(5), 8_000, 400, 0.9)
    found = found_pairs(records(values, band=0), tmp_path, most)
    assert len(found) < 12 * len(values)
    recall = sum((number, 8_000 + number) in found for number in range(400)) / 400
    assert recall > 0.9
    assert found == found_pairs(records(values, band=0), tmp_path, 10**6)


def test_a_crowd_is_shared_by_workers_that_find_what_one_would(tmp_path, monkeypatch):
    """Each takes at most one order of it, or the part of one whose tails begin alike; copies are still found."""
    values = hot(np.random.default_rng(5), 3_000, 300, 0.9)
    alone = found_pairs(records(values, band=0), tmp_path)
    monkeypatch.setattr(buckets, "CROWD", 2_999)
    handed = [found for found in pairs(records(values, band=0), 0.75, 1000, tmp_path) if len(found)]
    assert {found.shape[1] for found in handed} == {BAND_RECORD}
    assert sum(map(len, handed)) == len(values)

    def shared(order: int, jobs: int) -> tuple[list[int], dict[tuple[int, int], int]]:
        blocks: dict[int, list[bytes]] = {}
        for rows in handed[::order]:
            for low in range(jobs):
                for number, block in crowd_records(rows, (64 * low // jobs, 64 * (low + 1) // jobs, 64)):
                    blocks.setdefault(number, []).append(block)
        found = (rows.tobytes() for mine in blocks.values() for rows in crowd_pairs(mine, 0.75, 1000, tmp_path))
        return [sum(map(len, mine)) // (1 + BAND_RECORD) for mine in blocks.values()], named(found, tmp_path)

    sizes, found = shared(1, 1)
    assert sum(sizes) == 4 * len(values)
    assert len(sizes) > 16
    assert max(sizes) <= len(values)
    assert shared(-1, 3)[1] == found
    copies = {(number, 3_000 + number) for number in range(300)}
    assert len(copies & found.keys()) > 0.9 * len(copies)
    assert len(copies & found.keys()) > 0.97 * len(copies & alone.keys())  # across a cut no neighbours are looked for


def test_identical_texts_of_a_hot_bucket_hang_on_one(tmp_path):
    """A star besides the chain, so that components of a million settle in a few rounds."""
    values = np.tile(np.arange(BANDS * PER_BAND, dtype=np.uint32), (5000, 1))
    found = found_pairs(records(values, band=3), tmp_path)
    degree = np.bincount(np.array(list(found)).ravel())
    assert degree.max() == 4999
    assert len(found) < 12 * 5000


def test_a_set_is_read_where_it_lies_and_a_cut_file_is_named(tmp_path):
    path = tmp_path / "sets"
    sets = [compact(np.arange(count, dtype=np.uint64) << np.uint64(33)) for count in (0, 1, 3000)]
    offsets, offset = [], 0
    with path.open("wb") as file:
        for number, one in enumerate(sets):
            offsets.append(offset)
            offset += write_set(file, f"{number:026d}", one)
    reader = SetReader([str(path)])
    for number, one in enumerate(sets):
        name, found = reader.get(int(place(0, np.uint64(offsets[number]))))
        assert name == f"{number:026d}"
        assert found.tolist() == one.tolist()
    assert alike(sets[0], sets[0]) == 0.0
    assert alike(sets[2], sets[2]) == 1.0
    path.write_bytes(path.read_bytes()[:-1])
    with pytest.raises(BuildError, match=r"sets: \d+ of \d+ bytes at \d+; the file was cut off"):
        SetReader([str(path)]).get(offsets[2])
