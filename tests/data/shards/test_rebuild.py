"""Indexes made again from their tars: the same bytes, or none."""

import hashlib

import msgspec
import numpy as np
import pytest

from trivium.data.patches import PictureRules
from trivium.data.shards import ShardSet, write_set
from trivium.data.shards.rebuild import check_indexes
from trivium.data.shards.verify import verify
from trivium.errors import ShardError, UsageError


@pytest.fixture
def tokenised(tmp_path, texts, pictures, base):
    """A set with invented tokens, patches counted by rules of their own, in several shards."""
    rng = np.random.default_rng(0)
    records = [(d, {**m, "tokens": rng.bytes(4 * int(rng.integers(1, 99)))}) for d, m in (*texts, *pictures)]
    manifest = msgspec.structs.replace(base, tokenizer="t" * 64, picture_rules=PictureRules(side_limit=4))
    write_set(tmp_path / "tokenised", records, manifest, target_bytes=100_000)
    return tmp_path / "tokenised"


def states(found):
    return [one.state for one in found]


@pytest.mark.parametrize("which", ["folder", "tokenised"])
def test_what_is_missing_or_changed_comes_back_byte_for_byte(which, request):
    place = request.getfixturevalue(which)
    paths = sorted(place.glob("shards/*.idx.json"))
    old = [path.read_bytes() for path in paths]
    assert set(states(check_indexes(place))) == {"whole"}
    paths[0].unlink()
    paths[1].write_bytes(bytes(len(old[1])))
    found = check_indexes(place)
    assert states(found)[:2] == ["damaged", "damaged"]
    assert all(f"trivium shards index {place} --rebuild" in one.fault for one in found[:2])
    assert not paths[0].exists()
    assert states(check_indexes(place, rebuild=True))[:2] == ["rebuilt", "rebuilt"]
    assert [path.read_bytes() for path in paths] == old
    assert set(states(check_indexes(place))) == {"whole"}
    assert ShardSet.open(place).read(0)


def test_no_index_is_made_of_a_tar_that_was_changed(folder, damage):
    paths = sorted(folder.glob("shards/*.idx.json"))
    for path in paths[:3]:
        path.unlink()
    tars = [path.with_name(path.name.replace(".idx.json", ".tar")) for path in paths]
    at = tars[0].read_bytes().index(b"IDAT") + 20  # inside a picture: the tar can be read, and is not the manifest's
    damage.flip_bit(tars[0], at)
    damage.cut(tars[1])
    found = check_indexes(folder, rebuild=True)
    assert states(found)[:3] == ["damaged", "damaged", "rebuilt"]
    assert "an index made from a tar that was changed would hide it" in found[0].left
    assert "copy the tar again" in found[1].left
    assert not paths[0].exists()
    assert not list(folder.glob("shards/.*.tmp"))
    assert len(verify(folder).problems) > 2


def test_an_index_of_another_making_is_not_replaced(folder):
    """The manifest names an index that our release would not make: what is there stays there."""
    path = sorted(folder.glob("shards/*.idx.json"))[0]
    other = path.read_bytes().replace(b'"license"', b' "license"')
    manifest = folder / "manifest.json"
    digest = hashlib.sha256(other).hexdigest()
    raw = msgspec.json.decode(manifest.read_bytes())
    raw["shards"][0]["index_sha256"] = digest
    manifest.write_bytes(msgspec.json.encode(raw))
    before = path.read_bytes()
    (first, *_) = check_indexes(folder, rebuild=True)
    assert "another release wrote this set" in first.left
    assert path.read_bytes() == before


def test_a_set_behind_an_address_is_checked_and_not_changed():
    with pytest.raises(UsageError, match="rebuild there and copy it back"):
        check_indexes("memory://nowhere/set", rebuild=True)
    with pytest.raises(ShardError, match=r"no manifest\.json"):
        check_indexes("memory://nowhere/set")
