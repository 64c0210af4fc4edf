import threading

import numpy as np
import pytest
import torch

from trivium.data.tokenizers.layout import split_tokens
from trivium.errors import InputError
from trivium.model.batch import MEDIA, NO_TARGET, Batch
from trivium.pipelines.train.feed import Assembler, Feed


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


def test_the_cache_is_bounded_and_changes_nothing(prepared):
    rows = [rows for rows, _ in prepared.plan.rows()][:6]
    roomy, tight = (
        prepared.assembler(),
        Assembler(prepared.sets, prepared.rules, prepared.model.media_pad, cache_bytes=1),
    )
    for step in rows:
        assert same(roomy.batch(step.rows), tight.batch(step.rows))
    assert len(roomy._cache) > 0
    assert len(tight._cache) == 0


def test_a_damaged_picture_names_its_record(prepared, monkeypatch):
    assembler = prepared.assembler()
    icons = prepared.sets["icons"]
    document = icons.read_document(3)
    monkeypatch.setattr(type(icons), "read_media", lambda self, record, name: b"no picture")
    monkeypatch.setattr(type(icons), "read_document", lambda self, record: document)
    with pytest.raises(InputError, match=rf"corpus icons: record {icons.entries.id[3]}: i0.png: not a picture in"):
        assembler.pictures("icons", 3)


def test_an_error_in_the_thread_reaches_the_loop(prepared, monkeypatch):
    def damaged(self, rows):
        raise InputError("record x is damaged")

    monkeypatch.setattr(Assembler, "batch", damaged)
    with Feed(prepared.plan, prepared.assembler()) as feed, pytest.raises(InputError, match="record x is damaged"):
        next(feed)


def test_targets_never_cross_a_document(prepared):
    rows, _ = next(prepared.plan.rows())
    batch = prepared.assembler().batch(rows.rows)
    assert (batch.targets_T[batch.cu_seqlens[1:] - 1] == NO_TARGET).all()
