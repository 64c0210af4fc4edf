"""`trivium shards` on folders of sets, sound and damaged: what is listed, found, dropped and drawn; exit codes."""

import json
import os
import re
import shutil

import msgspec
import pytest
from typer.testing import CliRunner

from trivium.cli import app
from trivium.data.records import Document, Lineage, Meta, Step, Text, finish, source_id
from trivium.data.shards import Manifest, ShardSet, write_set
from trivium.data.stage import Drop
from trivium.errors import InputError, ShardError, UsageError


def make(corpus, number, *, license="MIT", text=None):
    address = f"https://{corpus}.org/{number}"
    meta = Meta(
        source_id=source_id(corpus, address),
        corpus=corpus,
        domain="d",
        source=f"{corpus}-pages",
        address=address,
        license=license,
        language="en",
        title=f"Page \x1b[31m{number}",
        lineage=Lineage(recipe="r" * 64, source_sha256="5" * 64, steps=(Step(name="extract", version=3),)),
    )
    words = f"{corpus} page {number} speaks of number{number}. " * 20 if text is None else text
    return finish(Document(segments=(Text(text=words),), meta=meta), {}), {}


@pytest.fixture
def sets(tmp_path):
    """Two corpora of 30 and 8 records in several shards."""
    recipe = {"sources": [{"name": "plants-pages", "kind": "files", "path": "/raw/plants"}]}
    plants = Manifest(corpus="plants", domain="d", recipe="0" * 64, resolved=recipe)
    records = [make("plants", n, license=("MIT", "GPL-3.0")[n % 2]) for n in range(30)]
    write_set(tmp_path / "sets" / "plants", records, plants, target_bytes=12_000)
    stones = msgspec.structs.replace(plants, corpus="stones", resolved={})
    write_set(tmp_path / "sets" / "stones", [make("stones", n) for n in range(8)], stones, target_bytes=5_000)
    return tmp_path / "sets"


def run(*arguments, code=0):
    done = CliRunner().invoke(app, [str(argument) for argument in arguments])
    assert done.exit_code == code, (done.output, done.exception)
    return done


def facts(*arguments, code=0):
    return json.loads(run(*arguments, "--json", code=code).stdout)


def fails(kind, match, *arguments):
    done = CliRunner().invoke(app, [str(argument) for argument in arguments])
    assert isinstance(done.exception, kind), (done.output, done.exception)
    assert re.search(match, str(done.exception)), done.exception
    return done.exception.exit_code


def test_one_damaged_tar_does_not_hide_the_rest(sets, damage):
    tar = damage.tar_of(sets / "plants", 1)
    damage.cut(tar)
    done = run("shards", "ls", sets, code=1)
    assert "plants" in done.stdout
    assert "stones" in done.stdout
    assert f"damaged: {tar}: " in done.stderr.replace("\n", "")
    both = facts("shards", "stat", sets, code=1)
    assert [one["records"] for one in both["sets"]] == [30, 8]
    assert {corpus: sums["records"] for corpus, sums in both["corpora"].items()} == {"plants": 30, "stones": 8}
    assert [len(one["faults"]) for one in both["sets"]] == [1, 0]
    rows = facts("shards", "ls", sets, "--records", code=1)
    assert 8 < len(rows) < 38


def test_one_damaged_manifest_does_not_hide_the_other_sets(sets):
    (sets / "plants" / "manifest.json").write_text("{")
    listed = facts("shards", "ls", sets, code=1)
    assert listed[0]["corpus"] == "stones"
    assert "damaged" in listed[1]["damaged"]
    assert facts("shards", "stat", sets, code=1)["damaged"][0]["path"].endswith("plants")


def test_a_set_that_lost_its_manifest_is_named(sets, tmp_path):
    (sets / "plants" / "manifest.json").unlink()
    (sets / ".build" / "shards").mkdir(parents=True)
    (sets / ".build" / "shards" / "a-all-00000.tar").write_bytes(b"")  # a job's own, no set yet
    looks = (("ls",), ("stat",), ("sample",), ("index",), ("gallery", "--out", tmp_path / "p.html"), ("grep", "page"))
    for name, *options in looks:
        done = run("shards", name, *options, sets, code=1)
        assert f"damaged: {sets / 'plants'}: no manifest.json" in done.stderr, name
        assert len(told(done)) == 1, name
    assert "stones" in run("shards", "ls", sets, code=1).stdout
    done = facts("shards", "verify", sets, code=1)
    assert [(one["path"][-6:], one["ok"]) for one in done] == [("plants", False), ("stones", True)]


@pytest.fixture
def harmed(sets, damage):
    """A third set, sound; in `plants` one tar is cut and one index is garbage of the same length, in `stones` one
    record has a flipped bit. Gives the ids that can still be read, by set."""
    base = Manifest(corpus="trees", domain="d", recipe="0" * 64)
    write_set(sets / "trees", [make("trees", n) for n in range(5)], base)
    plants, stones = ShardSet.open(sets / "plants"), ShardSet.open(sets / "stones")
    starts, ids = plants.ledger.starts, plants.entries.id.tolist()
    cut = int(plants.entries.offset[starts[2] - 2])  # the last two records of the second shard are lost
    os.truncate(damage.tar_of(sets / "plants", 1), cut + 100)
    index = sets / "plants" / "shards" / plants.manifest.shards[0].name.replace(".tar", ".idx.json")
    index.write_bytes(bytes(range(256)) * (index.stat().st_size // 256) + bytes(index.stat().st_size % 256))
    damage.flip_member(sets / "stones", 3, "json")
    stone_ids = stones.entries.id.tolist()
    return {
        "plants": [key for n, key in enumerate(ids) if starts[1] <= n and n not in (starts[2] - 2, starts[2] - 1)],
        "stones": [key for n, key in enumerate(stone_ids) if n != 3],
        "trees": ShardSet.open(sets / "trees").entries.id.tolist(),
    }


def told(done):
    return [line for line in done.stderr.splitlines() if line.startswith("damaged: ")]


def test_records_of_damaged_sets_are_found_and_each_damage_is_named(harmed, sets):
    (sets / "bad").mkdir()
    (sets / "bad" / "manifest.json").write_text("{")
    done = run("shards", "grep", "speaks", sets, "--limit", 99, "--json", code=1)
    found = json.loads(done.stdout)
    assert {name: [one["id"] for one in found["listed"] if one["set"] == str(sets / name)] for name in harmed} == harmed
    assert [one["of"] for one in found["sets"]] == [len(harmed["plants"]), 7, 5]  # those that could be read
    assert told(done) == [f"damaged: {fault}" for fault in found["damaged"]]
    assert len(found["damaged"]) == 4
    for fault, (file, what, cure) in zip(
        found["damaged"],
        [
            ("bad/manifest.json", "damaged", "build the set again"),
            ("00000.idx.json", "sha256", f"trivium shards index {sets / 'plants'} --rebuild"),
            ("00001.tar", "cut short", "(2 of its records can't be read)"),
            ("stones-all-", "CRC differs", "copy it again"),
        ],
        strict=True,
    ):
        assert file in fault
        assert what in fault
        assert cure in fault
    drawn = run("shards", "sample", sets, "--count", 99, "--json", code=1)
    assert sorted(one["id"] for one in json.loads(drawn.stdout) if "id" in one) == sorted(
        key for ids in harmed.values() for key in ids
    )
    assert len(told(drawn)) == 4
    last_before_the_cut = harmed["plants"][0]
    shown = run("shards", "show", sets, last_before_the_cut, "--json", code=1)
    assert json.loads(shown.stdout)["document"]["id"] == last_before_the_cut
    assert len(told(shown)) == 2  # of the other sets only what the search met
    assert len(told(run("shards", "ls", sets, code=1))) == 3
    page = sets / "page.html"
    assert len(told(run("shards", "gallery", sets, "--out", page, code=1))) == 4
    assert all(key in page.read_text() for ids in harmed.values() for key in ids)


def test_a_flipped_byte_is_damage_and_no_change(sets, tmp_path, damage):
    copy = shutil.copytree(sets / "plants", tmp_path / "copy")
    damage.flip_member(copy, 4, "json")
    done = run("shards", "diff", sets / "plants", copy, "--json", code=1)
    found = json.loads(done.stdout)
    assert (found["identical"], found["counts"], found["files"], found["manifest"]) == (
        False,
        {"added": 0, "gone": 0, "changed": 0},
        [],
        [],
    )
    (fault,) = found["damaged"]
    assert fault.startswith(f"{damage.tar_of(copy)}: sha256 ")
    assert told(done) == [f"damaged: {fault}"]
    assert "damaged since" in run("shards", "diff", copy, sets / "plants", code=1).stdout
    base = Manifest(corpus="plants", domain="d", recipe="1" * 64)
    write_set(tmp_path / "b", [make("plants", n, text=f"another text {n}") for n in range(30)], base)
    found = facts("shards", "diff", copy, tmp_path / "b", code=1)
    assert found["counts"] == {"added": 0, "gone": 0, "changed": 29}
    assert "CRC differs" in found["damaged"][0]
    damage.remove_index(damage.tar_of(copy, 1))
    found = facts("shards", "diff", copy, tmp_path / "b", code=1)
    unknown = ShardSet.open(sets / "plants").manifest.shards[1].records
    assert found["counts"]["changed"] == 29 - unknown
    assert found["counts"]["gone"] == 0
    assert any("--rebuild" in fault for fault in found["damaged"])
    rebuilt = facts("shards", "index", copy, "--rebuild")
    assert [one["state"] for one in rebuilt["indexes"]].count("rebuilt") == 1
    assert "whole" in run("shards", "index", copy).stdout


def test_what_was_taken_down_is_said_with_day_and_reason(sets):
    key = ShardSet.open(sets / "stones").entries.id.tolist()[2]
    run("shards", "drop", sets / "stones", "--id", key, "--reason", "a letter", "--by", "ann")
    gone = facts("shards", "show", sets, key)["taken_down"]
    assert (gone["id"], gone["detail"]) == (key, "a letter (ann)")
    assert re.fullmatch(r"\d{4}-\d\d-\d\d", gone["when"])
    shown = " ".join(run("shards", "show", sets, key[:12]).stdout.split())
    assert f"{key} was taken down on {gone['when']}: a letter (ann)" in shown
    assert gone["when"] in run("shards", "stat", sets / "stones").stdout
    hint = run("shards", "drop", sets / "stones", "--id", "z" * 26, "--reason", "r", code=1).stderr
    assert "--among" in hint


def test_stat_counts_by_no_index_and_proves_as_ls_where_asked(sets, damage):
    for path in sets.rglob("*.idx.json"):
        path.write_bytes(b"")
    shown = facts("shards", "stat", sets / "plants")["sets"][0]
    assert not shown["faults"]
    proven = facts("shards", "stat", sets / "plants", "--prove", code=1)["sets"][0]
    assert proven["faults"] == facts("shards", "ls", sets / "plants", code=1)[0]["faults"]
    assert shown["licences"] == {
        "GPL-3.0": {"records": 15, "tokens": 0, "patches": 0},
        "MIT": {"records": 15, "tokens": 0, "patches": 0},
    }
    assert sum(shown["histogram"]["records"]) == 30
    assert "2,048" in run("shards", "stat", sets / "plants").stdout


def test_show_searches_all_sets_below_a_folder(sets):
    shards = ShardSet.open(sets / "stones")
    key = str(shards.entries.id[3])
    found = facts("shards", "show", sets, key)
    assert found["set"] == str(sets / "stones")
    assert found["document"]["id"] == key
    plants = ShardSet.open(sets / "plants")
    shown = facts("shards", "show", sets, str(plants.entries.source_id[0]))
    assert shown["lineage"]["source"] == {"name": "plants-pages", "kind": "files", "path": "/raw/plants"}
    assert shown["lineage"]["sha256"] == "5" * 64
    text = run("shards", "show", sets, str(plants.entries.id[0])).stdout
    for part in ("step extract v3", "path: /raw/plants", "at https://plants.org/", "sha256 5555"):
        assert part in text
    assert "\x1b[31m" not in text
    assert fails(ShardError, r"is no id or source_id in 2 sets; .*ls --records", "shards", "show", sets, "zzz") == 1
    where = rf"`trivium shards find 'a b\.svg' {sets}` looks for it in addresses"  # an address is what people know
    assert fails(ShardError, where, "shards", "show", sets, "a b.svg") == 1
    assert fails(ShardError, "give more characters", "shards", "show", sets, key[:1]) == 1


def test_show_says_what_it_could_not_look_into(harmed, sets):
    (sets / "trees" / "manifest.json").unlink()
    match = r"'zzz' not found in what can be read; 1 index and 1 manifest can't be read"
    assert fails(ShardError, match, "shards", "show", sets, "zzz") == 1


def test_tokenize_replaces_no_other_corpus(sets, tmp_path):
    vocabulary = tmp_path / "t.json"
    run("tokenizer", "train", sets / "stones", "--vocab", 300, "--out", vocabulary)
    words = ("shards", "tokenize", sets / "stones", "--tokenizer", vocabulary, "--out")
    kept = (sets / "plants" / "manifest.json").read_bytes()
    assert fails(UsageError, "holds corpus 'plants', and the input is 'stones'", *words, sets / "plants") == 2
    assert (sets / "plants" / "manifest.json").read_bytes() == kept
    target = tmp_path / "out"
    shutil.copytree(sets / "plants", target)
    run(*words, target, "--force")
    held = target / "manifest.json"
    held.write_text(held.read_text().replace('"recipe": "000', '"recipe": "fff'))
    assert "of recipe fff000000000…, is replaced (000000000000…)" in run(*words, target).stderr
    assert ShardSet.open(target).manifest.corpus == "stones"


def test_commands_of_one_set_ask_which(sets):
    match = "a folder of 2 sets: name one: plants, stones"
    assert fails(UsageError, match, "shards", "diff", sets, sets / "plants") == 2
    assert fails(UsageError, match, "shards", "drop", sets, "--id", "a" * 26, "--reason", "r") == 2


def test_what_is_not_there_is_no_damage_and_hides_nothing(sets, tmp_path):
    nothing = tmp_path / "nothing"
    for name in ("ls", "stat"):
        done = run("shards", name, sets / "plants", nothing, sets / "stones", code=2)
        assert "plants" in done.stdout, name
        assert "stones" in done.stdout, name
        assert [line for line in done.stderr.splitlines() if line.startswith(f"not read: {nothing}: no such folder")]
    assert "no such folder" in facts("shards", "ls", sets, nothing, code=2)[2]["damaged"]


def test_a_limit_without_records_and_a_page_without_a_folder_are_refused(sets, tmp_path):
    assert fails(UsageError, "together with --records", "shards", "ls", sets, "--limit", 3) == 2
    assert len(facts("shards", "ls", sets / "plants", "--records", "--limit", 3)) == 3
    page = tmp_path / "none" / "page.html"
    assert fails(UsageError, f"there is no folder {tmp_path}/none", "shards", "gallery", sets, "--out", page) == 2
    assert not page.parent.exists()
    where = f"--out {tmp_path}: a folder; give the page a name, such as {tmp_path}/gallery.html"
    assert fails(UsageError, re.escape(where), "shards", "gallery", sets, "--out", tmp_path) == 2
    long = tmp_path / ("a" * 300)
    assert fails(InputError, "--out .* can't be written .*name too long", "shards", "gallery", sets, "--out", long) == 2


def test_takedowns_are_no_rejects(sets):
    run("shards", "drop", sets / "plants", "--license", "GPL-3.0", "--reason", "r")
    (one,) = facts("shards", "ls", sets / "plants")
    assert (one["records"], one["rejects"], one["takedowns"]) == (15, 0, 15)


def test_verify_tells_damage_from_what_is_no_set(sets, tmp_path, damage):
    run("shards", "verify", sets)
    (tmp_path / "empty").mkdir()
    (tmp_path / "note.txt").write_text("no tar")
    assert fails(InputError, r"no manifest\.json and no tar", "shards", "verify", tmp_path / "empty") == 2
    assert fails(InputError, "not a folder or a tar", "shards", "verify", tmp_path / "note.txt") == 2
    assert fails(InputError, "no such file or folder", "shards", "verify", tmp_path / "none") == 2
    tar = damage.tar_of(sets / "stones")
    damage.remove_index(tar)
    (sets / "stones" / "shards" / "README").write_text("foreign")
    problems = "\n".join(facts("shards", "verify", sets / "stones", code=1)[0]["problems"])
    assert f"{tar.name[:-4]}.idx.json: the index of {tar.name} can't be read (no such file); copy it again" in problems
    assert "README: not in the manifest" in problems
    (sets / "stones" / "manifest.json").unlink()
    assert "did not finish" in facts("shards", "verify", sets / "stones", code=1)[0]["problems"][0]


def test_diff_says_first_what_is_odd_then_counts_then_lists(sets, tmp_path):
    found = facts("shards", "diff", sets / "plants", sets / "stones", "--limit", 2, code=1)
    assert found["notes"] == ["two corpora, plants and stones: compared by source_id all the same"]
    assert found["counts"] == {"added": 8, "gone": 30, "changed": 0}
    assert [len(found[kind]) for kind in ("added", "gone", "changed")] == [2, 2, 0]
    lines = run("shards", "diff", sets / "plants", sets / "stones", code=1).stdout.splitlines()
    assert lines[0].startswith("note: two corpora")
    assert lines[1] == "different: 30 and 8 records; 8 added, 30 gone, 0 changed"
    manifest = ShardSet.open(sets / "stones").manifest
    base = msgspec.structs.replace(manifest, shards=(), licences={}, languages={}, reject_files={})
    tokenised = msgspec.structs.replace(base, tokenizer="t" * 64)
    write_set(
        tmp_path / "b", [(d, {"tokens": b"\1\0\0\0"}) for d, _ in (make("stones", n) for n in range(8))], tokenised
    )
    found = facts("shards", "diff", sets / "stones", tmp_path / "b", code=1)
    assert found["notes"] == ["the second is tokenised and the first is not: every record differs by its tokens"]
    assert found["counts"] == {"added": 0, "gone": 0, "changed": 8}


def test_diff_names_the_stage_that_dropped(sets, tmp_path):
    records = [make("stones", n) for n in range(8)]
    drops = [
        Drop(source_id=d.meta.source_id, source="s", address="a", stage="quality", reason="short")
        for d, _ in records[:3]
    ]
    base = Manifest(corpus="stones", domain="d", recipe="0" * 64)
    write_set(tmp_path / "b", records[3:], base, target_bytes=5_000, rejects={"quality": drops})
    found = facts("shards", "diff", sets / "stones", tmp_path / "b", "--limit", 1, code=1)
    assert found["steps"]["gone"] == {"quality": 3}
    assert found["gone"][0]["what"] == "rejected there: short"


def test_drop_by_licence_with_a_trial_first(sets):
    arguments = (
        "shards",
        "drop",
        sets / "plants",
        "--license",
        "GPL-*",
        "--reason",
        "licence withdrawn",
        "--by",
        "ann",
    )
    before = ShardSet.open(sets / "plants").digest
    trial = facts(*arguments, "--dry-run")
    assert (trial["records"], trial["digest"]) == (15, before)
    done = facts(*arguments)
    assert done["ids"] == trial["ids"]
    shown = facts("shards", "stat", sets / "plants")["sets"][0]
    assert shown["records"] == 15
    assert shown["takedowns"][0]["reason"] == "licence withdrawn"
    assert "licence withdrawn" in run("shards", "stat", sets / "plants").stdout
    run("shards", "verify", sets / "plants")
    shown = facts("shards", "show", sets, ShardSet.open(sets / "plants").manifest.shards[0].first)
    assert shown["document"]["meta"]["license"] == "MIT"
    assert "'GPL-*' fits no record" in run(*arguments, code=1).stderr
    assert fails(UsageError, "nothing to drop", "shards", "drop", sets / "plants", "--reason", "r") == 2
    assert fails(UsageError, "--reason is missing", "shards", "drop", sets / "plants", "--license", "MIT") == 2
    assert "would drop 15 records" in run(*arguments[:3], "--license", "MIT", "--reason", "r", "--dry-run").stdout


def test_grep_counts_and_lists(sets):
    found = facts("shards", "grep", r"number(7|11)\b", sets)
    assert [(one["records"], one["matches"]) for one in found["sets"]] == [(2, 40), (1, 20)]
    assert {one["found"] for one in found["listed"]} == {"number7", "number11"}
    assert facts("shards", "grep", r"NUMBER7\b", sets, "-i", "--count")["listed"] == []
    assert len(facts("shards", "grep", "speaks", sets, "--limit", 3)["listed"]) == 3
    titles = run("shards", "grep", "Page", sets, "--field", "title", "--limit", 1).stdout
    assert "Page" in titles
    assert "\x1b[31m" not in titles
    assert facts("shards", "grep", "nothing like it", sets, code=1)["listed"] == []
    assert fails(UsageError, "no regular expression", "shards", "grep", "(", sets) == 2
    assert fails(UsageError, "did you mean 'license'", "shards", "grep", "x", sets, "--field", "licence") == 2


def test_sample_is_the_same_for_a_seed(sets):
    one = facts("shards", "sample", sets, "--seed", 4, "--count", 3)
    assert one == facts("shards", "sample", sets, "--seed", 4, "--count", 3)
    assert len(one) == 6
    assert one != facts("shards", "sample", sets, "--seed", 5, "--count", 3)
    assert "speaks of" in run("shards", "sample", sets).stdout
    assert fails(UsageError, "not tokenised, so no record weighs", "shards", "sample", sets, "--by", "tokens") == 2
    assert fails(UsageError, "records or tokens", "shards", "sample", sets, "--by", "luck") == 2
