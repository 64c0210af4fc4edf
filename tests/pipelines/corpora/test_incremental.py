"""A build against earlier ones is the build of everything: old - tombstones + new, by source id."""

import random
import shutil
import types
from pathlib import Path
from typing import Any

import msgspec
import pytest
from typer.testing import CliRunner

from trivium.cli import app
from trivium.data.config import from_mapping
from trivium.data.dedup.exact import ExactDedup
from trivium.data.dedup.kept import FOLDER, read_kept, read_tombstones
from trivium.data.dedup.near import NearDedup
from trivium.data.shards import ShardSet, read_manifest, read_rejects, write_manifest
from trivium.data.shards.relatives import gave_way
from trivium.errors import DigestError, ShardError, UsageError
from trivium.pipelines.beam import BeamOptions
from trivium.pipelines.corpora.driver import build
from trivium.pipelines.corpora.dry import survey
from trivium.pipelines.corpora.extent import Extent
from trivium.pipelines.corpora.recipe import Recipe
from trivium.pipelines.corpora.shuffles.keep import Earlier


def recipe(kind: str, path: Path, against: tuple[Path, ...] = (), **near) -> Recipe:
    first = {"kind": "extract_html"} if kind == "html_folder" else {"kind": "heuristics", "policy": []}
    earlier = [str(one) for one in against]
    stages = [first, {"kind": "exact_dedup", "against": earlier}, {"kind": "near_dedup", "against": earlier, **near}]
    source = {"kind": kind, "name": "s", "path": str(path), "license": "CC0-1.0"}
    given = {"version": 1, "corpus": "c", "domain": "d", "sources": [source], "stages": stages}
    return from_mapping(given, Recipe, name="recipe")


def built(out: Path, *rest, **near) -> set[str]:
    """The source ids of a build."""
    build(recipe(*rest, **near), out.parent, out, BeamOptions())
    return set(ShardSet.open(out).entries.source_id.tolist())


def dry(of: Recipe, out: Path, limit: int | None = None) -> dict[str, Any]:
    return survey(of, out.parent, out, Extent(limit=limit), workers=1)


def written(folder: Path, name: str, texts: list[str]) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    with (folder / name).open("wb") as file:
        for text in texts:
            file.write(msgspec.json.encode({"text": text}) + b"\n")


def generated(seed: int) -> list[str]:
    """Families of texts: some alike by 0.6 to 1, some the same, some joined only by one between them."""
    draw = random.Random(seed)
    texts = []
    for family in range(30):
        base = [f"w{draw.randrange(10_000)}" for _ in range(draw.randrange(60, 200))]
        for _ in range(draw.randrange(1, 7)):
            words = list(base)
            for _ in range(draw.randrange(0, 5)):
                words[draw.randrange(len(words))] = f"x{family}{draw.randrange(10**6)}"
            if draw.random() < 0.3:
                base = words  # the next ones resemble this one more than the first
            texts += [" ".join(words)] * (1 + (draw.random() < 0.2))
    draw.shuffle(texts)
    return texts


def tombstones(*roots: Path) -> set[str]:
    return {one.source_id for root in roots for one in read_tombstones(root)}


def in_parts(folder: Path, texts: list[str], names: str) -> None:
    """The texts dealt to one folder a name, and all together in another; a text's place in its file stays the same."""
    for start, name in enumerate(names):
        written(folder / name, f"{name}.jsonl", texts[start :: len(names)])
        written(folder / "all", f"{name}.jsonl", texts[start :: len(names)])


@pytest.mark.parametrize("names", ["ab", pytest.param("abc", marks=pytest.mark.soak)])
def test_builds_one_after_the_other_are_the_build_of_everything(tmp_path, names):
    in_parts(tmp_path / "in", generated(4), names)
    whole = built(tmp_path / "all", "jsonl", tmp_path / "in/all")
    old: set[str] = set()
    gone: set[str] = set()
    for number, name in enumerate(names):
        against = tuple(tmp_path / earlier for earlier in names[:number])
        new = built(tmp_path / name, "jsonl", tmp_path / "in" / name, against)
        laid = tombstones(tmp_path / name)
        assert bool(laid & old) == bool(old)
        assert not laid & gone  # nobody dies twice
        old, gone = old | new, gone | laid
    told = CliRunner().invoke(app, ["shards", "tombstones", str(tmp_path / names[-1]), "--json"])
    assert {one["source_id"] for one in msgspec.json.decode(told.stdout)} == laid
    assert old - gone == whole
    assert whole < old
    check_left(tmp_path, names[:2])
    drops = list(read_rejects(tmp_path / names[-1]))
    near = [drop for drop in drops if drop.stage == "near_dedup"]
    assert any("of " + str(tmp_path / "a") in drop.detail for drop in near)
    assert all(drop.cluster and drop.beside and drop.band is not None for drop in near)


def check_left(folder: Path, names: str) -> None:
    """The first set without what gave way to the second, as a new one; the first stays as it was."""
    first, second, left = folder / names[0], folder / names[1], folder / "left"
    before = {path: path.read_bytes() for path in first.rglob("*") if path.is_file()}
    table = CliRunner().invoke(app, ["shards", "tombstones", str(second)], env={"COLUMNS": "80"}).stdout
    assert all(key in table for key in tombstones(second))  # to be given to other commands, so never cut
    done = CliRunner().invoke(app, ["shards", "drop", str(first), "--tombstones", str(second), "--out", str(left)])
    assert done.exit_code == 0, done.output
    stays = set(ShardSet.open(first).entries.source_id.tolist()) - tombstones(second)
    assert set(ShardSet.open(left).entries.source_id.tolist()) == stays
    more = ["--id", min(stays), "--reason", "asked", "--dry-run", "--json"]
    asked = CliRunner().invoke(app, ["shards", "drop", str(first), "--tombstones", str(second), *more])
    assert msgspec.json.decode(asked.stdout)["records"] == len(ShardSet.open(first)) - len(stays) + 1
    (takedown,) = ShardSet.open(left).manifest.takedowns
    assert gave_way(left) == set(ShardSet.open(first).entries.source_id.tolist()) & tombstones(second)
    dedup = ExactDedup(against=(str(left),))
    earlier = Earlier(types.SimpleNamespace(base=folder), "exact_dedup", dedup)  # of all a build, the folder alone
    assert earlier.gone() == [gave_way(left)]  # so what was taken out wins over no later record
    assert takedown.reason == f"gave way to records of {second}"
    assert {path: path.read_bytes() for path in first.rglob("*") if path.is_file()} == before
    wrong = CliRunner().invoke(app, ["shards", "drop", str(second), "--tombstones", str(first), "--out", str(left)])
    assert "it lays none" in str(wrong.exception)


@pytest.mark.slow
def test_a_new_crawl_of_real_pages_is_the_build_of_everything(tmp_path, recipe_file):
    """Pages of a handbook, half of them translated: the untranslated ones are near and exact duplicates."""
    for number, page in enumerate(sorted((recipe_file.parent / "inputs/handbook").rglob("*.html"))):
        for name in ("all", "ab"[number % 2]):
            target = tmp_path / "in" / name / page.relative_to(recipe_file.parent)
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(page, target)
    whole = built(tmp_path / "all", "html_folder", tmp_path / "in/all")
    old = built(tmp_path / "a", "html_folder", tmp_path / "in/a")
    new = built(tmp_path / "b", "html_folder", tmp_path / "in/b", (tmp_path / "a",))
    assert old & tombstones(tmp_path / "b")
    assert (old | new) - tombstones(tmp_path / "b") == whole


def test_a_set_that_can_not_be_compared_is_refused_by_name(tmp_path):
    """Made in another way, cut off, of another version, or without records of its dedup: all before any comparing."""
    written(tmp_path / "in", "a.jsonl", generated(1)[:12])
    built(tmp_path / "a", "jsonl", tmp_path / "in")
    earlier = (tmp_path / "a",)
    manifest, _ = read_manifest(tmp_path / "a")
    write_manifest(tmp_path / "a", msgspec.structs.replace(manifest, limit=3))
    later = recipe("jsonl", tmp_path / "in", earlier)
    looks = (lambda: built(tmp_path / "b", "jsonl", tmp_path / "in", earlier), lambda: dry(later, tmp_path / "b"))
    for look in looks:
        with pytest.raises(UsageError, match=r"^stages.exact_dedup.against: .*a is a part .* --limit 3\), so dup"):
            look()
    assert dry(later, tmp_path / "b", limit=3)["limit"] == 3  # a part may be tried against a part
    assert not (tmp_path / "b").exists()
    write_manifest(tmp_path / "a", manifest)
    with pytest.raises(DigestError, match=r"near_dedup was made in another way: threshold 0\.75 there, 0\.8 here"):
        built(tmp_path / "b", "jsonl", tmp_path / "in", earlier, threshold=0.8)
    made = NearDedup().made
    sets = tmp_path / "a" / FOLDER / "near_dedup-00000.sets"
    payload = sets.read_bytes()
    sets.write_bytes(payload[:-4])
    with pytest.raises(ShardError, match=rf"near_dedup-00000.sets: has [\d,]+ bytes, {len(payload):,} were written"):
        read_kept(tmp_path / "a", "near_dedup", "near", made)
    head = tmp_path / "a" / FOLDER / "near_dedup.json"
    head.write_bytes(head.read_bytes().replace(b'"version": 1', b'"version": 9'))
    with pytest.raises(ShardError, match=r"near_dedup.json: version 9, and this code reads 1"):
        read_kept(tmp_path / "a", "near_dedup", "near", made)
    shutil.rmtree(tmp_path / "a" / FOLDER)
    with pytest.raises(ShardError, match=r"it holds no dedup/\*.json of kind near; build it again with a near_dedup"):
        read_kept(tmp_path / "a", "near_dedup", "near", made)
