"""Pieces of the shuffles whose loss a whole build would hide: real duplicates share almost every band."""

import multiprocessing
import resource
import tracemalloc
import types
from collections import Counter
from pathlib import Path

import msgspec
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from trivium.data.dedup.buckets import BAND_RECORD, PAIR_RECORD
from trivium.data.dedup.exact import ExactDedup
from trivium.data.dedup.near import NearDedup
from trivium.data.dedup.shingles import shingles_of
from trivium.data.dedup.signature import estimate, sign
from trivium.data.dedup.sketches import alike, compact, row_type
from trivium.data.records import Document, Meta, Text, source_id
from trivium.data.shards import plan_shards
from trivium.data.stage import Draft, Drop
from trivium.pipelines.beam import BeamOptions, run_job
from trivium.pipelines.corpora.blocks import Range, ranges, unpack
from trivium.pipelines.corpora.shuffles.candidates import (
    CROWDS,
    BandBlocks,
    CandidateGraph,
    CrowdGraph,
    PairBlocks,
    Sets,
    Verify,
)
from trivium.pipelines.corpora.shuffles.exact import IN_FLIGHT, PARTITION, ContentBlocks, ExactGraph, parts
from trivium.pipelines.corpora.shuffles.near import Texts
from trivium.pipelines.corpora.shuffles.rest import CROWD, SENT
from trivium.pipelines.corpora.shuffles.sign import SETS, Sign
from trivium.pipelines.corpora.shuffles.survivors import LISTED, Candidate, Select
from trivium.pipelines.corpora.spool import Ref, SpoolWriter, encode_line, lines_of
from trivium.pipelines.corpora.writing import shard_runs

NEAR = NearDedup()


def spooled(build: Path, texts: list[str]) -> list[Ref]:
    """References of texts that lie in the spool."""
    writer = SpoolWriter(build, "job/spool")
    refs = []
    for number, text in enumerate(texts):
        key = source_id("s", str(number))
        meta = Meta(source_id=key, corpus="c", domain="d", source="s", address=str(number), license="l")
        refs.append(writer.add(Draft(document=Document(segments=(Text(text=text),), meta=meta)), ()))
    writer.close()
    return refs


def signed(build: Path, texts: list[str], near: NearDedup) -> tuple[list[Ref], Path, Sets]:
    """References, the file of their rows, and their sets, as the job of signing leaves them."""
    refs = spooled(build, texts)
    (build / "refs-0").write_bytes(b"".join(encode_line(ref) + b"\n" for ref in refs))
    (build / "tally").mkdir()
    worker = Sign(near, Texts(near), str(build), str(build))
    worker.setup()
    worker.start_bundle()
    found = [block for part in ranges([build / "refs-0"]) for block in worker.process(msgspec.json.encode(part))]
    found += [sent.value for sent in worker.finish_bundle()]
    worker.teardown()
    (build / "rows-0").write_bytes(b"".join(found))
    return refs, build / "rows-0", Sets(list((build / SETS).iterdir()), [])


@pytest.mark.parametrize("jobs", [1, 3, 7])
def test_the_parts_of_the_bands_hold_every_record_exactly_once(tmp_path, jobs):
    texts = [" ".join(f"w{number * 7 + i}" for i in range(60)) for number in range(20)]
    _, rows, sets = signed(tmp_path, [*texts, "too short"], NEAR)
    line = msgspec.json.encode(Range(str(rows), 0, rows.stat().st_size, -1))
    found: Counter[bytes] = Counter()
    for number in range(jobs):
        for partition, block in BandBlocks(NEAR, sets, (number, number + 1, jobs)).process(line):
            assert partition == number
            found.update(record.tobytes() for record in np.frombuffer(block, np.uint8).reshape(-1, BAND_RECORD))
    assert found.total() == len(found) == 20 * NEAR.bands  # what is too short to sign has no record


def sharing(share: int) -> list[str]:
    """Two texts of 400 words that begin with the same `share` words."""
    first = [f"a{i}" for i in range(400)]
    return [" ".join(first), " ".join([*first[:share], *(f"b{i}" for i in range(400 - share))])]


def truth(near: NearDedup, texts: list[str]) -> float:
    return alike(*(compact(shingles_of(text, near.ngram)) for text in texts))


@pytest.mark.parametrize("share", range(330, 360, 4))
def test_a_pair_is_kept_by_its_sets_whatever_its_sketch_says(tmp_path, share):
    near = NearDedup(bands=2, rows=4)  # eight values: a poor sketch, wrong on both sides of the threshold
    texts = sharing(share)
    refs, rows, sets = signed(tmp_path, texts, near)
    places = sets.places(np.fromfile(rows, dtype=row_type(near.permutations)), -1)
    pair = np.zeros(PAIR_RECORD, dtype=np.uint8)
    pair[:16] = places.astype(">u8").view(np.uint8)
    pair[16] = 1
    worker = Verify(near, sets.paths, str(tmp_path))
    worker.setup()
    kept = list(worker.process((0, [pair.tobytes(), pair.tobytes()])))
    worker.teardown()
    low, high = sorted(ref.source_id for ref in refs)
    expected = [f"{high}{low}{truth(near, texts):.6f}1".encode()] if truth(near, texts) >= near.threshold else []
    assert kept == expected


def test_such_sketches_do_err():
    near = NearDedup(bands=2, rows=4)
    wrong = set()
    for share in range(330, 360, 4):
        first, second = (sign(text, near.spec, min_words=20) for text in sharing(share))
        wrong.add((estimate(first, second) >= near.threshold) - (truth(near, sharing(share)) >= near.threshold))
    assert wrong - {0}


def select(build: Path, candidates: list[Candidate], sets: list[str]) -> list[tuple[str, bytes]]:
    """(tag, line) of all that comes out of one partition, given in blocks of three."""
    worker = Select(str(build), "stage", "near_duplicate", "", ("old", "older"), sets, NEAR if sets else None)
    worker.setup()
    encoded = [encode_line(candidate) + b"\n" for candidate in candidates]
    blocks = [b"".join(encoded[start : start + 3]) for start in range(0, len(encoded), 3)]
    found = [(o.tag, o.value) if hasattr(o, "tag") else ("refs", o) for o in worker.process((0, blocks))]
    worker.teardown()
    return found


def test_a_drop_names_survivor_similarity_band_and_cluster(tmp_path):
    """One member was verified beside the survivor, one beside a member that goes itself."""
    texts = [*sharing(380), " ".join([*(f"a{i}" for i in range(370)), *(f"c{i}" for i in range(30))])]
    refs, rows, sets = signed(tmp_path, texts, NEAR)
    places = sets.places(np.fromfile(rows, dtype=row_type(NEAR.permutations)), -1).tolist()
    best = min(refs, key=lambda ref: (-ref.length, ref.source_id))
    others = [ref for ref in refs if ref is not best]
    joined = {id(best): (others[0], 0.9), id(others[0]): (best, 0.9), id(others[1]): (others[0], 0.8)}
    candidates = [
        Candidate(
            ref=ref,
            key="root",
            place=places[refs.index(ref)],
            beside=joined[id(ref)][0].source_id,
            similarity=joined[id(ref)][1],
            band=5,
        )
        for ref in refs
    ]
    found = select(tmp_path, candidates, sets.paths)
    drops = {
        drop.source_id: drop for tag, line in found if tag == "drops" for drop in [msgspec.json.decode(line, type=Drop)]
    }
    assert set(drops) == {ref.source_id for ref in others}
    for ref in others:
        drop = drops[ref.source_id]
        assert (drop.survivor, drop.cluster, drop.band) == (best.source_id, "root", 5)
        assert drop.beside == joined[id(ref)][0].source_id
        assert drop.excerpt
    assert drops[others[0].source_id].similarity == 0.9  # as verified
    pair = [texts[refs.index(others[1])], texts[refs.index(best)]]
    assert drops[others[1].source_id].similarity == round(truth(NEAR, pair), 4)


def test_a_group_of_any_size_gives_one_survivor_that_names_at_most_so_many(tmp_path):
    (ref,) = spooled(tmp_path, ["text"])
    count = LISTED + 50
    refs = [msgspec.structs.replace(ref, source_id=f"{number:026d}") for number in range(count)]
    found = select(tmp_path, [Candidate(ref=one, key="k") for one in reversed(refs)], [])
    assert Counter(tag for tag, _ in found) == {"drops": count - 1, "refs": 1}
    (kept,) = (msgspec.json.decode(line, type=Ref) for tag, line in found if tag == "refs")
    assert kept.source_id == refs[0].source_id
    assert kept.duplicates == tuple(one.source_id for one in refs[1 : LISTED + 1])


def test_earlier_records_win_and_lose_by_the_same_rule(tmp_path):
    (ref,) = spooled(tmp_path, ["text"])
    named = {name: msgspec.structs.replace(ref, source_id=name * 26) for name in "abcd"}

    def one(name: str, key: str, build: int = 0, stays: bool = True) -> Candidate:
        return Candidate(ref=named[name], key=key, build=build, stays=stays)

    loses = [one("b", "k"), one("a", "k", build=1)]
    wins = [one("a", "l"), one("b", "l", build=1), one("c", "l", build=1, stays=False), one("d", "l")]
    found = select(tmp_path, [*loses, *wins], [])
    lines = {tag: [msgspec.json.decode(line) for other, line in found if other == tag] for tag, _ in found}
    assert [line["source_id"][0] for line in lines["refs"]] == ["a"]
    assert sorted((line["source_id"][0], line["survivor"][0]) for line in lines["drops"]) == [("b", "a"), ("d", "a")]
    assert [(line["source_id"][0], line["set"]) for line in lines["tombstones"]] == [("b", "old")]
    assert lines["refs"][0]["duplicates"] == ["b" * 26, "c" * 26, "d" * 26]


@pytest.mark.parametrize(
    ("members", "most", "limit"), [(100_000, 5_000, 60e6), pytest.param(300_000, 20_000, 100e6, marks=pytest.mark.soak)]
)
def test_a_hot_band_is_taken_in_bounded_memory(tmp_path, monkeypatch, members, most, limit):
    """All share one band of a boilerplate: pairs linear in the members, sorted by the disk and not in memory.

    Held at once are the packed records of the shuffle (56 bytes a member) and pieces of `most`; sorted in memory, the
    four orders of this bucket would take 700 bytes a member.
    """
    near = NearDedup(bands=1, rows=8)
    rows = np.zeros(members, dtype=row_type(near.permutations))
    rows["source_id"] = np.char.zfill(np.arange(members).astype("S26"), 26)
    rows["offset"], rows["values"] = np.arange(members), 7
    rows.tofile(tmp_path / "rows-0")
    monkeypatch.setattr("trivium.pipelines.corpora.shuffles.candidates.MOST", most)
    (tmp_path / "sets").mkdir()
    (tmp_path / "sets/x").touch()
    sets = Sets([tmp_path / "sets/x"], [])
    parts = ranges([tmp_path / "rows-0"], record=rows.itemsize, tag=-1)
    del rows
    graph = CandidateGraph(near, parts, sets, tmp_path, (0, 1, 1), "pairs")
    tracemalloc.start()
    try:
        run_job("hot", graph, BeamOptions(), logs=tmp_path / "logs")
        assert not list(tmp_path.glob("pairs-*"))  # no worker takes them all: they are shared
        crowds = ranges(sorted(tmp_path.glob(f"{CROWDS}-*")), record=BAND_RECORD)
        for low in (0, 2):
            shared = CrowdGraph(near, crowds, sets, tmp_path, (low, low + 2, 4), f"pairs-{low}")
            run_job("shared", shared, BeamOptions(), logs=tmp_path / "logs")
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak < limit, f"{peak:,} bytes"
    found = np.concatenate([np.fromfile(path, np.uint8) for path in tmp_path.glob("pairs-*")]).reshape(-1, PAIR_RECORD)
    joined = np.unique(np.ascontiguousarray(found[:, :16]).view(">u8"))
    assert len(joined) == members
    assert len(found) < 13 * members


def test_pairs_of_one_text_are_verified_in_all_partitions(tmp_path):
    pairs = np.zeros((800, PAIR_RECORD), dtype=np.uint8)
    pairs[:, 8:16] = np.arange(1, 801).astype(">u8").view(np.uint8).reshape(-1, 8)
    pairs.tofile(tmp_path / "pairs")
    line = msgspec.json.encode(Range(str(tmp_path / "pairs"), 0, pairs.nbytes))
    sizes = {number: len(block) // PAIR_RECORD for number, block in PairBlocks((0, 8, 8)).process(line)}
    assert sum(sizes.values()) == 800
    assert len(sizes) == 8
    assert max(sizes.values()) < 200


def equal_documents(build: Path, count: int) -> list[Ref]:
    """References, nine of ten of one content, the others of few or alone; some have duplicates of their own."""
    (ref,) = spooled(build, ["text"])
    contents = ["hot" if number % 10 else f"c{number % 77}" for number in range(count)]
    return [
        msgspec.structs.replace(
            ref,
            source_id=f"{number * 7919 % 1_000_003:026d}",
            address=str(number),
            id=content,
            length=number * 31 // 7 % 5,
            duplicates=(f"d{number:025d}",) if number % 9 == 0 else (),
        )
        for number, content in enumerate(contents)
    ]


def exact(folder: Path, refs: list[Ref], name: str, workers: int = 1) -> dict[str, list[bytes]]:
    """The lines that ExactGraph writes for these references, sorted."""
    (folder / "refs-0").write_bytes(b"".join(encode_line(ref) + b"\n" for ref in refs))
    inputs, target = ranges([folder / "refs-0"]), folder / name
    earlier = types.SimpleNamespace(names=("old",), gone=lambda: [frozenset()])
    for low in range(2):
        graph = ExactGraph(ExactDedup(), "exact_dedup", folder, inputs, earlier, target, (low, low + 1, 2))
        run_job("exact", graph, BeamOptions(workers=workers), logs=folder / "logs")
    return {name: sorted(lines_of(target, name)) for name in ("refs", "drops", "tombstones")}


def test_a_content_that_a_range_holds_often_is_judged_there_and_comes_out_the_same(tmp_path, monkeypatch):
    refs = equal_documents(tmp_path, 2_500)
    whole = exact(tmp_path, refs, "whole")  # one range: its best and its first speak for the rest
    monkeypatch.setattr("trivium.pipelines.corpora.blocks.RANGE", 40_000)
    cut = exact(tmp_path, refs[::-1], "cut", workers=2)
    monkeypatch.setattr("trivium.pipelines.corpora.shuffles.rest.CROWD", 10**9)
    travelled = exact(tmp_path, refs, "travelled")
    assert whole == cut == travelled
    assert {name: len(found) for name, found in whole.items()} == {"refs": 78, "drops": 2_500 - 78, "tombstones": 0}
    (kept,) = (ref for ref in (msgspec.json.decode(line, type=Ref) for line in whole["refs"]) if ref.id == "hot")
    assert len(kept.duplicates) == LISTED
    hot = [ref for ref in refs if ref.id == "hot"]
    assert kept.source_id == min(hot, key=lambda ref: (-ref.length, ref.source_id)).source_id


def test_the_values_of_a_content_are_bounded_by_the_ranges_that_hold_it(tmp_path, monkeypatch):
    """Whatever a key's members are, so that no worker takes a million of them."""
    monkeypatch.setattr("trivium.pipelines.corpora.blocks.RANGE", 40_000)
    refs = equal_documents(tmp_path, 2_500)
    (tmp_path / "refs-0").write_bytes(b"".join(encode_line(ref) + b"\n" for ref in refs))
    blocks = ContentBlocks("", [], (0, 1, 1))
    found = []
    for part in ranges([tmp_path / "refs-0"]):
        packed = [block for _, block in blocks.process(msgspec.json.encode(part))]
        found.append(Counter(msgspec.json.decode(line, type=Candidate).key for line in unpack(packed)))
    assert len(found) > 10
    assert SENT <= max(counts["hot"] for counts in found) <= 1 + SENT
    assert max(max(counts.values()) for counts in found) <= CROWD


def million_equal(folder: Path, count: int, limit: int) -> None:
    """A process of its own with `limit` bytes of memory: the graph over `count` references of one content."""
    resource.setrlimit(resource.RLIMIT_DATA, (limit, limit))
    (ref,) = spooled(folder, ["text"])
    with (folder / "refs-0").open("wb") as file:
        for number in range(count):
            key = f"{number * 7919 % 100_000_007:026d}"
            file.write(encode_line(msgspec.structs.replace(ref, source_id=key, address=str(number))) + b"\n")
    earlier = types.SimpleNamespace(names=(), gone=list)
    inputs, target = ranges([folder / "refs-0"]), folder / "out"
    jobs = parts(inputs, count, PARTITION, IN_FLIGHT)
    for part in jobs:
        graph = ExactGraph(ExactDedup(), "exact_dedup", folder, inputs, earlier, target, part)
        run_job("exact", graph, BeamOptions(), logs=folder / "logs")
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    (folder / "told").write_text(f"{len(inputs)} {len(jobs)} {peak}")


@pytest.mark.soak
def test_a_million_equal_documents_leave_one_in_bounded_memory(tmp_path):
    """Packed as they are, their references alone would be 250 MB in one worker's hands; a few of each range are."""
    count = 1_000_000
    child = multiprocessing.get_context("spawn").Process(target=million_equal, args=(tmp_path, count, 600 << 20))
    child.start()
    child.join()
    assert child.exitcode == 0
    print((tmp_path / "told").read_text(), "ranges, jobs, kB at the peak")
    assert sum(1 for _ in lines_of(tmp_path / "out", "drops")) == count - 1
    (kept,) = (msgspec.json.decode(line, type=Ref) for line in lines_of(tmp_path / "out", "refs"))
    assert kept.source_id == f"{0:026d}"
    assert len(kept.duplicates) == LISTED


@settings(max_examples=25)
@given(st.lists(st.tuples(st.integers(0, 6), st.integers(0, 2), st.booleans()), max_size=25), st.randoms())
def test_survivors_are_clusters_and_singletons_whoever_comes_first(tmp_path_factory, members, shuffler):
    """Each member (its group, its build, whether it stayed there) is kept, dropped, a tombstone, or long gone."""
    build = tmp_path_factory.mktemp("groups")
    (ref,) = spooled(build, ["text"])
    candidates = [
        Candidate(
            ref=msgspec.structs.replace(ref, source_id=f"{number:026d}", length=number % 3),
            key=str(group),
            build=of,
            stays=stays,
        )
        for number, (group, of, stays) in enumerate(members)
    ]
    found = select(build, candidates, [])
    shuffled = list(candidates)
    shuffler.shuffle(shuffled)
    assert sorted(select(build, shuffled, [])) == sorted(found)
    ids = {tag: [msgspec.json.decode(line)["source_id"] for other, line in found if other == tag] for tag, _ in found}
    groups: dict[str, list[Candidate]] = {}
    for one in candidates:
        groups.setdefault(one.key, []).append(one)
    best = {min(group, key=lambda one: (-one.ref.length, one.ref.source_id)).ref.source_id for group in groups.values()}
    new = {one.ref.source_id for one in candidates if not one.build}
    alive = {one.ref.source_id for one in candidates if one.build and one.stays}
    assert set(ids.get("refs", ())) == best & new
    assert set(ids.get("drops", ())) == new - best
    assert set(ids.get("tombstones", ())) == alive - best
    assert sum(map(len, ids.values())) == len(set().union(*ids.values())) if ids else True


@given(st.dictionaries(st.text("abc", min_size=1, max_size=4), st.integers(0, 300)), st.integers(1, 500))
def test_shards_are_planned_by_sizes_as_by_records(sizes, target):
    order = sorted(sizes)
    runs = shard_runs(np.array([sizes[key] for key in order], dtype=np.int64), target)
    assert tuple(tuple(order[run]) for run in runs) == plan_shards(sizes, target)
