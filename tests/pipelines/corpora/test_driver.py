"""Whole builds of a small real corpus: what is kept, that nothing is lost, and that every byte repeats."""

import contextlib
import hashlib
import json
import re
import shutil
from collections import Counter
from pathlib import Path

import msgspec
import pytest

from trivium.data.config import digest
from trivium.data.shards import ShardSet, read_manifest, read_rejects
from trivium.data.shards.diff import diff
from trivium.data.shards.verify import verify
from trivium.data.stage import Drop
from trivium.errors import BuildError
from trivium.pipelines.beam import BeamOptions, parse_options, run_job
from trivium.pipelines.corpora.driver import build, cut
from trivium.pipelines.corpora.recipe import load_recipe
from trivium.pipelines.corpora.work import Work

GOLDEN = Path(__file__).parents[2] / "golden/web-small.json"
TWO = ("--direct_num_workers=2", "--direct_running_mode=multi_processing")
LESS = "stages=[{kind: extract_html}, {kind: exact_dedup}]"  # a quarter of the recipe's jobs


def sums(folder: Path) -> dict[str, str]:
    return {
        path.relative_to(folder).as_posix(): hashlib.sha256(path.read_bytes()).hexdigest()
        for path in sorted(folder.rglob("*"))
        if path.is_file() and path.parent.name != "report"  # which tells of times
    }


def report(folder: Path) -> dict[str, object]:
    """The report's facts but those of one run: times, memory, machine."""
    facts = json.loads((folder / "report/report.json").read_text())
    del facts["run"]
    return facts


def documents(folder: Path):
    shards = ShardSet.open(folder)
    return [shards.read(number)[0] for number in range(len(shards))]


def test_the_shards_are_whole_and_every_item_is_accounted_for(built):
    assert not verify(built).problems
    manifest, _ = read_manifest(built)
    before = None
    for stage in manifest.funnel:
        assert stage.input == stage.kept + sum(stage.dropped.values())
        assert before is None or stage.input == before
        before = stage.kept
    rejects = list(read_rejects(built))
    assert manifest.records == before
    assert len(rejects) == manifest.rejects == manifest.funnel[0].input - manifest.records
    assert all(drop.reason and drop.stage and drop.address for drop in rejects)
    for path in sorted((built / "rejects").glob("*.jsonl")):
        ids = [json.loads(line)["source_id"] for line in path.read_text().splitlines()]
        assert len(set(ids)) == len(ids)


def test_the_corpus_is_what_the_recipe_says(built, recipe):
    manifest, _ = read_manifest(built)
    assert [stage.name for stage in manifest.funnel] == list(recipe.stage_names())
    assert manifest.recipe == digest(recipe)
    assert set(manifest.languages) == {"en"}
    assert set(manifest.licences) == {"PSF-2.0", "GPL-2.0-or-later OR CC-BY-SA-3.0"}
    dropped = {stage.name: stage.dropped for stage in manifest.funnel}
    assert dropped["read"] == {"http_status": 2, "not_html": 5}
    assert dropped["language"]["other_language"] > 0
    assert dropped["exact_dedup"]["exact_duplicate"] > 0
    assert dropped["near_dedup"]["near_duplicate"] > 0


def test_records_carry_lineage_scores_and_clusters(built, recipe):
    for document in documents(built):
        meta = document.meta
        assert [step.name for step in meta.lineage.steps] == ["extract_html", "language", "heuristics"]
        assert meta.lineage.recipe == digest(recipe)
        assert {"language", "words", "stop_words"} <= set(meta.scores)
        members = {meta.source_id, *meta.duplicates}
        assert meta.cluster in members


def test_each_duplicate_names_a_survivor_that_knows_it(built):
    survivors = {document.meta.source_id: document.meta for document in documents(built)}
    drops = [drop for drop in read_rejects(built) if drop.stage in ("exact_dedup", "near_dedup")]
    assert drops
    by_id = {drop.source_id: drop for drop in drops}
    for drop in drops:
        keeper = drop.survivor
        while keeper not in survivors:  # an exact duplicate's keeper may be a near duplicate of the next
            keeper = by_id[keeper].survivor
        assert drop.source_id in survivors[keeper].duplicates
        assert drop.similarity == 1.0 or drop.stage == "near_dedup"
        assert drop.excerpt
    assert sum(len(meta.duplicates) for meta in survivors.values()) == len(drops)


def test_survivors_are_clusters_and_singletons(built):
    metas = [document.meta for document in documents(built)]
    manifest, _ = read_manifest(built)
    assert len({meta.cluster for meta in metas}) == len(metas)
    entered = next(stage.input for stage in manifest.funnel if stage.name == "exact_dedup")
    assert sum(1 + len(meta.duplicates) for meta in metas) == entered


def test_the_digests_are_the_golden_ones(built):
    found = {name: value for name, value in sums(built).items() if name.startswith("shards/")}
    assert found == json.loads(GOLDEN.read_text()), "explain a change of the golden file in its commit"


@pytest.mark.slow
def test_two_processes_and_another_order_give_the_same_bytes(built, build_small, tmp_path):
    build_small(tmp_path / "b", options=parse_options(TWO), shuffle_seed=3)
    assert sums(tmp_path / "b") == sums(built)
    assert report(tmp_path / "b") == report(built)
    assert diff(built, tmp_path / "b").identical


def test_shuffles_in_parts_give_the_same_bytes(built, build_small, tmp_path, monkeypatch):
    """Partitions of keys in several jobs, and in small pieces, as for a corpus too large for one."""
    for module in ("banded", "exact"):
        monkeypatch.setattr(f"trivium.pipelines.corpora.shuffles.{module}.IN_FLIGHT", 8_000)
        monkeypatch.setattr(f"trivium.pipelines.corpora.shuffles.{module}.PARTITION", 20)
    monkeypatch.setattr("trivium.pipelines.corpora.shuffles.banded.BUCKETS", 40)
    monkeypatch.setattr("trivium.pipelines.corpora.shuffles.candidates.MOST", 30)
    monkeypatch.setattr("trivium.pipelines.corpora.blocks.RANGE", 6_000)
    jobs: Counter[str] = Counter()

    def counted(name, *rest, **more):
        jobs[name] += 1
        return run_job(name, *rest, **more)

    monkeypatch.setattr("trivium.pipelines.corpora.work.run_job", counted)
    build_small(tmp_path / "b")
    several = ("exact_dedup", "near_dedup: candidates", "near_dedup: label")
    assert all(jobs[name] > 1 for name in several), jobs
    assert sums(tmp_path / "b") == sums(built)


def test_a_second_pass_removes_nothing(built, tmp_path, recipe_file, build_small):
    """The kept pages alone, through the same recipe: dedup drops none of them."""
    base = recipe_file.parent
    for document in documents(built):
        name = "faq" if document.meta.source == "faq" else "handbook"
        target = tmp_path / "inputs" / name / document.meta.address
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(base / "inputs" / name / document.meta.address, target)
    overrides = [f"sources.{n}.path={tmp_path}/inputs/{name}" for n, name in enumerate(("faq", "handbook"))]
    manifest = build_small(tmp_path / "again", *overrides)
    kept = {document.meta.source_id for document in documents(built)}
    assert {document.meta.source_id for document in documents(tmp_path / "again")} >= kept
    assert all(not stage.dropped for stage in manifest.funnel if stage.name in ("exact_dedup", "near_dedup"))


def test_a_build_again_replaces_and_leaves_nothing_behind(built, build_small, tmp_path):
    out = tmp_path / "out"
    build_small(out, "shards.target_bytes=20000", LESS)
    assert len(list((out / "shards").glob("*.tar"))) > len(list((built / "shards").glob("*.tar")))
    build_small(out)
    assert sums(out) == sums(built)


@pytest.mark.parametrize(
    ("override", "message"),
    [
        ("stages.4.max_cluster=1", "max_cluster"),
        ("stages.3.max_source_loss=0.01", "of source 'handbook'"),
        ("stages.0.max_bytes=10", "no record is left"),
    ],
)
def test_limits_stop_the_build_and_write_nothing(build_small, tmp_path, override, message):
    with pytest.raises(BuildError, match=message):
        build_small(tmp_path / "out", override)
    assert sorted(path.name for path in (tmp_path / "out").iterdir()) == [".build", "rejects", "report"]
    facts = json.loads((tmp_path / "out/report/report.json").read_bytes())
    assert re.search(message, facts["stopped"])
    assert not facts["complete"]
    refused = [
        json.loads(line) for path in (tmp_path / "out/rejects").iterdir() for line in path.read_bytes().splitlines()
    ]
    counts = Counter((one["stage"], one["reason"]) for one in refused)
    assert counts == {(s["name"], r["reason"]): r["count"] for s in facts["stages"] for r in s["reasons"]} != {}


def test_the_error_budget_names_the_worst_reasons(build_small, tmp_path, recipe_file):
    crawls = tmp_path / "crawls"
    shutil.copytree(recipe_file.parent / "inputs/pywb", crawls)
    whole = (crawls / "example.warc.gz").read_bytes()
    for number in range(6):
        (crawls / f"cut-{number}.warc.gz").write_bytes(whole[:1000])
    said = r"6 of \d+ items failed, .* allows 5 .*damaged 6, such as .*cut-0.warc.gz.*--set error_budget=0\.\d+"
    less = (f"sources.2.path={crawls}", LESS)
    with pytest.raises(BuildError, match=said):
        build_small(tmp_path / "out", *less)
    (crawls / "cut-5.warc.gz").unlink()  # five may fail in a corpus of any size, unless the recipe forgives nothing
    with pytest.raises(BuildError, match=r"5 of \d+ items failed, and error_budget 0 allows 0"):
        build_small(tmp_path / "out", *less, "error_budget=0")
    assert build_small(tmp_path / "out", *less).rejects >= 5


@pytest.mark.parametrize(
    ("share", "items", "failed", "passes"),
    [(0.01, 20, 5, True), (0.01, 499, 6, False), (0.01, 900, 9, True), (0.01, 900, 10, False), (0.0, 900, 1, False)],
)
def test_a_share_of_all_items_may_fail_and_five_of_few(tmp_path, recipe, share, items, failed, passes):
    drops = [
        Drop(source_id=f"{n}", source="faq", address=f"{n}", stage="read", reason="damaged", error=True)
        for n in range(failed)
    ]
    (tmp_path / "drops-0").write_bytes(b"".join(msgspec.json.encode(drop) + b"\n" for drop in drops))
    work = Work(
        msgspec.structs.replace(recipe, error_budget=share),
        tmp_path,
        tmp_path,
        BeamOptions(),
        lambda *_: None,
        key="",
        at_new=lambda _: None,
    )
    work.counts["read/in"] = items
    work.settled.append(tmp_path)
    with contextlib.nullcontext() if passes else pytest.raises(BuildError, match=f"{failed} of {items} items failed"):
        work.check_budget()


def test_a_recipe_is_cut_after_its_shuffles(recipe):
    (segment,) = cut(recipe)
    assert segment.item_names == ("extract_html", "language", "heuristics")
    assert segment.shuffle_names == ("exact_dedup", "near_dedup")


def test_stages_may_follow_a_shuffle(tmp_path, recipe_file):
    text = recipe_file.read_text()
    moved = text.replace("  - {kind: heuristics}\n", "").replace(
        "  - {kind: near_dedup}\n", "  - {kind: near_dedup}\n  - {kind: heuristics}\n"
    )
    other = recipe_file.with_name("moved.yaml")
    other.write_text(moved)
    manifest = build(load_recipe(other), other.parent, tmp_path / "out", BeamOptions())
    assert manifest.funnel[-1].name == "heuristics"
    assert all(document.meta.cluster for document in documents(tmp_path / "out"))
    assert any(document.meta.duplicates for document in documents(tmp_path / "out"))
