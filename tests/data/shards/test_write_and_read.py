import gc
import os
import pickle
import random
import tarfile

import msgspec
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from trivium.data.records import Text
from trivium.data.shards import (
    Bucket,
    Manifest,
    ShardSet,
    bucket_for,
    parse_buckets,
    plan_shards,
    shard_name,
    write_set,
    write_shard,
)
from trivium.errors import InputError, ShardError, UsageError


def everything(folder):
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def test_reads_back_what_was_written_at_random(folder, texts, pictures):
    shards = ShardSet.open(folder)
    expected = {document.id: (document, dict(media)) for document, media in (*texts, *pictures)}
    order = list(range(len(shards)))
    random.Random(1).shuffle(order)
    assert {str(shards.entries.id[i]): shards.read(i) for i in order} == expected
    assert len(shards.manifest.shards) > 2


def test_bytes_do_not_depend_on_order_of_arrival(tmp_path, texts, pictures, base):
    records = [*texts, *pictures]
    write_set(tmp_path / "a", records, base, target_bytes=50_000)
    random.Random(2).shuffle(records)
    write_set(tmp_path / "b", records, base, target_bytes=50_000)
    assert everything(tmp_path / "a") == everything(tmp_path / "b")


def test_entries_are_columns_in_order(folder):
    entries = ShardSet.open(folder).entries
    assert len(entries) == 52
    keys = list(zip(entries.shard.tolist(), entries.id.tolist(), strict=True))
    assert keys == sorted(keys)
    assert int(entries.images.sum()) == 12
    assert set(entries.license.tolist()) == {"as-stated"}
    assert (entries.cluster == entries.source_id).all()


def test_survives_a_pickle_and_a_close(folder):
    shards = ShardSet.open(folder)
    first = shards.read(0)
    shards.close()
    assert pickle.loads(pickle.dumps(shards)).read(0) == first == shards.read(0)  # noqa: S301


def test_plain_tar_programs_read_it(folder):
    info = ShardSet.open(folder).manifest.shards[0]
    with tarfile.open(folder / "shards" / info.name) as tar:
        for member in tar:
            assert (member.mode, member.mtime, member.uid, member.gid) == (0o644, 0, 0, 0)
            assert (member.uname, member.gname, member.isfile()) == ("", "", True)


@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")  # the library leaves files open
def test_webdataset_reads_the_same_records(folder, monkeypatch):
    monkeypatch.setenv("WDS_SECURE", "1")
    webdataset = pytest.importorskip("webdataset")
    shards = ShardSet.open(folder)
    urls = [str(folder / "shards" / info.name) for info in shards.manifest.shards]
    found = {}
    for sample in webdataset.WebDataset(urls, shardshuffle=False, empty_check=False):
        found[sample["__key__"]] = {k: v for k, v in sample.items() if not k.startswith("__")}
    assert list(found) == shards.entries.id.tolist()
    for number, key in enumerate(shards.entries.id):
        document, media = shards.read(number)
        fields = found[str(key)]
        assert msgspec.json.decode(fields.pop("json"))["id"] == document.id
        assert fields == media
    gc.collect()


@pytest.mark.parametrize(
    ("spoil", "message"),
    [
        (lambda r: [r[1], r[0]], "sorted by id"),
        (lambda r: [r[0], r[0]], "twice"),
        (lambda r: [(msgspec.structs.replace(r[0][0], id="A" * 26), r[0][1])], "not 26 characters"),
        (lambda r: [(msgspec.structs.replace(r[0][0], id="a.b" + "c" * 23), r[0][1])], "not 26 characters"),
        (lambda r: [(r[0][0], {"i0.pkl": b""})], "not allowed"),
        (lambda r: [(r[0][0], {"I0.PNG": b""})], "not allowed"),
        (lambda r: [(r[0][0], {"../x.png": b""})], "not allowed"),
        (lambda r: [(r[0][0], {})], "must be the same"),
        (lambda r: [(r[0][0], r[0][1] | {"i9.png": b""})], "must be the same"),
        (lambda r: [(r[0][0], r[0][1] | {"tokens": b"abc"})], "no whole uint32s"),
    ],
)
def test_writer_refuses_and_leaves_nothing(tmp_path, pictures, spoil, message):
    with pytest.raises(ShardError, match=message):
        write_shard(tmp_path / "x-all-00000.tar", spoil(pictures))
    assert list(tmp_path.iterdir()) == []


def test_a_crash_in_the_middle_leaves_the_old_shard(tmp_path, texts):
    path = tmp_path / "x-all-00000.tar"
    write_shard(path, texts[:3])
    before = everything(tmp_path)

    def crash():
        yield texts[0]
        raise RuntimeError("the source broke")

    with pytest.raises(RuntimeError):
        write_shard(path, crash())
    assert everything(tmp_path) == before


def test_rewriting_replaces_and_never_duplicates(tmp_path, texts, base):
    write_set(tmp_path / "set", texts, base, target_bytes=20_000)
    write_set(tmp_path / "set", texts[:2], base)
    assert len(ShardSet.open(tmp_path / "set")) == 2
    assert len(list((tmp_path / "set" / "shards").iterdir())) == 2


def test_an_empty_set_is_a_set(tmp_path, base):
    write_set(tmp_path / "set", [], base)
    shards = ShardSet.open(tmp_path / "set")
    assert (len(shards), shards.manifest.shards) == (0, ())


def cut(folder, name):
    path = folder / "shards" / name
    os.truncate(path, path.stat().st_size - 700)


def flip(folder, name):
    path = folder / "shards" / name
    raw = bytearray(path.read_bytes())
    raw[600] ^= 1
    path.write_bytes(raw)


def edit_manifest(folder, **values):
    path = folder / "manifest.json"
    path.write_bytes(msgspec.json.encode(msgspec.json.decode(path.read_bytes()) | values))


def edit_shard(folder, **values):
    shards = msgspec.json.decode((folder / "manifest.json").read_bytes())["shards"]
    edit_manifest(folder, shards=[shards[0] | values, *shards[1:]])


@pytest.mark.parametrize(
    ("harm", "message"),
    [
        (cut, r"-00000\.tar: \d+ bytes long.*copy it again"),
        (lambda f, n: (f / "shards" / n).unlink(), r"-00000\.tar: can't be read"),
        (
            lambda f, n: (f / "shards" / n.replace(".tar", ".idx.json")).unlink(),
            r"idx\.json: the index of licences.* is missing",
        ),
        (lambda f, n: (f / "shards" / n.replace(".tar", ".idx.json")).write_bytes(b"{}"), r"idx\.json: sha256"),
        (lambda f, n: edit_manifest(f, version=9), r"manifest\.json: .*version 9.*reads .*version 2"),
        (lambda f, n: (f / "manifest.json").write_bytes(b"{"), r"manifest\.json: damaged"),
        (lambda f, n: edit_manifest(f, surprise=1), r"manifest\.json: damaged .*surprise"),
        (lambda f, n: edit_shard(f, name="../../x-all-00000.tar"), r"manifest\.json: '\.\./\.\./x-all.*no shard name"),
        (lambda f, n: (f / "manifest.json").unlink(), r"no manifest\.json; .*build the set again"),
    ],
)
def test_damage_is_named_with_its_cure(folder, harm, message):
    harm(folder, "licences-all-00000.tar")
    with pytest.raises(ShardError, match=message):
        ShardSet.open(folder).read(0)


def test_flipped_bit_is_named_at_the_read(folder):
    flip(folder, "licences-all-00000.tar")
    shards = ShardSet.open(folder)
    with pytest.raises(ShardError, match=rf"00000\.tar: record {shards.entries.id[0]}: .*CRC differs"):
        shards.read(0)


def test_missing_folder_and_missing_member(folder, tmp_path):
    with pytest.raises(InputError, match="no such folder"):
        ShardSet.open(tmp_path / "nowhere")
    shards = ShardSet.open(folder)
    with pytest.raises(ShardError, match="no member"):
        shards.read_media(0, "i7.png")
    with pytest.raises(ShardError, match="not tokenised"):
        shards.read_tokens(0)


def test_find_by_id_source_id_and_prefix(folder):
    shards = ShardSet.open(folder)
    key, source = str(shards.entries.id[7]), str(shards.entries.source_id[7])
    assert shards.find(key) == shards.find(source) == shards.find(key[:12]) == 7
    with pytest.raises(ShardError, match="is no id"):
        shards.find("zzzz")
    letters = [str(one)[0] for one in shards.entries.id]
    with pytest.raises(ShardError, match="begins"):
        shards.find(max(letters, key=letters.count))


@given(sizes=st.dictionaries(st.text("abc", min_size=1, max_size=6), st.integers(1, 900)), target=st.integers(1, 3000))
def test_plan_covers_each_id_once_in_order(sizes, target):
    runs = plan_shards(sizes, target)
    assert [key for run in runs for key in run] == sorted(sizes)
    assert all(runs)
    backwards = dict(reversed(sizes.items()))
    assert plan_shards(backwards, target) == runs
    for run in runs:
        assert sum(sizes[key] for key in run) <= target + max(sizes[key] for key in run)


@given(tokens=st.integers(1, 3000))
def test_bucket_is_the_first_that_holds(tokens):
    buckets = parse_buckets("256,1k,2k")
    bucket = bucket_for(tokens, buckets)
    fitting = [b for b in buckets if b.tokens >= tokens]
    assert bucket == (fitting[0] if fitting else None)


def test_buckets_are_read_as_written():
    assert parse_buckets("8k,1m") == (Bucket(name="8k", tokens=8192), Bucket(name="1m", tokens=1 << 20))
    for wrong in ("", "8k,8192", "2,1", "x", "0", "8k,"):
        with pytest.raises(UsageError, match="--buckets"):
            parse_buckets(wrong)


@pytest.mark.parametrize(("corpus", "bucket"), [("Web", "all"), ("a.b", "all"), ("a", "8K"), ("", "all"), ("a-", "x")])
def test_shard_names_hold_the_grammar(corpus, bucket):
    with pytest.raises(ShardError):
        shard_name(corpus, bucket, 0)


def test_a_record_longer_than_all_buckets_is_refused(tmp_path, texts, base):
    manifest = msgspec.structs.replace(base, buckets=parse_buckets("4"))
    document, _ = texts[0]
    with pytest.raises(ShardError, match="more than bucket"):
        write_set(tmp_path / "s", [(document, {"tokens": np.zeros(5, "<u4").tobytes()})], manifest)


def test_document_text_survives_any_unicode(tmp_path, base, texts):
    document = msgspec.structs.replace(texts[0][0], segments=(Text(text="\x00\u2028😀\ud7ff"),))
    write_set(tmp_path / "s", [(document, {})], base)
    assert ShardSet.open(tmp_path / "s").read_document(0).text == "\x00\u2028😀\ud7ff"


def test_manifest_sums(folder):
    manifest: Manifest = ShardSet.open(folder).manifest
    assert manifest.records == 52
    assert manifest.licences == {"as-stated": 52}
    assert manifest.languages == {"en": 52}
