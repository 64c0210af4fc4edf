"""Corpora behind an address: the same batches as from a local folder, and damage is found there too."""

import fsspec
import pytest
import torch

from trivium.model.batch import Batch
from trivium.pipelines.train.config import load_run
from trivium.pipelines.train.feed import Feed
from trivium.pipelines.train.prepare import prepare


@pytest.fixture
def remote(place):
    """The corpora in fsspec's memory; the run reads them there."""
    store = fsspec.filesystem("memory")
    for path in (place / "corpora").rglob("*"):
        if path.is_file():
            store.pipe(f"/loading/{path.relative_to(place / 'corpora')}", path.read_bytes())
    yield store
    store.rm("/loading", recursive=True)


def fed(place, *changes):
    prepared = prepare(load_run(place / "run.yaml", changes), name="run.yaml", cache=None)
    assembler = prepared.assembler()
    with Feed(prepared.plan, assembler) as feed:
        found = list(feed)
    assembler.close()
    return found


def test_an_address_gives_the_batches_of_a_folder(place, remote):
    near, far = fed(place), fed(place, "corpora=memory://loading")
    assert len(near) == len(far) > 10
    for one, other in zip(near, far, strict=True):
        assert one.skips == other.skips == ()
        assert all(torch.equal(getattr(one.batch, name), getattr(other.batch, name)) for name in Batch.__slots__)


def test_damage_behind_an_address_costs_its_record(place, remote, damage):
    whole = fed(place)
    pieces = [piece for step in whole for row in step.rows.rows for piece in row.pieces if piece.corpus == "help"]
    damage.flip(place / "corpora" / "help", pieces[0].record, "tokens")
    path, _, _ = damage.member(place / "corpora" / "help", pieces[0].record, "tokens")
    remote.pipe(f"/loading/help/shards/{path.name}", path.read_bytes())
    far = fed(place, "corpora=memory://loading")
    assert [skip.reason for step in far for skip in step.skips] == ["bytes"] * sum(
        piece.record == pieces[0].record for piece in pieces
    )
