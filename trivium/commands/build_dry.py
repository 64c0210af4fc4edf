"""`trivium build --dry-run`: what a build would do, estimated and printed."""

from pathlib import Path
from typing import TYPE_CHECKING, Any

from rich.box import SIMPLE
from rich.table import Table

from trivium.console import counted, emit_json, note, out, size

if TYPE_CHECKING:
    from trivium.pipelines.corpora.extent import Extent
    from trivium.pipelines.corpora.recipe import Recipe

REASONS = 3  # of a stage


def try_dry(
    config: "Recipe", here: Path, folder: Path, extent: "Extent", workers: int, verbose: bool, as_json: bool
) -> None:
    """Looks at the inputs, runs a sample of them, and prints what the build would do; writes nothing."""
    from trivium.pipelines.beam import quiet
    from trivium.pipelines.corpora.dry import survey

    with quiet(verbose):
        facts = survey(config, here, folder, extent, workers)
    emit_json(facts) if as_json else print_survey(facts, folder)


def print_survey(facts: dict[str, Any], folder: Path) -> None:
    """Inputs, jobs and estimates as tables; what could not be estimated is a question mark."""
    inputs = _table("inputs", ("files", "on disk", "items", "records", "text"))
    for source in facts["sources"]:
        inputs.add_row(
            f"{source['name']} ({source['kind']})",
            f"{source['files']:,}",
            size(source["bytes"]),
            _about(source["items"], source["at_least"]),
            _about(source["records"], source["at_least"]),
            "?" if source["text_bytes"] is None else f"{_sign(source['at_least'])}{size(source['text_bytes'])}",
        )
    out.print(inputs)
    funnel = _table("what the sample went through", ("in", "kept", "share"))
    funnel.add_column("refused, most of it", overflow="fold")
    for stage in facts["funnel"]:
        share = f"{stage['kept'] / stage['in']:.0%}" if stage["in"] else ""
        reasons = ", ".join(f"{one['reason']} {one['count']:,}" for one in stage["reasons"][:REASONS])
        funnel.add_row(stage["name"], f"{stage['in']:,}", f"{stage['kept']:,}", share, reasons)
    out.print(funnel)
    jobs = _table("jobs", ("elements in the shuffle", "bytes"))
    estimates = {shuffle["stage"]: shuffle for shuffle in facts["shuffles"]}
    for job in facts["jobs"]:
        shuffle = estimates.get(job["job"])
        least = facts["at_least"]
        elements = _about(shuffle["elements"], least) if shuffle else ""
        volume = (
            "" if shuffle is None else "?" if shuffle["bytes"] is None else f"{_sign(least)}{size(shuffle['bytes'])}"
        )
        jobs.add_row(job["job"], elements, volume)
    out.print(jobs)
    for line in _said(facts, folder):
        note(line)


def _said(facts: dict[str, Any], folder: Path) -> list[str]:
    lines = []
    if facts["seconds"] is not None:
        untimed = [] if facts["seconds"]["whole"] else facts["untimed"]
        about = "at least" if facts["at_least"] or untimed else "about"
        start = f"{_whole(facts['seconds']['start'])} of it to start {counted(facts['beam_jobs'], 'job')}"
        lines.append(f"{about} {_whole(facts['seconds']['estimate'])}, {start}; by {facts['seconds']['by']}")
        if untimed:
            lines.append(f"not in this time: {', '.join(untimed)}, which stand behind the first shuffle")
    if facts["earlier"] is not None and facts["earlier"]["jobs"]:
        lines.append(f"{folder} holds {counted(facts['earlier']['jobs'], 'job')} of an earlier run that stopped")
    if facts["nothing_left"] is not None:
        lines.append(f"all of the sample was refused, so nothing may be left. Why: {facts['nothing_left']}")
    sampled = sum(source["sampled"] for source in facts["sources"])
    if facts["at_least"]:
        lines.append("≥: items are packed in files that the sample did not read to their end, so there are more")
    if any(job["kind"] == "shuffle" for job in facts["jobs"]):
        lines.append(
            "stages behind the first shuffle look at the whole corpus, so the sample can't show what they keep"
        )
    lines.append(f"nothing was written; estimates (~) are by {counted(sampled, 'item')} of the inputs")
    return lines


def _table(title: str, numbers: tuple[str, ...]) -> Table:
    table = Table(box=SIMPLE, title=title, title_justify="left", header_style="bold")
    table.add_column("", overflow="fold")  # names that --set takes: never cut off
    for name in numbers:
        table.add_column(name, justify="right", no_wrap=True)
    return table


def _sign(at_least: bool) -> str:
    return "≥ " if at_least else "~"


def _about(count: int | None, at_least: bool) -> str:
    return "?" if count is None else f"{_sign(at_least)}{count:,}"


def _whole(seconds: float) -> str:
    """No estimate is better than to the second."""
    from trivium.pipelines.pages import duration

    return duration(max(1, round(seconds)))
