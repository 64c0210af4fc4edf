import gc
import shutil
import sysconfig
from pathlib import Path

import msgspec
import numpy as np
import pytest

from trivium.data.patches import PictureRules
from trivium.data.records import Document, Image, Meta, Text, Video, finish, source_id
from trivium.data.shards import FunnelStage, Manifest, ShardSet, parse_buckets, write_set
from trivium.data.shards.diff import diff
from trivium.data.shards.takedown import Wanted, drop
from trivium.data.shards.verify import verify
from trivium.data.stage import Drop
from trivium.data.tokenizers import Tokenizer, split_tokens, tokenize_document
from trivium.data.tokenizers.training import train
from trivium.errors import BuildError, InputError, ShardError, UsageError
from trivium.pipelines import tokenize_job
from trivium.pipelines.beam import parse_options
from trivium.pipelines.tokenize_job import PART_BYTES, split_parts, tokenize_set

SITE = Path(sysconfig.get_paths()["purelib"])
RULES = PictureRules(patch_limit=64)
BUCKETS = parse_buckets("64,1k,4k")
OLD = Drop(source_id="s" * 26, source="site", address="gone", stage="quality", reason="too_short")

pytestmark = pytest.mark.filterwarnings("ignore::ResourceWarning", "ignore::DeprecationWarning")


def make(address, segments, media):
    meta = Meta(
        source_id=source_id("site", address),
        corpus="mixed",
        domain="knowledge",
        source="site",
        address=address,
        license="as-stated",
        language="en",
    )
    return finish(Document(segments=segments, meta=meta), media), media


@pytest.fixture(scope="module")
def source(tmp_path_factory):
    """Real licence texts and toolbar icons as one untokenised set with an earlier funnel and reject."""
    records = {}
    for path in sorted(SITE.glob("*.dist-info/**/LICENSE*"))[:40]:
        text = path.read_bytes().decode("utf-8", "replace")
        record = make(path.relative_to(SITE).as_posix(), (Text(text=text),), {})
        records[record[0].id] = record
    for path in sorted((SITE / "matplotlib" / "mpl-data" / "images").glob("*_large.png"))[:6]:
        picture = Image(media="i0.png", width=48, height=48, mime="image/png")
        segments = (Text(text="What is this? ", loss=False), picture, Text(text=path.stem))
        record = make(path.relative_to(SITE).as_posix(), segments, {"i0.png": path.read_bytes()})
        records[record[0].id] = record
    base = Manifest(
        corpus="mixed",
        domain="knowledge",
        recipe="r" * 64,
        resolved={"corpus": "mixed"},
        funnel=(FunnelStage(name="quality", input=len(records) + 1, kept=len(records), dropped={"too_short": 1}),),
    )
    folder = tmp_path_factory.mktemp("source")
    write_set(folder / "set", records.values(), base, rejects={"build": [OLD]})
    train([ShardSet.open(folder / "set")], 600, folder / "tok")
    return folder


def tokenize(source, out, flags=(), **changes):
    arguments = {"rules": RULES, "buckets": BUCKETS, "target_bytes": 60_000} | changes
    manifest = tokenize_set(source / "set", out, source / "tok", parse_options(flags), **arguments)
    gc.collect()
    return manifest


@pytest.fixture(scope="module")
def tokenized(source):
    """The set tokenised once in this process, and what progress was told."""
    seen = []
    tokenize(source, source / "out", progress=lambda *facts: seen.append(facts))
    return source / "out", seen


def test_every_record_is_tokenised_bucketed_or_rejected(source, tokenized):
    out, seen = tokenized
    before, after = ShardSet.open(source / "set"), ShardSet.open(out)
    manifest = after.manifest
    assert verify(out).problems == []
    tokenizer = Tokenizer.load(source / "tok")
    rejected = {drop.source_id: drop for drop in after.rejects()}
    kept = {str(key): number for number, key in enumerate(after.entries.source_id)}
    assert rejected.pop(OLD.source_id) == OLD
    assert len(kept) + len(rejected) == len(before)
    assert rejected
    limits = {bucket.name: bucket.tokens for bucket in BUCKETS}
    for number in range(len(before)):
        document, media = before.read(number)
        laid = tokenize_document(document, tokenizer, RULES)
        key = document.meta.source_id
        if key in rejected:
            assert len(laid.tokens) > 4096
            assert (rejected[key].stage, rejected[key].reason) == ("tokenize", "too_long")
            assert str(len(laid.tokens)) in rejected[key].detail
            continue
        stored, members = after.read(kept[key])
        assert np.array_equal(after.read_tokens(kept[key]), laid.tokens)
        assert members == {**media, "tokens": laid.payload()}
        assert stored.id == document.id
        assert stored.meta.lineage.steps[-1].name == "tokenize"
        bucket = manifest.shards[after.entries.shard[kept[key]]].bucket
        assert len(laid.tokens) <= limits[bucket]
        assert int(after.entries.patches[kept[key]]) == laid.patches
    assert {shard.bucket for shard in manifest.shards} == set(limits)
    assert seen[-1][1] == seen[-1][2]


def test_manifest_carries_the_input_over(source, tokenized):
    before = ShardSet.open(source / "set")
    manifest = ShardSet.open(tokenized[0]).manifest
    tokenizer = Tokenizer.load(source / "tok")
    assert manifest.tokenizer == tokenizer.digest
    assert manifest.vocabulary == tokenizer.vocabulary
    assert manifest.pictures == RULES.digest()
    assert (manifest.recipe, manifest.resolved) == (before.manifest.recipe, before.manifest.resolved)
    assert manifest.parent == before.digest
    assert [stage.name for stage in manifest.funnel] == ["quality", "tokenize"]
    last = manifest.funnel[-1]
    assert last.input == len(before) == last.kept + sum(last.dropped.values())
    assert manifest.rejects == 1 + sum(last.dropped.values())
    assert sum(manifest.licences.values()) == manifest.records == last.kept
    assert sorted(path.name for path in tokenized[0].iterdir()) == ["manifest.json", "rejects", "shards"]


@pytest.mark.slow
def test_two_processes_give_the_same_bytes(source, tokenized, tmp_path, monkeypatch):
    monkeypatch.setattr(tokenize_job, "PART_BYTES", 50_000)
    tokenize(source, tmp_path / "two", ["--direct_num_workers=2", "--direct_running_mode=multi_processing"])
    assert diff(tokenized[0], tmp_path / "two").identical


def test_a_rerun_replaces_and_a_tokenised_set_can_be_tokenised_again(source, tokenized, tmp_path):
    tokenize(source, tmp_path / "two", buckets=parse_buckets("4k"))
    tokenize(source, tmp_path / "two")
    assert diff(tokenized[0], tmp_path / "two").identical
    options = parse_options([])
    again = tokenize_set(
        tokenized[0], tmp_path / "three", source / "tok", options, rules=RULES, buckets=BUCKETS, target_bytes=60_000
    )
    first = ShardSet.open(tokenized[0])
    assert [shard.sha256 for shard in again.shards] == [shard.sha256 for shard in first.manifest.shards]
    assert again.rejects == first.manifest.rejects


def test_clips_of_impossible_figures_become_rejects_with_a_reason(source, tmp_path):
    clip = Video(media="v0.mp4", width=2, height=2, mime="video/mp4", frames=0, fps=1.0)
    base = Manifest(corpus="mixed", domain="knowledge", recipe="")
    write_set(tmp_path / "set", [make("clip", (clip,), {"v0.mp4": b"x"}), make("text", (Text(text="x"),), {})], base)
    manifest = tokenize_set(
        tmp_path / "set",
        tmp_path / "o",
        source / "tok",
        parse_options([]),
        rules=RULES,
        buckets=BUCKETS,
        target_bytes=1,
    )
    assert (manifest.records, manifest.funnel[-1].dropped) == (1, {"no_layout": 1})
    assert "v0.mp4 states a clip of 0 frames" in next(ShardSet.open(tmp_path / "o").rejects()).detail


def test_an_empty_set_stays_an_empty_set(source, tmp_path):
    write_set(tmp_path / "set", [], Manifest(corpus="mixed", domain="knowledge", recipe=""))
    manifest = tokenize_set(
        tmp_path / "set",
        tmp_path / "o",
        source / "tok",
        parse_options([]),
        rules=RULES,
        buckets=BUCKETS,
        target_bytes=9,
    )
    assert (manifest.records, manifest.shards) == (0, ())
    assert verify(tmp_path / "o").problems == []


def test_damage_in_the_input_fails_the_job_and_leaves_no_set(source, tmp_path):
    base = Manifest(corpus="mixed", domain="knowledge", recipe="")
    write_set(tmp_path / "set", [make(str(n), (Text(text=f"text {n}"),), {}) for n in range(3)], base)
    path = next((tmp_path / "set" / "shards").glob("*.tar"))
    raw = bytearray(path.read_bytes())
    raw[600] ^= 1
    path.write_bytes(raw)
    with pytest.raises((ShardError, BuildError), match=r"mixed-all-00000\.tar: record .*CRC differs"):
        tokenize_set(
            tmp_path / "set",
            tmp_path / "o",
            source / "tok",
            parse_options([]),
            rules=RULES,
            buckets=BUCKETS,
            target_bytes=9,
        )
    with pytest.raises(ShardError, match="did not finish"):
        ShardSet.open(tmp_path / "o")


def test_what_was_taken_out_does_not_come_back(source, tokenized, tmp_path):
    shutil.copytree(tokenized[0], tmp_path / "out")
    key = str(ShardSet.open(tokenized[0]).entries.id[0])
    drop(tmp_path / "out", Wanted(ids=(key,)), reason="a letter", by="ann")
    with pytest.raises(UsageError, match="would bring them back"):
        tokenize(source, tmp_path / "out")
    assert key not in ShardSet.open(tmp_path / "out").entries.id


def test_wrong_places_are_refused(source, tmp_path):
    with pytest.raises(UsageError, match="lies in what the job reads"):
        tokenize(source, source / "set" / "out")
    with pytest.raises(InputError, match="can't be read"):
        tokenize_set(
            source / "set",
            tmp_path / "o",
            tmp_path / "none",
            parse_options([]),
            rules=RULES,
            buckets=BUCKETS,
            target_bytes=9,
        )
    assert not (tmp_path / "o").exists()


def test_parts_cover_each_record_once(source):
    shards = ShardSet.open(source / "set")
    parts = split_parts(shards)
    assert [n for start, stop in parts for n in range(start, stop)] == list(range(len(shards)))
    for start, stop in parts:
        assert stop - start == 1 or int(shards.entries.size[start:stop].sum()) <= PART_BYTES


def test_ids_and_loss_of_a_stored_picture(tokenized):
    shards = ShardSet.open(tokenized[0])
    vocabulary = shards.manifest.vocabulary
    number = int(np.flatnonzero(shards.entries.images)[0])
    ids, loss = split_tokens(shards.read_tokens(number))
    begin, end = ids.tolist().index(vocabulary.media_begin), ids.tolist().index(vocabulary.media_end)
    assert (ids == vocabulary.media_pad).sum() == 4
    assert not loss[: end + 1].any()
    assert loss[end + 1 :].all()
    assert begin > 1
    assert msgspec.to_builtins(vocabulary)["size"] == 600


def test_a_damaged_record_stops_it_with_a_cure_that_works(source, tmp_path, damage):
    shutil.copytree(source, tmp_path / "s")
    folder = tmp_path / "s" / "set"
    damage.flip_member(folder, 3, "json")
    key = str(ShardSet.open(folder).entries.id[3])
    with pytest.raises(ShardError, match=f"CRC differs.*shards drop {folder} --id {key} --reason damaged`$"):
        tokenize(tmp_path / "s", tmp_path / "o")
    drop(folder, Wanted(ids=(key,)), reason="damaged", by="b")
    assert tokenize(tmp_path / "s", tmp_path / "o").records > 0
