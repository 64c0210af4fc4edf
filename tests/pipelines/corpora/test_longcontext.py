"""Long rows built from shard sets: right, repeatable, as long as they claim, honest about where they come from."""

import hashlib
from collections import Counter
from pathlib import Path

import msgspec
import numpy as np
import pytest

from trivium.curriculum.catalogue import Catalogue, split
from trivium.curriculum.schedule import HeldOut
from trivium.data.config import from_mapping
from trivium.data.patches import PictureRules
from trivium.data.records import Text
from trivium.data.shards import ShardSet, parse_buckets, read_rejects
from trivium.data.shards.verify import verify
from trivium.data.tokenizers.training import train
from trivium.errors import BuildError, ConfigError, InputError
from trivium.pipelines.beam import BeamOptions, parse_options
from trivium.pipelines.corpora.driver import build
from trivium.pipelines.corpora.longcontext import LongContext, held_out, joined
from trivium.pipelines.corpora.recipe import Recipe, load_recipe
from trivium.pipelines.tokenize_job import tokenize_set

ROOT = Path(__file__).parents[3]
TWO = ("--direct_num_workers=2", "--direct_running_mode=multi_processing")
PAGES = {
    "version": 1,
    "corpus": "pages",
    "domain": "knowledge",
    "sources": [
        {"kind": "html_folder", "name": "tutorial", "path": "examples/web/python/tutorial", "license": "PSF-2.0"},
        {"kind": "html_folder", "name": "faq", "path": "examples/web/python/faq", "license": "MIT OR 0BSD"},
    ],
    "stages": [{"kind": "extract_html", "skip": ["a.headerlink"]}],
    "error_budget": 0.0,
}
DRAWINGS = {
    "version": 1,
    "corpus": "drawings",
    "domain": "visual-coding",
    "sources": [{"kind": "svg_drawings", "name": "drawings", "count": 90, "drawings": {"most": 2}}],
    "stages": [{"kind": "svg_sanitize"}, {"kind": "exact_dedup"}, {"kind": "svg_render", "pixels": 112}],
}


def recipe_of(raw: dict) -> Recipe:
    return from_mapping(raw, Recipe, name="recipe")


@pytest.fixture(scope="module")
def sets(tmp_path_factory) -> Path:
    """A folder with the sets `pages` and `drawings`."""
    folder = tmp_path_factory.mktemp("sets")
    for raw in (PAGES, DRAWINGS):
        build(recipe_of(raw), ROOT, folder / raw["corpus"], BeamOptions())
    return folder


def long_recipe(rows: int = 3, **more) -> Recipe:
    source = {
        "kind": "long_context",
        "name": "joined",
        "rows": rows,
        "seed": 5,
        "sets": [
            {"name": "pages", "path": "pages", "share": 0.7},
            {"name": "drawings", "path": "drawings", "share": 0.3},
        ],
        "row": {"tokens": 20_000, "questions": 8},
    }
    raw = {
        "version": 1,
        "corpus": "long",
        "domain": "long-context",
        "sources": [source | more],
        "stages": [{"kind": "long_verify"}],
        "shards": {"target_bytes": 200_000},
        "error_budget": 0.0,
    }
    return recipe_of(raw)


@pytest.fixture(scope="module")
def built(sets, tmp_path_factory) -> Path:
    out = tmp_path_factory.mktemp("long") / "long"
    build(long_recipe(), sets, out, BeamOptions())
    return out


def documents(folder: Path):
    shards = ShardSet.open(folder)
    return [shards.read(number)[0] for number in range(len(shards))]


def sums(folder: Path) -> dict[str, str]:
    return {
        path.relative_to(folder).as_posix(): hashlib.sha256(path.read_bytes()).hexdigest()
        for path in sorted(folder.rglob("*"))
        if path.is_file() and path.parent.name != "report"  # which tells of times
    }


def parents_of(folder: Path) -> list[tuple[str, ...]]:
    return [document.meta.lineage.parents for document in documents(folder)]


def test_rows_are_whole_verified_and_know_their_parents(built, sets):
    assert not verify(built).problems
    parents = {str(key) for name in ("pages", "drawings") for key in ShardSet.open(sets / name).entries.source_id}
    found = documents(built)
    assert len(found) == 3
    for document in found:
        meta = document.meta
        assert [step.name for step in meta.lineage.steps] == ["long_context", "long_verify"]
        assert set(meta.lineage.parents) <= parents
        assert len(meta.lineage.parents) == len(set(meta.lineage.parents)) == meta.scores["documents"]
        assert meta.license == "CC0-1.0 AND (MIT OR 0BSD) AND PSF-2.0"
        assert 0.75 * 20_000 <= meta.scores["tokens"] <= 20_000
        assert len(meta.evidence) == meta.scores["questions"] >= 6
        assert meta.scores["evidence_far"] == max(e.answer - at for e in meta.evidence for at in e.at)
        answers = [s for s in document.segments if isinstance(s, Text) and s.loss]
        assert len(answers) == len(meta.evidence)


def test_another_order_and_a_second_build_give_the_same_bytes(built, sets, tmp_path):
    build(long_recipe(), sets, tmp_path / "b", BeamOptions(), shuffle_seed=3)
    assert sums(tmp_path / "b") == sums(built)


@pytest.mark.soak  # in short: test_driver's, of a smaller recipe, and the order above
def test_two_processes_give_the_same_bytes(built, sets, tmp_path):
    build(long_recipe(), sets, tmp_path / "b", parse_options(TWO))
    assert sums(tmp_path / "b") == sums(built)


def test_more_rows_leave_the_first_ones_as_they_are(built, sets, tmp_path):
    build(long_recipe(rows=5), sets, tmp_path / "more", BeamOptions())
    first = {document.meta.address: document.segments for document in documents(built)}
    more = {document.meta.address: document.segments for document in documents(tmp_path / "more")}
    assert len(more) == 5
    assert {address: more[address] for address in first} == first


def test_another_seed_or_wording_gives_other_rows(built, sets, tmp_path):
    build(long_recipe(seed=6), sets, tmp_path / "b", BeamOptions())
    assert not set(parents_of(built)) & set(parents_of(tmp_path / "b"))
    steps = {document.meta.lineage.steps[0].parameters for document in documents(built)}
    assert not steps & {document.meta.lineage.steps[0].parameters for document in documents(tmp_path / "b")}


def test_rows_use_a_set_evenly(sets):
    """The documents that successive rows begin with: a stride apart, so all of the set before any again."""
    (source,) = long_recipe().sources
    assert isinstance(source, LongContext)
    one, shards = source.sets[1], ShardSet.open(sets / "drawings")
    stride = source._stride(one, shards)
    seen: Counter[str] = Counter()
    for number in range(2 * (len(shards) // stride)):
        records = source._records(one, shards, number)
        seen.update(next(records)[0].meta.source_id for _ in range(stride))
    assert max(seen.values()) - min(seen.values()) <= 1
    assert len(seen) == len(shards)


def test_held_out_documents_stand_in_no_row(sets, tmp_path):
    rule = HeldOut(fraction=0.3)
    shards = ShardSet.open(sets / "drawings")
    entries = shards.entries
    zeros = np.zeros(len(shards), dtype=np.int64)
    catalogue = Catalogue(
        corpus="drawings",
        tokens=zeros,
        patches=zeros,
        bucket=zeros,
        buckets=("all",),
        cluster=entries.cluster,
        id=entries.id,
    )
    kept_out = split({"drawings": catalogue}, rule)["drawings"].held_out.tolist()
    assert kept_out == [n for n, cluster in enumerate(entries.cluster) if held_out(str(cluster), rule)]
    held = msgspec.to_builtins(rule)
    build(long_recipe(held_out=held, row={"tokens": 20_000, "least": 0.5}), sets, tmp_path / "b", BeamOptions())
    used = {parent for parents in parents_of(tmp_path / "b") for parent in parents}
    gone = {str(entries.source_id[number]) for number in kept_out}
    assert gone
    assert not used & gone
    assert used & {str(key) for key in entries.source_id}


def test_lengths_are_those_that_tokenising_finds(sets, tmp_path):
    train([ShardSet.open(sets / "pages")], 600, tmp_path / "tok")
    tokenizer = tmp_path / "tok/tokenizer.json"
    build(long_recipe(tokenizer=str(tokenizer)), sets, tmp_path / "long", BeamOptions())
    manifest = tokenize_set(
        tmp_path / "long",
        tmp_path / "tokens",
        tokenizer,
        BeamOptions(),
        rules=PictureRules(),
        buckets=parse_buckets("14000,20000"),
        target_bytes=1 << 20,
    )
    assert {info.bucket for info in manifest.shards} == {"20000"}
    assert manifest.rejects == 0
    shards = ShardSet.open(tmp_path / "tokens")
    for number in range(len(shards)):
        document, _ = shards.read(number)
        assert document.meta.scores["tokens"] == shards.entries.tokens[number]
        assert document.meta.scores["patches"] == shards.entries.patches[number]
        ids = shards.read_tokens(number)
        for evidence in document.meta.evidence:
            start = evidence.answer
            assert not ids[start] >> 31, "an answer's first token is a target"
            assert ids[start - 1] >> 31, "what stands before it is none"


def test_sets_that_hold_too_little_say_so(sets, tmp_path):
    with pytest.raises(BuildError, match="too_short 3"):
        build(long_recipe(row={"tokens": 1_000_000}), sets, tmp_path / "b", BeamOptions())


@pytest.mark.parametrize(
    ("change", "error", "message"),
    [
        ({"sets": [{"name": "a", "path": "nowhere"}]}, InputError, "trivium build RECIPE"),
        ({"tokenizer": "nowhere.json"}, InputError, "trivium tokenizer train"),
        ({"sets": []}, ConfigError, "at least one set"),
        ({"row": {"tokens": 2_000_000}}, ConfigError, "1048576"),
        ({"row": {"tokens": 65536, "tasks": {"find_all": 1}}}, ConfigError, "no kind 'find_all'"),
    ],
)
def test_what_is_missing_or_wrong_is_named_before_any_work(sets, change, error, message):
    with pytest.raises(error, match=message) as caught:
        long_recipe(**change).sources[0].check(sets)
    assert caught.value.exit_code == 2


def test_licences_are_joined():
    assert joined({"MIT", "A OR B", "GPL-3.0-only", ""}) == "(A OR B) AND GPL-3.0-only AND MIT"
    assert joined({"MIT"}) == "MIT"


def test_the_shipped_recipes_are_valid():
    folder = ROOT / "recipes/corpora"
    raw = (folder / "long-context.yaml").read_text()
    assert "trivium build recipes/corpora/long-context.yaml" in raw
    with pytest.raises(InputError, match=r"web-docs.* holds no shard set"):
        load_recipe(folder / "long-context.yaml", ("sources.0.sets.0.path=/nowhere/web-docs",))


def test_a_shard_set_goes_through_more_stages(sets, tmp_path):
    raw = {
        "version": 1,
        "corpus": "long-pages",
        "domain": "knowledge",
        "sources": [{"kind": "shards", "name": "again", "path": "pages"}],
        "stages": [
            {
                "kind": "long_clean",
                "policy": [
                    {"score": "characters", "min": 6000, "reason": "short"},
                    {"score": "copied_words", "max": 0.3, "reason": "copies_inside"},
                ],
            }
        ],
    }
    manifest = build(recipe_of(raw), sets, tmp_path / "b", BeamOptions())
    before = {document.meta.source_id: document for document in documents(sets / "pages")}
    after = documents(tmp_path / "b")
    assert 0 < len(after) < len(before)
    for document in after:
        old = before[document.meta.source_id]
        assert document.id == old.id
        assert (document.meta.source, document.meta.license) == (old.meta.source, old.meta.license)
        assert document.meta.corpus == "long-pages"
        assert [step.name for step in document.meta.lineage.steps] == ["extract_html", "shards", "long_clean"]
        assert document.meta.scores["characters"] >= 6000
    assert {drop.reason for drop in read_rejects(tmp_path / "b")} == {"short"}
    assert manifest.funnel[0].input == len(before)
