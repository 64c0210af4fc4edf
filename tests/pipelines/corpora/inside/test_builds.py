"""The shuffles that look inside texts in whole builds of real pages: nothing lost, a second pass changes nothing."""

import json
from pathlib import Path

import pytest

from trivium.data.records import Text
from trivium.data.shards import ShardSet, read_manifest, read_rejects
from trivium.data.shards.verify import verify
from trivium.errors import BuildError, ConfigError
from trivium.pipelines.beam import BeamOptions
from trivium.pipelines.corpora.driver import build
from trivium.pipelines.corpora.recipe import Recipe, load_recipe

RECIPE = """
version: 1
corpus: inside
domain: knowledge
sources:
  - {{kind: shards, name: pages, path: {path}}}
stages:
  - {{kind: heuristics, policy: []}}
  - {{kind: repeated_lines, scope: corpus, min_documents: 2, min_share: 0, min_left: 50}}
  - {{kind: substrings, min_tokens: 20}}
  - {{kind: exact_dedup}}
  - {{kind: decontaminate, sets: [{{name: asked, path: asked.jsonl}}], min_share: 0.3}}
"""


def recipe_over(folder: Path, path: Path, *, lines: bool = True) -> Recipe:
    """`lines` off: what stretches leave of lines may be equal, so lines are counted anew after a cut."""
    file = folder / f"{path.name}.yaml"
    text = RECIPE.format(path=path).splitlines(keepends=True)
    file.write_text("".join(line for line in text if lines or "repeated_lines" not in line))
    return load_recipe(file)


def contents(folder: Path) -> dict[str, list[str]]:
    shards = ShardSet.open(folder)
    read = (shards.read_document(number) for number in range(len(shards)))
    return {d.meta.address: [part.text for part in d.segments if isinstance(part, Text)] for d in read}


@pytest.fixture(scope="module")
def inside(built, tmp_path_factory):
    folder = tmp_path_factory.mktemp("inside")
    longest = max((text for parts in contents(built).values() for text in parts), key=len)
    question = " ".join(longest.split()[40:90])
    (folder / "asked.jsonl").write_text(json.dumps({"question": question}) + "\n")
    build(recipe_over(folder, built), folder, folder / "first", BeamOptions())
    return folder


def test_every_record_is_accounted_for_and_every_cut_is_in_its_lineage(inside, built):
    out = inside / "first"
    assert not verify(out).problems
    manifest, _ = read_manifest(out)
    for stage in manifest.funnel:
        assert stage.input == stage.kept + sum(stage.dropped.values())
    reasons = {(drop.stage, drop.reason) for drop in read_rejects(out)}
    assert ("decontaminate", "contaminated") in reasons
    before, shards, steps = contents(built), ShardSet.open(out), set()
    for number in range(len(shards)):
        document = shards.read_document(number)
        old = "".join(before[document.meta.address])
        taken = {step.name: step.counts.get("characters", 0) for step in document.meta.lineage.steps if step.counts}
        steps |= set(taken)
        assert len(document.text) == len(old) - sum(taken.values())
    assert {"repeated_lines", "substrings"} <= steps
    reports = {path.stem: json.loads(path.read_bytes()) for path in (out / "report").glob("*.json")}
    assert reports["repeated_lines"]["top"]
    assert reports["substrings"]["longest"]
    (found,) = reports["decontaminate"]["sets"]
    assert (found["items"], found["items_found"], found["records"]) == (1, 1, 1)


def test_a_second_pass_in_any_order_changes_nothing(inside):
    again = inside / "second"
    build(recipe_over(inside, inside / "first", lines=False), inside, again, BeamOptions(), shuffle_seed=3)
    assert contents(again) == contents(inside / "first")
    assert not list(read_rejects(again))


def test_a_recipe_that_cuts_must_look_for_equal_records_afterwards(inside, built):
    file = inside / "careless.yaml"
    file.write_text(RECIPE.format(path=built).replace("  - {kind: exact_dedup}\n", ""))
    with pytest.raises(ConfigError, match=r"stages\.2\.kind: substrings cuts texts.*put exact_dedup behind it"):
        load_recipe(file)
    file.write_text(file.read_text().replace("min_share: 0.3", "action: cut"))
    with pytest.raises(ConfigError, match=r"stages\.3\.kind: decontaminate cuts"):
        load_recipe(file)


def test_a_run_that_was_cut_off_stops_the_build_by_name(inside, built, monkeypatch):
    from trivium.data.dedup import runs
    from trivium.pipelines.corpora.shuffles import keyed

    def cut_off(path, rows):
        runs.write_rows(path, rows)
        path.write_bytes(path.read_bytes()[:-8])

    monkeypatch.setattr(keyed, "write_rows", cut_off)
    with pytest.raises(BuildError, match=r"\.rows: .* bytes, .* expected by its head; the file was cut off"):
        build(recipe_over(inside, built), inside, inside / "third", BeamOptions())
