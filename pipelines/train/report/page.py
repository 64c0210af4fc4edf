"""Writes `report.json` and `report.html` from a run's metrics.

Odd: the page is made of the metrics file alone, so a later start can always write it again.
"""

import importlib.util
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import msgspec

from trivium.pipelines.pages import policy, templates
from trivium.pipelines.train.folder import RunFolder, write_atomically
from trivium.pipelines.train.loading.skipped import read_skipped
from trivium.pipelines.train.metrics import read_metrics
from trivium.pipelines.train.report.charts import Chart
from trivium.pipelines.train.report.facts import left_out, summarize
from trivium.pipelines.train.report.figures import figures


def write_report(folder: RunFolder, run: dict[str, Any], note: Callable[[str], None]) -> dict[str, Any]:
    """Writes both files and returns the facts; `note` hears one line when jinja2 is absent and no page is made."""
    lines = read_metrics(folder.metrics)
    facts = summarize(
        lines, {**run, "left_out": left_out(read_skipped(folder.skipped), lines, run.get("documents", 0))}
    )
    write_atomically(folder.report_json, msgspec.json.format(msgspec.json.encode(facts), indent=2).decode() + "\n")
    if importlib.util.find_spec("jinja2") is None:
        note("report.html was left out: jinja2 is not installed (pip install jinja2); report.json holds the figures")
        return facts
    write_atomically(folder.report_html, render(folder.root.name, facts, lines))
    return facts


def render(name: str, facts: dict[str, Any], lines: Sequence[dict[str, Any]]) -> str:
    """The page as text; everything it needs is inside it."""
    drawn: list[Chart] = [chart for chart in figures(facts, lines) if not chart.empty]
    folder = Path(__file__).parent
    script = (folder / "page.js").read_text(encoding="utf-8")
    config = msgspec.json.format(msgspec.json.encode(facts["config"]), indent=2).decode()
    return (
        templates(folder)
        .get_template("page.html.j2")
        .render(
            name=name,
            facts=facts,
            charts=drawn,
            data=[chart.data() for chart in drawn],
            parts=_parts(facts["time"]),
            config=config,
            script=script,
            policy=policy([script]),
        )
    )


def _parts(time: dict[str, float]) -> list[dict[str, Any]]:
    total = sum(time.values()) or 1.0
    names = {
        "data": "waiting for data",
        "forward_backward": "forward and backward",
        "optimizer": "optimizer",
        "eval": "held-out evaluation",
        "checkpoint": "checkpoints",
        "other": "the rest",
    }
    return [
        {"name": names[part], "seconds": seconds, "share": seconds / total, "style": f"s{index + 1}"}
        for index, (part, seconds) in enumerate(time.items())
    ]
