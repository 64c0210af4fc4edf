"""Writes `report/index.html` and `report/report.json`: one page that needs nothing but itself, and the same facts.

Odd: excerpts are foreign and may be hostile. Everything is escaped by the template, what a terminal or a line of text
would obey is written out, and the page's content policy lets no script run at all: it has none of its own.
"""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import msgspec

from trivium.console import printable, size
from trivium.data.shards.storage import write_whole
from trivium.data.yaml_text import write_yaml
from trivium.pipelines.corpora.output import REPORT
from trivium.pipelines.corpora.report.charts import Limits, histogram
from trivium.pipelines.corpora.report.facts import MOST
from trivium.pipelines.corpora.report.histogram import Bars
from trivium.pipelines.corpora.report.meter import MADE, WRITTEN
from trivium.pipelines.pages import policy, short, templates

PAGE, FACTS = "index.html", "report.json"
LANGUAGES, SIZES, CHARTS, EXAMPLES, BALANCE = 40, 30, 60, 3, 24  # shown on the page; report.json has all


def write_report(folder: Path, facts: dict[str, Any]) -> Path:
    """Writes both files below `folder`/report and returns the page's path."""
    target = folder / REPORT
    target.mkdir(parents=True, exist_ok=True)
    write_whole(target / FACTS, msgspec.json.format(msgspec.json.encode(facts), indent=2) + b"\n")
    beside = sorted(path for path in target.glob("*.json") if path.name != FACTS)
    held = [found for found in map(_held_out, beside) if found is not None]
    told = {one["stage"] for one in held}
    page = render(facts, [path.name for path in beside if path.stem not in told], held)
    write_whole(target / PAGE, page.encode("utf-8", "replace"))
    return target / PAGE


def _held_out(path: Path) -> dict[str, Any] | None:
    """What a stage of decontamination found, with a few examples of each set; None for the report of another stage."""
    facts = msgspec.json.decode(path.read_bytes())
    if facts.get("kind") != "decontaminate":
        return None
    sets = [{**one, "found": [_shown(found) for found in one["found"][:EXAMPLES]]} for one in facts["sets"]]
    done = "cut" if facts["parameters"]["action"] == "cut" else "refused"
    return {**facts, "stage": path.stem, "done": done, "ngram": facts["parameters"]["ngram"], "sets": sets}


def _shown(found: dict[str, Any]) -> dict[str, Any]:
    return {name: printable(value[:MOST]) if isinstance(value, str) else value for name, value in found.items()}


def render(facts: dict[str, Any], beside: Sequence[str] = (), held: Sequence[dict[str, Any]] = ()) -> str:
    """The page as text; `beside`: reports of stages that look inside texts, in the same folder; `held`: what stages of
    decontamination found."""
    environment = templates(Path(__file__).parent)
    environment.filters |= {"size": lambda count: "–" if count is None else size(count), "bar": _bar}
    return environment.get_template("page.html.j2").render(
        facts=facts,
        beside=beside,
        held=held,
        policy=policy([]),
        charts=_charts(facts),
        same=_same(facts),
        resolved=write_yaml(facts["resolved"]),
        languages=LANGUAGES,
        sizes=SIZES,
        balance=BALANCE,
    )


def _bar(percent: float) -> str:
    return f"{min(100.0, percent):.3f}"


def _charts(facts: dict[str, Any]) -> list[dict[str, str]]:
    found = []
    for unit, drawn in facts["lengths"].items():
        if drawn is not None and len(drawn["edges"]) > 2:
            note = "of each text as it was made, and as it was written"
            svg = histogram(f"length in {unit}", _bars(drawn), ((MADE, "made"), (WRITTEN, "written")))
            found.append({"title": f"length in {unit}", "note": note, "svg": svg})
    drawn_scores = [score for score in facts["scores"] if len(score["edges"]) > 2]
    for score in sorted(drawn_scores, key=lambda score: not score["limits"])[:CHARTS]:
        limits = _limits(score["limits"])
        svg = histogram(score["score"], _bars(score), (("measured", "made"), (WRITTEN, "written")), limits)
        found.append({"title": score["score"], "note": _said(score), "svg": svg})
    return found


def _same(facts: dict[str, Any]) -> list[dict[str, Any]]:
    """Lengths and scores that are the same of every text."""
    lengths = [
        {
            "score": f"length in {unit}",
            "value": short(drawn["edges"][0]),
            "texts": sum(drawn["counts"].get(MADE, ())),
            "note": MADE,
        }
        for unit, drawn in facts["lengths"].items()
        if drawn is not None and len(drawn["edges"]) == 2
    ]
    return lengths + [
        {
            "score": score["score"],
            "value": short(score["edges"][0]),
            "texts": sum(score["counts"].get("measured", ())),
            "note": _said(score),
        }
        for score in facts["scores"]
        if len(score["edges"]) == 2
    ]


def _bars(drawn: dict[str, Any]) -> Bars:
    return Bars(tuple(drawn["edges"]), {name: tuple(counts) for name, counts in drawn["counts"].items()}, drawn["log"])


def _limits(limits: list[dict[str, Any]]) -> Limits:
    """The narrowest of several limits on one score."""
    lows = [limit["min"] for limit in limits if limit["min"] is not None]
    highs = [limit["max"] for limit in limits if limit["max"] is not None]
    return Limits(max(lows, default=None), min(highs, default=None))


def _said(score: dict[str, Any]) -> str:
    """`heuristics: at least 50, at most 100k, else word_count`."""
    parts = []
    for limit in score["limits"]:
        bounds = [f"at least {short(limit['min'])}"] if limit["min"] is not None else []
        bounds += [f"at most {short(limit['max'])}"] if limit["max"] is not None else []
        bounds += [f"else {limit['reason']}"] if limit["reason"] else []
        parts.append(", ".join(bounds))
    return f"{score['stage']}: {'; '.join(parts) or 'no limit'}"
