"""Drawing, skipping and jumping lead to the same place, whatever the way."""

import msgspec
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from trivium.curriculum.index import BLOCK, KeptIndex, block_sums
from trivium.curriculum.lengths import Columns, Runs
from trivium.curriculum.line import SPREAD, WHOLE, Line
from trivium.curriculum.pools import Pool, Rules, supplies
from trivium.curriculum.rows import Cursor


def _line(tokens, patches=None, *, context=64, budget=256, cut=True, seed=3) -> Line:
    sizes = np.array(tokens, dtype=np.uint32)
    pictures = None if patches is None else np.array(patches, dtype=np.uint32)
    runs = Runs.of(np.ones(len(sizes), dtype=bool))
    pool = Pool("web/a", "web", "a", 0, runs, Columns(sizes, pictures, (runs,)), seed)
    rules = Rules(context, budget, cut)
    return Line(pool, rules, supplies(pool, [rules])[0], WHOLE)


documents = st.lists(st.tuples(st.integers(0, 300), st.sampled_from([0, 0, 4, 400])), min_size=1, max_size=40)


@given(sizes=documents, cut=st.booleans(), cuts=st.lists(st.integers(0, 4000), min_size=1, max_size=6))
@settings(max_examples=60, deadline=None)
def test_stretches_join_without_gap_and_skipping_gives_the_same_cursor(sizes, cut, cuts) -> None:
    line = _line([t for t, _ in sizes], [p for _, p in sizes], cut=cut)
    if not line.supply.tokens:
        return
    borders = sorted({2 * border for border in cuts} | {1})
    whole, end = line.draw(Cursor(), borders[-1])
    cursor, twice, spans = Cursor(), [], []
    for border in borders:
        pieces, cursor = line.draw(cursor, border)
        assert cursor == line.skip(Cursor(), border)
        twice += pieces.twice.tolist()
        spans += list(zip(pieces.record.tolist(), pieces.start.tolist(), pieces.stop.tolist(), strict=True))
    assert cursor == end
    assert twice == whole.twice.tolist() == sorted(twice)
    assert spans == list(zip(whole.record.tolist(), whole.start.tolist(), whole.stop.tolist(), strict=True))
    for record, start, stop in spans:
        tokens, patches = sizes[record]
        assert 0 < stop - start <= 64
        if tokens <= 64 or patches or not cut:
            assert (start, stop) == (0, tokens)
        assert patches <= 256


def test_every_document_comes_once_an_epoch() -> None:
    line = _line(range(1, 200))
    pieces, cursor = line.draw(Cursor(), 2 * 3 * line.supply.tokens)
    records, counts = np.unique(pieces.record, return_counts=True)
    assert records.tolist() == list(range(199))
    assert counts.tolist() == [3 * -(-n // 64) for n in range(1, 200)]
    assert (cursor.epoch, cursor.position, cursor.pieces, cursor.before) == (3, 0, 0, ())
    assert cursor.taken == 3 * line.supply.tokens


@given(sizes=documents, contexts=st.permutations([16, 64, 64, 300]), cuts=st.lists(st.integers(1, 900), min_size=4))
@settings(max_examples=60, deadline=None)
def test_stages_that_follow_each_other_share_an_epoch_out(sizes, contexts, cuts) -> None:
    """Whatever the order of contexts: a token comes once, a document that fits and is whole comes whole."""
    cursor, seen = Cursor(), np.zeros((len(sizes), 301), dtype=int)
    for context, cut in zip(contexts, cuts, strict=False):
        line = _line([t for t, _ in sizes], [p for _, p in sizes], context=context)
        if not line.supply.tokens:
            continue
        cursor = msgspec.json.decode(msgspec.json.encode(cursor), type=Cursor)
        border = 2 * min(cut, line.supply.tokens)
        pieces, behind = line.draw(msgspec.structs.replace(cursor, taken=0), border)
        assert behind == line.skip(msgspec.structs.replace(cursor, taken=0), border)
        if behind.epoch:
            break
        for record, start, stop in zip(pieces.record, pieces.start, pieces.stop, strict=True):
            whole = sizes[record][0]
            assert stop - start <= context
            assert stop == whole or stop - start == context  # only the last piece of a document is short
            assert not seen[record, start:stop].any()
            assert start == seen[record].sum()  # a document goes on where it was left
            seen[record, start:stop] += 1
        cursor = line.leave(behind)


def test_documents_that_are_cut_are_read_side_by_side() -> None:
    rng = np.random.default_rng(2)
    lengths = [int(n) for n in rng.integers(2000, 6000, SPREAD + 40)]
    line = _line(lengths)
    pieces, cursor = line.draw(Cursor(), 2 * (sum(lengths) // 20))
    assert len(np.unique(pieces.record)) == SPREAD
    assert np.bincount(pieces.record).max() <= 2 + 6000 // 64 // 16
    assert (cursor.position, cursor.pieces) == (0, len(pieces))
    short = _line([min(n, 64) for n in lengths])  # none is cut: the order is the shuffle's
    order = short.draw(Cursor(), 2 * 64 * 50)[0].record
    assert order.tolist() == short.pool.look_up(0, 0, 50)[0].tolist()


def test_an_index_leads_where_reading_leads(tmp_path) -> None:
    rng = np.random.default_rng(5)
    count = 5 * BLOCK + 77
    tokens = np.where(rng.random(count) < 0.1, 0, rng.integers(1, 200, count))
    patches = np.where(rng.random(count) < 0.3, 4 * rng.integers(1, 120, count), 0)
    line = _line(tokens, patches)
    whole = line.supply.tokens
    assert block_sums(line, 1)[-1] == whole
    index = KeptIndex(tmp_path, "sizes")
    for part in (0.001, 0.3, 0.77, 0.9999, 1.0, 1.42, 3.07):
        border = int(2 * part * whole)
        near = line.skip(Cursor(), border)
        assert line.skip(Cursor(), border, index) == near
        assert line.skip(line.skip(Cursor(), border // 3, index), border, KeptIndex(tmp_path, "sizes")) == near
    kept = sorted(tmp_path.glob("index-*.npy"))
    assert len(kept) == 3  # epochs 0, 1 and 3
    for path in kept:
        path.write_bytes(b"damaged")
    assert line.skip(Cursor(), whole, KeptIndex(tmp_path, "sizes")) == line.skip(Cursor(), whole)


def test_what_a_stage_can_not_use_is_passed_over_and_counted() -> None:
    line = _line([10, 100, 100, 20, 0], [0, 0, 4, 400, 0], cut=False)
    assert line.supply.skipped == {"pictures_too_long": 1, "too_many_patches": 1, "too_long": 1}
    assert (line.supply.documents, line.supply.tokens, line.supply.train_documents) == (1, 10, 4)
    pieces, _ = line.draw(Cursor(), 2 * 35)
    assert pieces.record.tolist() == [0, 0, 0]


def test_runs_give_the_records_of_a_mask() -> None:
    mask = np.array([True, True, False, True, False, False, True])
    runs = Runs.of(mask)
    assert len(runs) == 4
    assert runs.records(np.arange(4)).tolist() == [0, 1, 3, 6]
    assert Runs.of(mask[:2]).records(np.arange(2)).tolist() == [0, 1]
    with pytest.raises(IndexError):
        runs.records(np.array([9]))
