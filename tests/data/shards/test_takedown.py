import os
import shutil
import signal
import subprocess
import sys

import msgspec
import pytest

from trivium.data.records import Text, finish, source_id
from trivium.data.shards import ShardSet, read_rejects, write_set
from trivium.data.shards.relatives import taken_down
from trivium.data.shards.summary import summarize
from trivium.data.shards.takedown import Wanted, drop, refuse_return
from trivium.data.shards.verify import verify
from trivium.errors import ShardError, UsageError


def files(folder):
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def ids_of(folder):
    return ShardSet.open(folder).entries.id.tolist()


def test_only_the_touched_shards_change_and_who_and_why_are_kept(folder):
    before, old = ShardSet.open(folder), files(folder)
    number = len(before) // 2
    key, source = str(before.entries.id[number]), str(before.entries.source_id[number])
    touched = before.manifest.shards[before.entries.shard[number]].name
    text = before.read_document(number).text
    found = drop(folder, Wanted(ids=(key,)), reason="asked by its author", by="ann", when="2026-01-31")
    after = ShardSet.open(folder)
    assert found.ids == (key,)
    assert found.shards == (touched,)
    assert after.entries.id.tolist() == [one for one in before.entries.id.tolist() if one != key]
    new = files(folder)
    for info in before.manifest.shards:
        for name in (info.name, info.name.replace(".tar", ".idx.json")):
            kept = new.get(f"shards/{name}") == old[f"shards/{name}"]
            assert kept == (info.name != touched)
            assert (f"shards/{name}" in new) == kept
    assert [i for i in after.manifest.shards if i in before.manifest.shards] == [
        i for i in before.manifest.shards if i.name != touched
    ]
    assert found.digest == after.digest != before.digest
    (takedown,) = after.manifest.takedowns
    assert (takedown.reason, takedown.by, takedown.ids, takedown.records) == ("asked by its author", "ann", (key,), 1)
    assert takedown.when == "2026-01-31"
    (gone,) = taken_down(after)
    assert (gone.id, gone.when) == (key, "2026-01-31")
    (reject,) = read_rejects(folder)
    assert (reject.source_id, reject.stage) == (source, "takedown")
    assert reject.detail == "asked by its author (ann)"
    assert reject.excerpt == ""
    assert after.manifest.funnel[-1].dropped == {"takedown": 1}
    assert verify(folder).problems == []
    assert not [name for name, raw in new.items() if msgspec.json.encode(text)[1:-1] in raw]


def test_records_stay_in_the_order_of_their_ids_and_a_second_takedown_adds_to_the_first(folder):
    for _ in range(2):
        key = ids_of(folder)[3]
        drop(folder, Wanted(ids=(key,)), reason="r", by="b")
    assert ids_of(folder) == sorted(ids_of(folder))
    manifest = ShardSet.open(folder).manifest
    assert len(manifest.takedowns) == 2
    assert manifest.rejects == 2 == sum(1 for _ in read_rejects(folder))
    assert sorted(manifest.reject_files) == ["takedown-001.jsonl", "takedown-002.jsonl"]
    assert verify(folder).problems == []


def with_licence(record, licence, address):
    document, media = record
    meta = msgspec.structs.replace(document.meta, license=licence, address=address)
    return msgspec.structs.replace(document, meta=meta), media


@pytest.fixture
def mixed(tmp_path, texts, base):
    """A set of three licences and two hosts."""
    made = [
        with_licence(r, ("MIT", "GPL-3.0", "gpl-2.0-only")[n % 3], f"https://{'ab'[n % 2]}.org/{n} x.warc@{n}")
        for n, r in enumerate(texts)
    ]
    write_set(tmp_path / "mixed", made, base, target_bytes=40_000)
    return tmp_path / "mixed"


def test_by_licence_and_by_address(mixed):
    before = ShardSet.open(mixed)
    count = sum(one.lower().startswith("gpl") for one in before.entries.license.tolist())
    assert count > 5
    dry = drop(mixed, Wanted(licences=("GPL-*",)), reason="r", by="b", dry_run=True)
    assert len(dry.ids) == count
    assert ShardSet.open(mixed).digest == before.digest == dry.digest
    assert len(drop(mixed, Wanted(licences=("GPL-*",)), reason="r", by="b").ids) == count
    assert set(ShardSet.open(mixed).manifest.licences) == {"MIT"}
    found = drop(mixed, Wanted(sources=("https://a.org/*",)), reason="r", by="b")
    assert {meta.address[8] for meta in found.metas} == {"a"}
    after = ShardSet.open(mixed)
    assert {after.read_document(n).meta.address[8] for n in range(len(after))} == {"b"}
    assert verify(mixed).problems == []
    assert summarize(after)["licences"] == {"MIT": {"records": len(after), "tokens": 0, "patches": 0}}


def test_what_was_made_of_a_record_goes_with_it(texts, base, tmp_path):
    made = []
    for number, (document, media) in enumerate(texts[:12]):
        parents = ("p" * 26, f"{number:026d}") if number % 3 == 0 else ()
        licence = "(MIT OR Apache-2.0) AND GPL-3.0-only" if number == 4 else "CC0-1.0"
        lineage = msgspec.structs.replace(document.meta.lineage, parents=parents)
        meta = msgspec.structs.replace(document.meta, license=licence, lineage=lineage)
        made.append((msgspec.structs.replace(document, meta=meta), media))
    write_set(tmp_path / "derived", made, base, target_bytes=40_000)
    assert len(drop(tmp_path / "derived", Wanted(ids=(f"{3:026d}",)), reason="r", by="b").ids) == 1
    assert len(drop(tmp_path / "derived", Wanted(ids=("p" * 26,)), reason="r", by="b").ids) == 3
    (gone,) = drop(tmp_path / "derived", Wanted(licences=("gpl-3.0-only",)), reason="r", by="b").metas
    assert gone.license == "(MIT OR Apache-2.0) AND GPL-3.0-only"
    assert len(ShardSet.open(tmp_path / "derived")) == 7


def child(document, parents, address):
    """A record made of others, in the manner of long rows."""
    lineage = msgspec.structs.replace(document.meta.lineage, parents=tuple(parents))
    meta = msgspec.structs.replace(document.meta, source="joined", address=address, lineage=lineage)
    meta = msgspec.structs.replace(meta, source_id=source_id("joined", address))
    segments = (*document.segments, Text(text=address))
    return finish(msgspec.structs.replace(document, meta=meta, segments=segments), {}), {}


def test_other_sets_say_which_records_a_derived_one_came_from(mixed, texts, base, tmp_path, damage):
    """`mixed` → `joined`, each of two records → `long`, each of one row; and `joined` is read before `mixed`."""
    raw = ShardSet.open(mixed)
    metas = [raw.read_document(n).meta for n in range(len(raw))]
    rows = [
        child(texts[n][0], (metas[2 * n].source_id, metas[2 * n + 1].source_id), f"row/{n}")
        for n in range(len(raw) // 2)
    ]
    write_set(tmp_path / "joined", rows, base)
    long = [child(one, (one.meta.source_id,), f"long/{one.id}") for one, _ in rows[:6]]
    write_set(tmp_path / "long", long, base)

    def would_go(name, **wanted):
        return drop(tmp_path / name, Wanted(**wanted), reason="r", by="b", dry_run=True)

    assert would_go("joined", ids=(str(raw.entries.id[5]),)).ids == (rows[2][0].id,)
    assert would_go("joined", ids=(metas[5].source_id,)).ids == (rows[2][0].id,)
    assert would_go("long", ids=(str(raw.entries.id[5]),)).ids == (long[2][0].id,)  # two generations back
    assert would_go("long", ids=(rows[2][0].id,)).ids == (long[2][0].id,)
    from_a = {n for n, meta in enumerate(metas) if meta.address.startswith("https://a.org/")}
    expected = sorted(rows[n][0].id for n in range(len(rows)) if from_a & {2 * n, 2 * n + 1})
    assert list(would_go("joined", sources=("https://a.org/*",)).ids) == expected
    assert len(would_go("long", sources=("site-packages",)).ids) == 6
    assert would_go("joined", sources=("nowhere",)).unmatched == ("nowhere",)
    nobody = drop(tmp_path / "joined", Wanted(ids=(str(raw.entries.id[5]),)), reason="r", by="b", among=[])
    assert nobody.unmatched == (str(raw.entries.id[5]),)
    drop(mixed, Wanted(ids=(str(raw.entries.id[5]),)), reason="r", by="b")  # gone there, and known all the same
    assert would_go("joined", ids=(str(raw.entries.id[5]),)).ids == (rows[2][0].id,)
    damage.flip_member(mixed, 3, "json")
    (fault,) = would_go("joined", ids=(metas[0].source_id,)).damaged
    assert "CRC differs" in fault


def test_a_set_is_not_made_anew_over_its_takedowns(mixed, tmp_path):
    refuse_return(tmp_path / "new")
    refuse_return(mixed)
    source = ShardSet.open(mixed).manifest
    drop(mixed, Wanted(licences=("MIT",)), reason="a letter", by="ann")
    with pytest.raises(UsageError, match=r"records were taken out of the set there \(last by ann: a letter\)"):
        refuse_return(mixed, source)
    refuse_return(mixed, ShardSet.open(mixed).manifest)  # it was taken out of the source as well


def test_a_set_may_become_empty_and_nothing_to_drop_changes_nothing(mixed):
    old = files(mixed)
    found = drop(mixed, Wanted(ids=("z" * 26,), licences=("nobody's",)), reason="r", by="b")
    assert (found.ids, found.unmatched) == ((), ("z" * 26, "nobody's"))
    assert files(mixed) == old
    drop(mixed, Wanted(sources=("site-*",)), reason="r", by="b")
    assert (len(ShardSet.open(mixed)), verify(mixed).problems) == (0, [])


@pytest.mark.parametrize(
    ("wanted", "match"),
    [
        (Wanted(), "nothing to drop"),
        (Wanted(ids=("abc",)), "26 characters"),
        (Wanted(sources=("**",)), "fits every record"),
        (Wanted(licences=("",)), "fits every record"),
    ],
)
def test_patterns_without_sense_are_refused(folder, wanted, match):
    old = files(folder)
    with pytest.raises(UsageError, match=match):
        drop(folder, wanted, reason="r", by="b")
    assert files(folder) == old


def test_addresses_and_two_at_once_are_refused(folder):
    import fcntl

    with pytest.raises(UsageError, match="lies locally"):
        drop("memory://x/y", Wanted(licences=("MIT",)), reason="r", by="b")
    handle = os.open(folder, os.O_RDONLY)
    fcntl.flock(handle, fcntl.LOCK_EX)
    with pytest.raises(ShardError, match="another takedown is at work"):
        drop(folder, Wanted(licences=("as-stated",)), reason="r", by="b")
    os.close(handle)


def test_damage_in_a_touched_shard_stops_before_anything_changes(folder, damage):
    shards = ShardSet.open(folder)
    damage.flip_member(folder, 0, "json")
    before = files(folder)
    keys = tuple(str(key) for key in shards.entries.id[[0, 1, len(shards) - 1]])
    with pytest.raises(ShardError, match=f"CRC differs.*add --id {keys[0]} to take it out"):
        drop(folder, Wanted(ids=(keys[1],)), reason="r", by="b")
    assert files(folder) == before
    elsewhere = drop(folder, Wanted(ids=(keys[2],)), reason="r", by="b")  # no shard of the damaged record
    assert elsewhere.ids == keys[2:]
    (told,) = elsewhere.damaged
    assert f"--id {keys[0]} --reason damaged` takes it out" in told
    both = drop(folder, Wanted(ids=keys[:2]), reason="r", by="b")
    assert both.ids == keys[:2]
    assert verify(folder).problems == []


def test_what_stays_goes_to_a_new_set_or_nowhere(folder, damage, tmp_path):
    """Nothing is left of a copy of which nothing was to be dropped, or in which a shard is damaged."""
    keys = tuple(str(key) for key in ShardSet.open(folder).entries.id)
    before, left, empty = files(folder), tmp_path / "left", tmp_path / "empty"
    empty.mkdir()
    found = drop(folder, Wanted(ids=("0" * 26,)), reason="r", by="b", out=left)
    assert (found.ids, left.exists(), files(folder)) == ((), False, before)
    found = drop(folder, Wanted(ids=keys[:1]), reason="r", by="b", out=left)
    assert set(ShardSet.open(left).entries.id.tolist()) == set(keys[1:])
    assert (found.manifest.records, files(folder)) == (len(keys) - 1, before)
    damage.flip_member(folder, 0, "json")
    before = files(folder)
    for key, match in ((keys[1], "add --id"), (keys[-1], f"verify {folder}")):  # in a shard that is rewritten, or not
        for target in (tmp_path / "none", empty):
            with pytest.raises(ShardError, match=match):
                drop(folder, Wanted(ids=(key,)), reason="r", by="b", out=target)
    assert (list(empty.iterdir()), (tmp_path / "none").exists(), files(folder)) == ([], False, before)
    with pytest.raises(UsageError, match="is there already"):
        drop(folder, Wanted(ids=keys[:1]), reason="r", by="b", out=left)


KILLED = """
import os, signal, sys
from trivium.data.shards.takedown import Wanted, drop, refuse_return
calls, at = 0, 0
def dying(real):
    def call(*arguments, **options):
        global calls
        calls += 1
        if calls == at:
            os.kill(os.getpid(), signal.SIGKILL)
        return real(*arguments, **options)
    return call
os.replace, os.unlink, os.fsync = dying(os.replace), dying(os.unlink), dying(os.fsync)
for word in sys.argv[1:]:  # a process of its own each, forked after the imports
    at, _, folder = word.partition(":")
    at = int(at)
    if (child := os.fork()) == 0:
        drop(folder, Wanted(licences=("GPL-*",)), reason="r", by="b", when="2026-01-31")
        print(calls)
        sys.exit(0)
    print("ended", os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), flush=True)
"""


def test_killed_anywhere_it_leaves_the_old_set_or_the_new(mixed, tmp_path):
    def run(*at_and_folder):
        words = [f"{at}:{folder}" for at, folder in at_and_folder]
        done = subprocess.run([sys.executable, "-c", KILLED, *words], capture_output=True, text=True, check=True)
        return done.stdout.splitlines()

    old = ids_of(mixed)
    done = shutil.copytree(mixed, tmp_path / "done")
    told, ended = run((0, done))
    calls = int(told)
    assert ended == "ended 0"
    new = ids_of(done)
    assert len(old) > len(new) > 0
    assert calls > 10
    folders = {at: shutil.copytree(mixed, tmp_path / f"killed-{at}") for at in range(1, calls + 1, max(1, calls // 12))}
    assert run(*folders.items()) == [f"ended {-signal.SIGKILL}"] * len(folders)
    seen = set()
    for folder in folders.values():
        left = ids_of(folder)
        assert left in (old, new)
        seen.add(len(left))
        report = verify(folder)
        assert all("not in the manifest" in problem for problem in report.problems), report.problems
        drop(folder, Wanted(licences=("GPL-*",)), reason="r", by="b", when="2026-01-31")
        assert files(folder) == files(done)
    assert seen == {len(old), len(new)}


def test_the_curriculum_notices(mixed):
    from trivium.data.shards import read_manifest

    before = read_manifest(mixed)[1]
    opened = ShardSet.open(mixed)
    drop(mixed, Wanted(ids=(str(opened.entries.id[0]),)), reason="r", by="b")
    assert read_manifest(mixed)[1] != before == opened.digest
    with pytest.raises(ShardError, match="can't be read"):  # a reader that opened it before does not read on
        opened.read(1)
