import threading

import numpy as np
import pytest
import torch

from trivium.curriculum import rank_rows
from trivium.data.tokenizers.layout import split_tokens
from trivium.errors import StorageError
from trivium.model.batch import MEDIA, NO_TARGET, Batch, collate
from trivium.pipelines.train.config import load_run
from trivium.pipelines.train.feed import Feed
from trivium.pipelines.train.loading.assemble import Assembler
from trivium.pipelines.train.loading.config import Data
from trivium.pipelines.train.prepare import prepare


def same(one: Batch, other: Batch) -> bool:
    return all(torch.equal(getattr(one, name), getattr(other, name)) for name in Batch.__slots__)


def test_a_batch_holds_the_rows_tokens_and_pictures(prepared):
    assembler = prepared.assembler()
    rows, _ = next(prepared.plan.rows())
    batch = assembler.batch(rows.rows)
    pieces = [piece for row in rows.rows for piece in row.pieces]
    expected = [split_tokens(prepared.sets[p.corpus].read_tokens(p.record)[p.start : p.stop])[0] for p in pieces]
    assert batch.tokens_T.tolist() == np.concatenate(expected).tolist()
    assert batch.cu_seqlens.tolist() == np.cumsum([0, *(len(ids) for ids in expected)]).tolist()
    assert batch.tokens == rows.tokens
    assert int((batch.modality_T == MEDIA).sum()) * 4 == batch.patches_P.shape[0]
    assert batch.patches_P.shape[0] == sum(row.patches for row in rows.rows) > 0


def test_the_thread_hands_over_what_a_plain_loop_gives(prepared):
    assembler = prepared.assembler()
    with Feed(prepared.plan, prepared.assembler()) as feed:
        for fed, (rows, behind) in zip(feed, prepared.plan.rows(), strict=True):
            assert fed.rows == rows
            assert fed.behind == behind
            assert same(fed.batch, assembler.batch(rows.rows))


@pytest.mark.parametrize("done", [1, 7, 15])
def test_from_a_state_it_goes_on_with_the_next_step(prepared, done):
    with Feed(prepared.plan, prepared.assembler()) as feed:
        whole = [next(feed) for _ in range(done + 2)]
    with Feed(prepared.plan, prepared.assembler(), whole[done - 1].behind) as feed:
        for expected in whole[done:]:
            fed = next(feed)
            assert fed.rows == expected.rows
            assert same(fed.batch, expected.batch)


def test_closing_early_ends_the_thread(prepared):
    before = threading.active_count()
    with Feed(prepared.plan, prepared.assembler()) as feed:
        next(feed)
    assert threading.active_count() == before


def tight(prepared):
    """An assembler that may keep no picture."""
    return Assembler(prepared.sets, prepared.rules, prepared.vocabulary, Data(workers=0, cache_mib=0))


def test_the_cache_is_bounded_and_changes_nothing(prepared):
    roomy, small = prepared.assembler(), tight(prepared)
    kept = 0
    for step in [step for step, _ in prepared.plan.rows()][:6]:
        assert same(roomy.batch(step.rows), small.batch(step.rows))
        kept = max(kept, sum(pictures.result().bytes for pictures in roomy.store._kept.values()))
        assert len(small.store._kept) == 0
    assert kept > 0


def test_an_error_in_the_thread_reaches_the_loop_after_the_steps_before_it(place):
    """A tar that is gone in the middle of a run: no word about its bytes, so nothing is skipped and the run stops."""
    run = load_run(place / "run.yaml", ["data.read_attempts=1"])
    prepared = prepare(run, name="run.yaml", cache=None)
    uses = [{p.corpus for row in step.rows for p in row.pieces} for step, _ in prepared.plan.rows()]
    first = next(number for number, corpora in enumerate(uses) if "icons" in corpora)
    for path in (place / "corpora" / "icons" / "shards").glob("*.tar"):
        path.unlink()
    with Feed(prepared.plan, prepared.assembler()) as feed:
        assert [len(next(feed).skips) for _ in range(first)] == [0] * first
        with pytest.raises(StorageError, match=r"icons-128-00000.tar.*is gone since this set was opened.*was skipped"):
            next(feed)


def test_only_the_last_target_of_a_cut_text_lies_behind_its_piece(prepared):
    cut = 0
    for step, _ in list(prepared.plan.rows())[:12]:
        batch = prepared.assembler().batch(step.rows)
        last = batch.targets_T[batch.cu_seqlens[1:] - 1].tolist()
        for piece, target in zip((p for row in step.rows for p in row.pieces), last, strict=True):
            ids, loss = split_tokens(prepared.sets[piece.corpus].read_tokens(piece.record))
            follows = piece.stop < len(ids) and loss[piece.stop]
            assert target == (ids[piece.stop] if follows else NO_TARGET)
            cut += piece.stop < len(ids)
    assert cut > 3


def test_a_batch_is_what_collate_makes_of_its_samples(prepared):
    assembler = prepared.assembler()
    for step, _ in prepared.plan.rows():
        batch = assembler.batch(step.rows)
        samples = [assembler.sample(piece) for row in step.rows for piece in row.pieces]
        assert same(batch, collate(samples, assembler.media_pad))


@pytest.mark.parametrize("world", [1, 2, 3, 8])
def test_ranks_read_their_own_rows_and_no_pictures_of_others(prepared, world):
    whole = prepared.assembler()
    ranks = [tight(prepared) for _ in range(world)]
    feeds = [
        Feed(prepared.plan, ranks[rank], share=lambda step, rank=rank: tuple(rank_rows(step, rank, world)))
        for rank in range(world)
    ]
    asked = [set() for _ in ranks]
    for rank, assembler in enumerate(ranks):
        ask = assembler.store.ask
        assembler.store.ask = lambda corpus, record, rank=rank, ask=ask: (
            asked[rank].add((corpus, record)),
            ask(corpus, record),
        )[1]
    for step, _ in list(prepared.plan.rows())[:8]:
        fed = [next(feed) for feed in feeds]
        assert all(one.rows == step for one in fed)
        for rank, one in enumerate(fed):
            mine = rank_rows(step, rank, world)
            if mine:
                assert same(one.batch, whole.batch(mine))
            assert one.batch.tokens == (sum(row.tokens for row in mine) or 1)
    for feed in feeds:
        feed.close()
    shown = [
        {
            (p.corpus, p.record)
            for step, _ in prepared.plan.rows()
            for row in rank_rows(step, rank, world)
            for p in row.pieces
            if prepared.sets[p.corpus].entries.images[p.record]
        }
        for rank in range(world)
    ]
    assert all(asked[rank] <= shown[rank] for rank in range(world))
    assert any(asked)
