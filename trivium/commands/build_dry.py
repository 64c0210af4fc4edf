"""How `trivium build --dry-run` prints what a build would do."""

from pathlib import Path
from typing import Any

from rich.box import SIMPLE
from rich.table import Table

from trivium.console import counted, note, out, size


def print_survey(facts: dict[str, Any], folder: Path) -> None:
    """Inputs, jobs and estimates as tables; what could not be estimated is a question mark."""
    inputs = _table("inputs", ("files", "on disk", "items", "records", "text"))
    for source in facts["sources"]:
        inputs.add_row(
            f"{source['name']} ({source['kind']})",
            f"{source['files']:,}",
            size(source["bytes"]),
            _about(source["items"]),
            _about(source["records"]),
            "?" if source["text_bytes"] is None else f"~{size(source['text_bytes'])}",
        )
    out.print(inputs)
    jobs = _table("jobs", ("elements in the shuffle", "bytes"))
    estimates = {shuffle["stage"]: shuffle for shuffle in facts["shuffles"]}
    for job in facts["jobs"]:
        shuffle = estimates.get(job["job"])
        elements = _about(shuffle["elements"]) if shuffle else ""
        volume = "" if shuffle is None else "?" if shuffle["bytes"] is None else f"~{size(shuffle['bytes'])}"
        jobs.add_row(job["job"], elements, volume)
    out.print(jobs)
    for line in _said(facts, folder):
        note(line)


def _said(facts: dict[str, Any], folder: Path) -> list[str]:
    lines = []
    if facts["seconds"] is not None:
        lines.append(f"about {_duration(facts['seconds']['estimate'])}, by {facts['seconds']['by']}")
    if facts["earlier"] is not None and facts["earlier"]["jobs"]:
        lines.append(f"{folder} holds {counted(facts['earlier']['jobs'], 'job')} of an earlier run that stopped")
    sampled = sum(source["sampled"] for source in facts["sources"])
    lines.append(f"nothing was written; estimates (~) are by {counted(sampled, 'item')} of the inputs")
    return lines


def _table(title: str, numbers: tuple[str, ...]) -> Table:
    table = Table(box=SIMPLE, title=title, title_justify="left", header_style="bold")
    table.add_column("")
    for name in numbers:
        table.add_column(name, justify="right", no_wrap=True)
    return table


def _about(count: int | None) -> str:
    return "?" if count is None else f"~{count:,}"


def _duration(seconds: float) -> str:
    from trivium.pipelines.pages import duration

    return duration(seconds)
