"""The graphs of builds as a cluster gets them: nothing is gathered, and what few workers made is spread over all."""

from collections.abc import Callable
from pathlib import Path

import apache_beam as beam
import pytest
from apache_beam.pipeline import AppliedPTransform, PipelineVisitor
from apache_beam.runners.portability.portable_runner import PortableRunner

from trivium.pipelines.beam import BeamOptions, run_job
from trivium.pipelines.corpora.driver import build
from trivium.pipelines.corpora.linefiles import ReadLines, WriteLines
from trivium.pipelines.corpora.recipe import load_recipe

EXAMPLES = Path(__file__).parents[3] / "examples/web"
TEXT = """
version: 1
corpus: text
domain: web
sources: [{{kind: html_folder, name: faq, path: {web}, license: PSF-2.0}}]
stages:
  - {{kind: extract_html}}
  - {{kind: repeated_lines, max_source_loss: 1.0}}
  - {{kind: repeated_paragraphs, max_source_loss: 1.0}}
  - {{kind: substrings, max_source_loss: 1.0}}
  - {{kind: decontaminate, sets: [{{name: held, path: {held}}}]}}
  - {{kind: exact_dedup}}
  - {{kind: near_dedup}}
"""
CODE = """
version: 1
corpus: code
domain: code
sources: [{{kind: source_tree, name: tree, path: {tree}, whole: true, license: MIT}}]
stages:
  - {{kind: code_language, keep: [], skip: []}}
  - {{kind: code_license}}
  - {{kind: repository_license, declared: true}}
  - {{kind: repository, group: repository}}
"""
PICTURES = """
version: 1
corpus: pictures
domain: pictures
sources: [{{kind: svg_drawings, name: drawings, count: 4}}]
stages:
  - {{kind: svg_sanitize}}
  - {{kind: svg_draw, pixels: [28], draw: {{twice: false, edits: 0, bugs: 0}}}}
  - {{kind: picture_dedup}}
  - {{kind: pair_tasks}}
"""
REWRITES = """
version: 1
corpus: rewrites
domain: web
sources: [{{kind: shards, name: text, path: {whole}}}]
stages:
  - {{kind: excerpts}}
  - kind: rephrase
    styles: [textbook@1]
    backend: {{kind: fake}}
    gate: {{checks: [loops]}}
    cache: {cache}
  - {{kind: rewrite_cap}}
"""
Graph = Callable[[beam.Pipeline], None]


@pytest.fixture(scope="module")
def graphs(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Graph]:
    """The graph of every job of four builds that together have every shuffle, by the job's name."""
    folder = tmp_path_factory.mktemp("graphs")
    for page in sorted((EXAMPLES / "python/faq").glob("*.html"))[:3]:
        for copy in ("", "again-"):
            (folder / "web").mkdir(exist_ok=True)
            (folder / "web" / f"{copy}{page.name}").write_bytes(page.read_bytes() + copy.encode())
    (folder / "tree").mkdir()
    for name in ("one", "two"):
        (folder / f"tree/{name}.py").write_text(f"# SPDX-License-Identifier: MIT\nimport os\nprint({name!r})\n" * 4)
    (folder / "held.jsonl").write_text('{"text": "' + "a question that is held out of training " * 8 + '"}\n')
    found: dict[str, Graph] = {}

    def noted(name: str, graph: Graph, *rest, **more) -> dict[str, int]:
        found[name] = graph
        return run_job(name, graph, *rest, **more)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("trivium.pipelines.corpora.work.run_job", noted)
        given = {"web": folder / "web", "tree": folder / "tree", "held": folder / "held.jsonl"}
        given |= {"whole": folder / "out-text", "cache": folder / "cache"}
        for name, text in (("text", TEXT), ("rewrites", REWRITES), ("code", CODE), ("pictures", PICTURES)):
            recipe = folder / f"{name}.yaml"
            recipe.write_text(text.format_map(given))
            build(load_recipe(recipe), folder, folder / f"out-{name}", BeamOptions())
    return found


class Walk(PipelineVisitor):
    """All transforms of a pipeline, and who takes each output."""

    def __init__(self, graph: Graph) -> None:
        self.applied: list[AppliedPTransform] = []
        pipeline = beam.Pipeline(runner=PortableRunner())
        graph(pipeline)
        pipeline.visit(self)

    def enter_composite_transform(self, node: AppliedPTransform) -> None:
        self.applied.append(node)

    def visit_transform(self, node: AppliedPTransform) -> None:
        self.applied.append(node)

    def takers(self, of: AppliedPTransform) -> list[AppliedPTransform]:
        """The outermost transforms outside `of` that take its main output."""
        made = {id(value) for value in of.outputs.values()}
        inside = f"{of.full_label}/"
        takers = [one for one in self.applied if one is not of and made & {id(value) for value in one.inputs}]
        takers = [one for one in takers if not one.full_label.startswith(inside)]
        return [one for one in takers if not any(one.full_label.startswith(f"{up.full_label}/") for up in takers)]


def does(node: AppliedPTransform) -> str:
    """The name of the DoFn of a ParDo, else of the transform."""
    return type(getattr(node.transform, "fn", node.transform)).__name__


def test_the_builds_have_every_shuffle(graphs):
    from trivium.pipelines.corpora.shuffles import RUNS

    names = {kind.__struct_config__.tag for kind in RUNS}
    assert {name for name in names if any(job.partition(":")[0] == name for job in graphs)} == names


def test_no_job_gathers_a_collection_in_one_worker(graphs):
    """A side input, or a combination without keys, would; shuffles are grouped by keys of many values."""
    for name, graph in graphs.items():
        walk = Walk(graph)
        for node in walk.applied:
            assert not node.side_inputs, f"{name}: {node.full_label} takes a whole collection into each worker"
            assert not isinstance(node.transform, beam.CombineGlobally), f"{name}: {node.full_label}"
            assert does(node) != "WithKeys", f"{name}: {node.full_label} may give one key to everything"


def test_what_few_workers_make_is_spread_over_all(graphs):
    """Behind each list of files, each reader of files and each step that makes many of one stands a shuffle."""
    few = {"Create", ReadLines.__name__, "SplitPlaces", "Order"}
    seen = set()
    for name, graph in graphs.items():
        walk = Walk(graph)
        for node in walk.applied:
            if does(node) not in few or (does(node) == "Create" and "/" in node.full_label):
                continue
            seen.add(does(node))
            main = [taker for taker in walk.takers(node) if "_drops" not in taker.full_label]
            taken = {does(taker) for taker in main} - {WriteLines.__name__, "Flatten", "_ExtractOutputs"}
            assert taken, f"{name}: nobody takes {node.full_label}"
            assert taken <= {"Reshuffle", "GroupByKey"}, f"{name}: {node.full_label} goes to {taken}"
    assert seen == few
