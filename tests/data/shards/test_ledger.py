"""Columns read by shard: equal to whole arrays, held up to a bound, and kept in files that other processes map."""

import pickle

import msgspec
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from trivium.data.shards import ShardSet, entries, ledger, write_set
from trivium.data.shards.direct import DirectTokens
from trivium.data.shards.shelf import Shelf
from trivium.errors import ShardError

NAMES = ("shard", *entries.NUMBERS, *entries.STRINGS)


@pytest.fixture
def many(tmp_path, texts, pictures, base):
    """52 records with invented tokens in about 20 shards."""
    rng = np.random.default_rng(0)
    records = []
    for document, media in (*texts, *pictures):
        tokens = rng.integers(0, 999, int(rng.integers(2, 3000)), np.uint32)
        records.append((document, {**media, "tokens": tokens.astype("<u4").tobytes()}))
    manifest = msgspec.structs.replace(base, tokenizer="t" * 64)
    write_set(tmp_path / "many", records, manifest, target_bytes=30_000)
    return tmp_path / "many"


def indexes(folder):
    return sorted(folder.glob("shards/*.idx.json"))


def test_opening_reads_no_index_and_a_read_only_its_own(many):
    for path in indexes(many)[1:]:
        path.write_bytes(b"damaged")
    shards = ShardSet.open(many)
    assert len(shards) == 52
    first = shards.manifest.shards[0].records
    assert [len(shards.read_tokens(n)) for n in range(first)] == shards.entries.tokens[:first].tolist()
    with pytest.raises(ShardError, match=r"idx\.json: sha256"):
        shards.read_tokens(first)


def test_columns_are_the_indexes_one_after_the_other(many):
    shards = ShardSet.open(many)
    raw = [msgspec.json.decode(path.read_bytes()) for path in indexes(many)]
    for name in NAMES[1:]:
        whole = [value for one in raw for value in one[name]]
        column = getattr(shards.entries, name)
        assert column.tolist() == list(column) == [column[n] for n in range(52)] == whole, name
    assert shards.entries.shard.tolist() == [n for n, one in enumerate(raw) for _ in one["id"]]
    assert shards.entries.tokens.sum() == shards.manifest.tokens
    assert shards.entries.images.any()


@given(data=st.data())
def test_parts_of_a_column_are_parts_of_its_array(data):
    """Shards of invented lengths, some of them empty."""
    lengths = data.draw(st.lists(st.integers(0, 5), max_size=6))
    total = sum(lengths)

    class Invented:
        starts = [0, *np.cumsum(lengths, dtype=np.int64).tolist()]

        def ahead(self, shards):
            pass

    column = entries.Column(Invented(), "shard")
    whole = np.repeat(np.arange(len(lengths)), lengths)
    at = data.draw(
        st.one_of(
            st.slices(total),
            st.lists(st.integers(0, total - 1)).map(lambda n: np.array(n, np.int64)) if total else st.just(slice(0)),
            st.lists(st.booleans(), min_size=total, max_size=total).map(lambda n: np.array(n, bool)),
        )
    )
    assert column[at].tolist() == whole[at].tolist()
    assert (column == whole).all()
    for outside in (total, -total - 1):
        with pytest.raises(IndexError):
            column[outside]


def test_memory_is_bounded_however_many_shards_are_read(many, monkeypatch):
    whole = ShardSet.open(many)
    expected = [(whole.read(n), whole.where(n)) for n in range(len(whole))]
    room = 3 * max(whole.ledger.sheet(n).cost for n in range(len(whole.manifest.shards)))
    monkeypatch.setattr(ledger, "SHEETS", room)
    monkeypatch.setattr(ledger, "STRINGS", 1)
    monkeypatch.setattr("trivium.data.shards.blobs.OPEN", 2)
    shards = ShardSet.open(many)
    for n in np.random.default_rng(1).permutation(len(shards)).tolist():
        assert (shards.read(n), shards.where(n)) == expected[n]
        assert shards.entries.source_id[n] == whole.entries.source_id[n]
        assert shards.ledger.sheets.taken <= room
        assert len(shards.blobs._open) <= 2
    assert 0 < len(shards.ledger.sheets) < len(shards.manifest.shards)


def test_kept_sheets_stand_in_for_the_indexes(many, tmp_path):
    whole = ShardSet.open(many)
    tokens, reads = whole.entries.tokens.tolist(), [whole.read(n) for n in range(0, 52, 5)]
    assert ShardSet.open(many, keep=tmp_path / "kept").entries.tokens.tolist() == tokens
    held = sorted((tmp_path / "kept").iterdir())
    assert len(held) == len(whole.manifest.shards)
    held[0].write_bytes(held[0].read_bytes()[:-1])  # one that is cut is made again, before its index is gone
    assert ShardSet.open(many, keep=tmp_path / "kept").entries.tokens.tolist() == tokens
    for path in indexes(many):
        path.write_bytes(b"damaged")
    shards = pickle.loads(pickle.dumps(ShardSet.open(many, keep=tmp_path / "kept")))  # noqa: S301 (our own)
    assert shards.entries.tokens.tolist() == tokens
    assert [shards.read(n) for n in range(0, 52, 5)] == reads
    assert shards.ledger.sheet(0).mapped
    direct, buffer = DirectTokens(shards), np.zeros(tokens[7], np.uint32)
    direct.into(7, 0, memoryview(buffer).cast("B"))
    assert buffer.tolist() == whole.read_tokens(7).tolist()
    with pytest.raises(ShardError, match="sha256"):  # strings are in the index alone
        shards.entries.license[0]


def test_a_shelf_gives_up_the_longest_unused():
    made = []
    shelf = Shelf(10, len)
    for key in ("aaaa", "bbbb", "aaaa", "cccc", "aaaa", "bbbb", "d" * 99):
        assert shelf.get(key, lambda k: made.append(k) or k) == key
    assert made == ["aaaa", "bbbb", "cccc", "bbbb", "d" * 99]
    assert len(shelf) == 1  # larger than all the room, and held all the same while it is the last
    assert shelf.taken == 99
