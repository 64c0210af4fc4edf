"""Sets that lie: each ends in a typed error, in bounded time and memory, and nothing outside the set is touched."""

import contextlib
import hashlib
import os
import subprocess
import sys
import time

import msgspec
import pytest

from trivium.data.shards import ShardSet, read_rejects
from trivium.data.shards.glimpse import glimpse
from trivium.data.shards.lookup import find_records
from trivium.data.shards.summary import read_heads, summarize
from trivium.data.shards.verify import verify
from trivium.errors import ShardError

NAME = "licences-all-00000"


def edit(path, change):
    raw = msgspec.json.decode(path.read_bytes())
    change(raw)
    path.write_bytes(msgspec.json.encode(raw))


def lie(folder, change):
    """Changes the first index and makes the manifest vouch for it, as whoever wrote both could."""
    index = folder / "shards" / f"{NAME}.idx.json"
    edit(index, change)
    digest = hashlib.sha256(index.read_bytes()).hexdigest()
    edit(folder / "manifest.json", lambda raw: raw["shards"][0].update(index_sha256=digest))


def damaged_tar(folder):
    return folder / "shards" / f"{NAME}.tar"


def put(column, at, value):
    return lambda raw: raw[column].__setitem__(at, value)


@pytest.mark.parametrize(
    ("change", "match"),
    [
        (put("id", 0, "../../../etc/passwd"), "ids are not ids"),
        (put("id", 0, "z" * 26), "not sorted"),
        (lambda raw: put("id", 1, raw["id"][0])(raw), "not sorted"),
        (put("field", 0, "../../x.png"), "not allowed"),
        (put("field", 0, "x.pkl"), "not allowed"),
        (put("offset", 1, 0), "another record"),
        (put("size", -1, 1 << 40), "outside the tar"),
        (put("member_offset", 0, 1 << 40), "outside its record"),
        (put("member_size", 0, 1 << 61), "outside its record"),
        (put("member_size", 0, -1), "damaged"),
        (put("offset", 0, 1 << 70), "damaged"),
        (put("members", 0, -1), "damaged"),
        (put("members", 0, 1 << 60), "columns differ"),
        (put("tokens", 0, 1.5), "damaged"),
        (put("tokens", 0, 1 << 40), "too large"),
        (put("members", 0, 0), "no members|columns differ"),
        (lambda raw: raw["crc32"].pop(), "columns differ"),
        (lambda raw: raw.update(version=7), "version 7"),
        (lambda raw: raw.update(bytes=5), "outside the tar|says that the tar has 5"),
    ],
)
def test_an_index_that_lies_is_refused(folder, change, match):
    lie(folder, change)
    key = ShardSet.open(folder).manifest.shards[0].first
    with pytest.raises(ShardError, match=rf"{NAME}.*({match})"):
        ShardSet.open(folder).read(0)
    with contextlib.suppress(ShardError):  # the one record that it looks at may be sound
        seen = glimpse(ShardSet.open(folder), key)
        assert seen is None or 0 <= seen.offset <= seen.offset + seen.size <= os.path.getsize(damaged_tar(folder))
    assert verify(folder).problems


def test_offsets_that_point_at_another_member_are_found_by_their_checksum(folder):
    def swap(raw):
        raw["member_offset"][0] += 1
        raw["member_size"][0] -= 1

    lie(folder, swap)
    with pytest.raises(ShardError, match=r"CRC differs.*the tar is the manifest's, so its index is wrong"):
        ShardSet.open(folder).read(0)
    assert any("offsets, sizes or checksums differ" in problem for problem in verify(folder).problems)


@pytest.mark.parametrize(
    ("change", "match"),
    [
        (lambda raw: raw["shards"][0].update(name="/etc/licences-all-00000.tar"), "no shard name"),
        (lambda raw: raw["shards"][0].update(name="../licences-all-00000.tar"), "no shard name"),
        (lambda raw: raw["shards"][0].update(name="licences-all-00000.tar\n"), "no shard name"),
        (lambda raw: raw["shards"].append(raw["shards"][0]), "listed twice"),
        (lambda raw: raw.update(reject_files={"../../x.jsonl": {"records": 1, "sha256": ""}}), "no name of rejects"),
        (lambda raw: raw["shards"][0].update(records=-5), "damaged"),
        (lambda raw: raw["shards"][0].update(bytes=1 << 80), "damaged"),
        (lambda raw: raw["shards"][0].update(lengths=[0] * 10_000), "damaged"),
        (lambda raw: raw.update(resolved=[]), "damaged"),
        (lambda raw: raw.update(version=1), "version 1; this code reads 'trivium.manifest' version 2"),
    ],
)
def test_a_manifest_that_lies_is_refused(folder, change, match):
    edit(folder / "manifest.json", change)
    for read in (ShardSet.open, lambda f: list(read_rejects(f))):
        with pytest.raises(ShardError, match=rf"manifest\.json: .*{match}"):
            read(folder)
    _, damaged = read_heads([folder])
    assert list(damaged) == [str(folder)]


def test_json_bombs_end_at_once(folder):
    deep = b'{"format":"trivium.manifest","version":2,"resolved":{"a":' + b"[" * 500_000 + b"]" * 500_000 + b"}}"
    (folder / "manifest.json").write_bytes(deep)
    began = time.process_time()
    with pytest.raises(ShardError, match=r"nested too deep|damaged"):
        ShardSet.open(folder)
    assert time.process_time() - began < 5


def test_a_file_larger_than_its_kind_is_not_read(folder):
    os.truncate(folder / "manifest.json", 3 << 40)  # sparse: three tebibytes that lie nowhere
    began = time.process_time()
    with pytest.raises(ShardError, match=r"manifest\.json: more than .* bytes"):
        ShardSet.open(folder)
    assert time.process_time() - began < 10


HUNGRY = """
import resource, sys
resource.setrlimit(resource.RLIMIT_AS, (1 << 30, 1 << 30))
from trivium.data.shards.verify import verify
print(verify(sys.argv[1]).problems[0])
print(open("/proc/self/status").read().partition("VmHWM:")[2].split()[0])  # getrusage counts the parent before exec too
"""


def test_a_header_that_claims_gigabytes_costs_no_memory(tmp_path):
    """The file has the bytes, sparse; a record's JSON of that size is refused unread."""
    import tarfile

    path = tmp_path / "x.tar"
    info = tarfile.TarInfo("a" * 26 + ".json")
    info.size, info.mode = 7 << 30, 0o644
    path.write_bytes(info.tobuf(tarfile.USTAR_FORMAT))
    os.truncate(path, 8 << 30)
    done = subprocess.run(
        [sys.executable, "-c", HUNGRY, str(path)], capture_output=True, text=True, check=False, timeout=120
    )
    assert "bytes of JSON; the limit is" in done.stdout, done.stderr[-2000:]
    assert int(done.stdout.split()[-1]) < 1 << 20  # KiB


def test_rejects_that_are_no_rejects_are_named_by_line(tmp_path, texts, base):
    from trivium.data.shards import write_set
    from trivium.data.stage import Drop

    drop = Drop(source_id="r" * 26, source="s", address="a", stage="quality", reason="short")
    write_set(tmp_path / "s", texts[:2], base, rejects={"build": [drop]})
    path = tmp_path / "s" / "rejects" / "build.jsonl"
    path.write_bytes(path.read_bytes().replace(b"short", b"shorn"))
    assert any("build.jsonl: sha256" in problem for problem in verify(tmp_path / "s").problems)
    path.write_bytes(b'{"a":' * 100_000)
    with pytest.raises(ShardError, match=r"build\.jsonl:1: no reject record"):
        list(read_rejects(tmp_path / "s"))


def test_what_storage_does_to_a_set_is_named(folder, damage):
    """Each harm on its own copy: `stat` still counts, `verify` names the file, only the damaged record is lost."""
    tar = damage.tar_of(folder, 1)
    whole = {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()}
    shards = ShardSet.open(folder)
    other = damage.tar_of(folder, 0)
    harms = {
        "flipped": (lambda: damage.flip_member(folder, len(shards) - 1, "json"), False),
        "cut": (lambda: damage.cut(tar), True),
        "no index": (lambda: damage.remove_index(tar), True),
        "swapped": (lambda: damage.swap_shards(tar, other), True),
    }
    for name, (harm, seen) in harms.items():
        harm()
        ((head,), _) = read_heads([folder])
        assert summarize(head)["records"] == 52
        assert bool(head.faults) == seen, name
        assert any(".tar" in problem or ".idx.json" in problem for problem in verify(folder).problems)
        for path, raw in whole.items():
            path.write_bytes(raw)
    damage.flip_member(folder, 3, "json")
    lost = 0
    shards = ShardSet.open(folder)
    for number in range(len(shards)):
        try:
            shards.read(number)
        except ShardError:
            lost += 1
    assert lost == 1
    with pytest.raises(ShardError, match=str(shards.entries.id[3])):
        shards.read(3)
    assert find_records(shards, str(shards.entries.id[3]))
