"""One recipe over every kind of text source: each item goes through its own extractor, and none is lost."""

import gzip
import json
import sys
import zipfile
from collections import Counter
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from trivium.data.config import ConfigError, from_mapping
from trivium.data.shards import ShardSet
from trivium.errors import UsageError
from trivium.pipelines.beam import BeamOptions
from trivium.pipelines.corpora.driver import build
from trivium.pipelines.corpora.extent import Extent
from trivium.pipelines.corpora.recipe import Recipe

sys.path.insert(0, str(Path(__file__).parents[2] / "data/text/pdf"))  # the maker of PDFs
from papers import pdf

PROSE = [f"This is sentence {n} of a text about the number {n * n}, and it has enough words." for n in range(400)]


def recipe(*sources: dict, stages: tuple[str, ...] = ()) -> Recipe:
    kinds = stages or (
        "extract_text",
        "extract_html",
        "extract_markdown",
        "extract_latex",
        "extract_pdf",
        "exact_dedup",
    )
    raw = {
        "version": 1,
        "corpus": "kinds",
        "domain": "knowledge",
        "sources": [{"name": source["kind"], "license": "CC0-1.0", **source} for source in sources],
        "stages": [{"kind": kind} for kind in kinds],
        "error_budget": 0.5,
    }
    return from_mapping(raw, Recipe, name="recipe")


@pytest.fixture
def inputs(tmp_path) -> Path:
    folder = tmp_path / "in"
    for name in ("text", "html", "latex", "pdf"):
        (folder / name).mkdir(parents=True)
    (folder / "text/a.txt").write_text("%\n".join(f"{line}\n" for line in PROSE[:6]))
    (folder / "text/b.txt").write_bytes(b"\0\1\2" * 100)
    (folder / "html/a.html").write_text(f"<h1>A page</h1><p>{'</p><p>'.join(PROSE[6:40])}</p>")
    with zipfile.ZipFile(folder / "md.zip", "w") as archive:
        archive.writestr("a.md", "# One\n\n" + PROSE[40])
        archive.writestr("../b.md", "# Two")
    (folder / "latex/main.tex").write_text("\\documentclass{a}\\begin{document}\\input{part} $x$\\end{document}")
    (folder / "latex/part.tex").write_text(PROSE[41])
    lines = [(72, 700 - 12 * n, 10, line) for n, line in enumerate(PROSE[42:50])]
    (folder / "pdf/a.pdf").write_bytes(pdf([lines]))
    (folder / "pdf/b.pdf").write_bytes(b"%PDF-")
    rows = [{"text": line, "n": n} for n, line in enumerate(PROSE[50:80])]
    plain = "".join(json.dumps(row) + "\n" for row in rows) + "{broken\n"
    (folder / "rows.jsonl").write_text(plain)
    (folder / "rows.jsonl.gz").write_bytes(gzip.compress(plain.encode()))
    pq.write_table(pa.Table.from_pylist(rows), folder / "rows.parquet", row_group_size=7)
    return folder


def test_every_kind_in_one_build(tmp_path, inputs):
    whole = recipe(
        {"kind": "text_folder", "path": "text", "begins": "%$", "ends_apart": True},
        {"kind": "html_folder", "path": "html"},
        {"kind": "markdown_folder", "path": "md.zip"},
        {"kind": "latex_folder", "path": "latex"},
        {"kind": "pdf_folder", "path": "pdf"},
        {"kind": "jsonl", "path": "."},
        {"kind": "parquet", "path": "rows.parquet"},
    )
    manifest = build(whole, inputs, tmp_path / "a", BeamOptions())
    by_name = {stage.name: stage for stage in manifest.funnel}
    read = by_name["read"]
    # texts 6 + 1, page 1, Markdown 2, LaTeX 2, PDF 2, rows 30 three times and two broken lines
    assert read.input == 7 + 1 + 2 + 2 + 2 + 92
    assert read.dropped == {"broken_json": 2, "part": 1, "unsafe_path": 1}
    assert by_name["extract_text"].dropped == {"not_text": 1}
    assert by_name["extract_pdf"].dropped == {"damaged": 1}
    assert by_name["exact_dedup"].dropped == {"exact_duplicate": 60}
    assert all(stage.input == stage.kept + sum(stage.dropped.values()) for stage in manifest.funnel)
    shards = ShardSet.open(tmp_path / "a")
    documents = [shards.read(index)[0] for index in range(len(shards))]
    found = Counter(document.meta.source for document in documents)
    assert found.pop("jsonl", 0) + found.pop("parquet", 0) == 30
    assert found == {"text_folder": 6, "html_folder": 1, "markdown_folder": 1, "latex_folder": 1, "pdf_folder": 1}
    texts = "\n".join(document.text for document in documents)
    assert all(line in texts.replace("\n", " ") for line in PROSE[:80])


def test_a_build_does_not_stop_where_a_source_has_no_documents_yet(tmp_path):
    """Its items would wait for an extractor that comes behind."""
    sources = ({"kind": "latex_folder", "path": "latex"}, {"kind": "pdf_folder", "path": "pdf"})
    two = recipe(*sources, stages=("extract_latex", "extract_pdf"))
    with pytest.raises(UsageError, match="--until extract_latex: what source 'pdf_folder' gives is PDF"):
        Extent(until="extract_latex").check(two, tmp_path)
    Extent(until="extract_pdf").check(two, tmp_path)


@pytest.mark.parametrize(
    ("stages", "message"),
    [
        (
            ("extract_html",),
            "stages.0.kind: extract_html takes HTML pages, and here it gets plain text files of source",
        ),
        (
            ("extract_text", "extract_html"),
            "stages.1.kind: extract_html takes HTML pages, and here it gets text documents",
        ),
        (("heuristics",), "put extract_text before it, which makes them of plain text files"),
    ],
)
def test_a_stage_that_no_source_needs_is_refused(stages, message):
    with pytest.raises(ConfigError) as caught:
        recipe({"kind": "text_folder", "path": "text"}, stages=stages)
    assert message in str(caught.value)
