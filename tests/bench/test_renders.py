"""The table of renders reads what a build wrote; where none did, it says so."""

import json
import subprocess
import sys
from pathlib import Path

import pytest
from typer.testing import CliRunner

from trivium.cli import app
from trivium.data.shards import ShardSet, place

ROOT = Path(__file__).resolve().parents[2]
pytest.importorskip("cairosvg")


RECIPE = """
version: 1
corpus: drawn
domain: visual-coding
sources:
  - {kind: svg_generated, name: drawings, license: CC0-1.0, count: 6, seed: 1, kinds: {bars: 1, clocks: 1, graphs: 1}}
stages:
  - {kind: svg_sanitize, policy: {text: true}}
  - {kind: svg_draw, pixels: [112], worded: [224]}
  - {kind: pair_tasks, shares: {picture_to_code: 1.0, questions: 1.0}}
"""


def renders(*arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, str(ROOT / "bench/renders.py"), *arguments]
    return subprocess.run(command, capture_output=True, text=True, timeout=120, cwd=ROOT)


def test_pictures_are_counted_once_and_shares_are_of_all_jobs(tmp_path):
    (tmp_path / "recipe.yaml").write_text(RECIPE)
    built = tmp_path / "set"
    done = CliRunner().invoke(app, ["build", str(tmp_path / "recipe.yaml"), "--out", str(built)])
    assert done.exit_code == 0, done.output
    page = (built / "report" / "index.html").read_text()
    assert "from 6 of 6 items read" in page, "no share of documents in items: one item makes several"
    (row,) = json.loads(renders(str(built), "--json").stdout)
    report = json.loads((built / "report" / "report.json").read_bytes())
    assert row["items"] == 6
    assert row["records"] == report["totals"]["records"]
    shards = ShardSet.open(place(str(built)))
    held = [shards.read(number) for number in range(len(shards.entries))]
    shown = {media[drawn.media] for document, media in held for drawn in document.meta.drawn}
    assert len(shown) < sum(len(document.meta.drawn) for document, _ in held), "records of one item share its picture"
    assert row["pictures"] == {"svg": len(shown)}
    assert abs(sum(row["shares"].values()) - 1) < 1e-9
    cpu = sum(job["cpu_seconds"] for job in report["run"]["jobs"] if "draw" in job["label"])
    assert row["renders_per_cpu_second"] == pytest.approx(2 * row["pictures"]["svg"] / cpu)
    table = renders(str(built))
    assert table.returncode == 0, table.stderr
    assert "drawn" in table.stdout


def test_no_rate_where_children_that_did_the_work_do_not_tell_their_time(monkeypatch):
    monkeypatch.syspath_prepend(str(ROOT / "bench"))
    from renders import rate

    assert rate(1000, 60.0, 2664.0) is None
    assert rate(1000, 500.0, 1000.0) == 4.0


def test_a_folder_without_a_report_is_named(tmp_path):
    done = renders(str(tmp_path))
    assert done.returncode == 1
    assert f"{tmp_path}: no report of a build" in done.stderr
