"""Damaged shards: `verify` finds the damage, a run loses the bad records and nothing else, whoever reads them."""

import io

import numpy as np
import pytest
import torch
from PIL import Image

from trivium.curriculum.rows import Piece, Row
from trivium.data.shards.verify import verify
from trivium.errors import ShardError
from trivium.model.batch import NO_TARGET, Batch
from trivium.pipelines.train.config import load_run
from trivium.pipelines.train.feed import Feed
from trivium.pipelines.train.prepare import prepare

PAD = 397  # <|media_pad|> of the corpora' tokenizer


def opened(place, *changes):
    return prepare(load_run(place / "run.yaml", changes), name="run.yaml", cache=None)


def png(side):
    out = io.BytesIO()
    Image.new("RGB", (side, side), "red").save(out, "PNG")
    return out.getvalue()


def first_with(prepared, corpus):
    """The first step that reads one piece, and no more, of some record of `corpus`; and that piece."""
    for step, _ in prepared.plan.rows():
        pieces = [piece for row in step.rows for piece in row.pieces if piece.corpus == corpus]
        records = [piece.record for piece in pieces]
        for piece in pieces:
            if records.count(piece.record) == 1:
                return step, piece
    raise AssertionError(f"no step reads {corpus}")


def without(assembler, rows, bad):
    """Token ids and targets of the rows, piece by piece, where `bad` (corpus, record) is left out."""
    tokens, targets = [], []
    for piece in (piece for row in rows for piece in row.pieces):
        if (piece.corpus, piece.record) != bad:
            batch = assembler.batch([type(rows[0])((piece,), piece.tokens, 0)])
            tokens += batch.tokens_T.tolist()
            targets += batch.targets_T.tolist()
    return tokens, targets


def same(one: Batch, other: Batch) -> bool:
    return all(torch.equal(getattr(one, name), getattr(other, name)) for name in Batch.__slots__)


def tokens_with(piece, length, instead):
    """`length` plain tokens, the first one of the piece replaced."""
    ids = np.full(length, 7, "<u4")
    ids[piece.start] = instead
    return ids.tobytes()


# Corpus, what is done to one of its records (folder, piece, tokens), the reason by which it is then left out.
DAMAGE = {
    "a bit of the tokens": ("help", lambda d, f, p, n: d.flip(f, p.record, "tokens"), "bytes"),
    "a bit of a picture": ("icons", lambda d, f, p, n: d.flip(f, p.record, "i0.png", at=40), "bytes"),
    "a bit of the JSON": ("icons", lambda d, f, p, n: d.flip(f, p.record, "json"), "bytes"),
    "no picture at all": ("icons", lambda d, f, p, n: d.rewrite(f, p.record, "i0.png", b"no picture"), "picture"),
    "half a picture": ("icons", lambda d, f, p, n: d.rewrite(f, p.record, "i0.png", png(56)[:90]), "picture"),
    "a picture of another size": ("icons", lambda d, f, p, n: d.rewrite(f, p.record, "i0.png", png(84)), "layout"),
    "a token that is none": (
        "help",
        lambda d, f, p, n: d.rewrite(f, p.record, "tokens", tokens_with(p, n, 400)),
        "vocabulary",
    ),
    "a media token in text": (
        "help",
        lambda d, f, p, n: d.rewrite(f, p.record, "tokens", tokens_with(p, n, PAD)),
        "layout",
    ),
}


@pytest.mark.parametrize("what", DAMAGE)
def test_only_the_bad_record_is_left_out(place, damage, what):
    corpus, harm, reason = DAMAGE[what]
    prepared = opened(place)
    assert prepared.vocabulary.media_pad == PAD
    step, piece = first_with(prepared, corpus)
    entries = prepared.sets[corpus].entries
    key = str(entries.id[piece.record])
    tokens, targets = without(prepared.assembler(), step.rows, (corpus, piece.record))
    folder = place / "corpora" / corpus
    harm(damage, folder, piece, int(entries.tokens[piece.record]))
    assert any(key in problem for problem in verify(folder).problems)
    made = opened(place).assembler().assemble(step.rows)
    assert made.batch.tokens_T.tolist() == tokens
    assert made.batch.targets_T.tolist() == targets
    assert [(skip.key, skip.reason) for skip in made.skips] == [(f"{corpus}/{key}", reason)]
    assert key in made.skips[0].detail


def test_damage_is_the_same_for_any_number_of_workers(place, damage):
    prepared = opened(place)
    steps = [step for step, _ in prepared.plan.rows()]
    icons = sorted({p.record for s in steps for row in s.rows for p in row.pieces if p.corpus == "icons"})
    damage.rewrite(place / "corpora" / "icons", icons[1], "i0.png", b"no picture")
    damage.flip(place / "corpora" / "icons", icons[0], "i0.png", at=40)
    seen = []
    for workers in (0, 1, 3):
        prepared = opened(place, f"data.workers={workers}")
        assembler = prepared.assembler()
        try:
            with Feed(prepared.plan, assembler) as feed:
                seen.append(list(feed))
            # A broken picture costs a process nothing: none was started anew.
            assert min(workers, 1) <= assembler.store.decoders.starts <= workers
        finally:
            assembler.close()
    assert {skip.key for fed in seen[0] for skip in fed.skips} == {
        f"icons/{prepared.sets['icons'].entries.id[record]}" for record in icons[:2]
    }
    for other in seen[1:]:
        assert [fed.skips for fed in other] == [fed.skips for fed in seen[0]]
        assert all(same(one.batch, two.batch) for one, two in zip(seen[0], other, strict=True))


def test_a_cut_tar_is_refused_at_the_start_unless_the_run_says_otherwise(place, damage):
    prepared = opened(place)
    steps = [step for step, _ in prepared.plan.rows()]
    whole = prepared.assembler()
    batches = [whole.batch(step.rows) for step in steps]
    bucket = prepared.sets["help"].entries.shard
    record = int(np.flatnonzero(bucket == bucket[-1])[3])
    lost = damage.cut(place / "corpora" / "help", record)
    with pytest.raises(ShardError, match=r"cut short.*data\.allow_damaged=true, which leaves out the records"):
        opened(place)
    harmed = opened(place, "data.allow_damaged=true")
    assert harmed.plan.digest == prepared.plan.digest
    assembler = harmed.assembler()
    gone = set()
    for step, batch in zip(steps, batches, strict=True):
        made = assembler.assemble(step.rows)
        gone |= {skip.key for skip in made.skips}
        assert {skip.reason for skip in made.skips} <= {"bytes"}
        assert made.batch.tokens + sum(skip.tokens for skip in made.skips) == batch.tokens
        assert made.skips or same(made.batch, batch)
    met = {f"help/{key}" for key in lost} & {
        f"help/{prepared.sets['help'].entries.id[p.record]}"
        for s in steps
        for row in s.rows
        for p in row.pieces
        if p.corpus == "help"
    }
    assert gone == met
    assert gone


def test_a_tar_that_is_gone_is_survived_only_when_the_run_says_so(place):
    prepared = opened(place)
    step, piece = first_with(prepared, "icons")
    info = prepared.sets["icons"].manifest.shards[int(prepared.sets["icons"].entries.shard[piece.record])]
    (place / "corpora" / "icons" / "shards" / info.name).unlink()
    with pytest.raises(ShardError, match=r"no such file.*data\.allow_damaged=true"):
        opened(place)
    made = opened(place, "data.allow_damaged=true").assembler().assemble(step.rows)
    assert {skip.reason for skip in made.skips} == {"bytes"}


def test_a_step_without_a_usable_record_is_one_token_without_a_target(place, damage):
    prepared = opened(place)
    step = next(step for step, _ in prepared.plan.rows() if {p.corpus for r in step.rows for p in r.pieces} == {"help"})
    for piece in {p.record for row in step.rows for p in row.pieces}:
        damage.flip(place / "corpora" / "help", piece, "tokens")
    batch = opened(place).assembler().batch(step.rows)
    assert batch.tokens_T.tolist() == [prepared.vocabulary.pad]
    assert batch.targets_T.tolist() == [NO_TARGET]
    assert batch.cu_seqlens.tolist() == [0, 1]
    assert (batch.patches_P.shape[0], batch.grids_I3.shape[0]) == (0, 0)


def test_held_out_rows_lose_their_bad_records(place, damage):
    prepared = opened(place)
    rows = prepared.plan.held_out("icons", context=192, patches=768)
    bad = rows[0].pieces[0].record
    damage.flip(place / "corpora" / "icons", bad, "i0.png", at=40)
    usable, skips = opened(place).assembler().usable(rows)
    assert [(skip.key, skip.reason) for skip in skips] == [(f"icons/{prepared.sets['icons'].entries.id[bad]}", "bytes")]
    kept = [piece.record for row in usable for piece in row.pieces]
    assert kept == [piece.record for row in rows for piece in row.pieces if piece.record != bad]
    assert usable[0].tokens == sum(piece.tokens for piece in usable[0].pieces)


@pytest.mark.parametrize("part", [slice(0, None), slice(0, 9), slice(30, 40), slice(-5, None)])
def test_whole_records_and_parts_of_them_are_checked(place, damage, part):
    """A part of a record is bad when any of its record is, so that all its parts are left out alike."""
    tokens = opened(place).sets["help"].entries.tokens
    start, stop, _ = part.indices(int(tokens[4]))
    row = Row((Piece("help", 4, start, stop),), stop - start, 0)
    assembler = opened(place).assembler()
    assert assembler.assemble([row]).skips == ()
    damage.flip(place / "corpora" / "help", 4, "tokens", at=4 * 20 + 1)
    harmed = opened(place).assembler()
    for _ in range(2):
        assert [skip.reason for skip in harmed.assemble([row]).skips] == ["bytes"]
