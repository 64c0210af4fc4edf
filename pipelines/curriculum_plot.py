"""A schedule or a plan drawn: context, batch, learning rate and mixture over the tokens of the run."""

import base64
import html
import io
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING

from trivium.console import counted
from trivium.curriculum import Plan, Schedule
from trivium.curriculum.clock import Clock
from trivium.curriculum.learning_rate import learning_rate
from trivium.curriculum.report import Report, StageReport, report
from trivium.errors import MissingDependencyError, UsageError
from trivium.needs import cure

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

KINDS = (".png", ".svg", ".html")
POINTS = 400  # of a curve, a stage
# Tol's bright scheme, which the colour-blind tell apart, then its muted one for mixtures of more corpora.
COLOURS = ("#4477aa", "#ee6677", "#228833", "#ccbb44", "#66ccee", "#aa3377", "#bbbbbb", "#882255", "#44aa99", "#999933")
_UNITS = ((1e12, "T"), (1e9, "G"), (1e6, "M"), (1e3, "k"))


def check_target(path: Path) -> None:
    """Raises UsageError where `path` has a suffix that can't be written."""
    if path.suffix.lower() not in KINDS:
        raise UsageError(f"--out {path}: {path.suffix or 'no suffix'} can't be written; use {', '.join(KINDS)}")


def write_plot(drawn: Plan | Schedule, path: Path, *, title: str) -> Path | None:
    """Writes a PNG, an SVG, or one self-contained HTML page, by the suffix of `path`; returns a folder made for it.

    Raises UsageError for another suffix, MissingDependencyError without matplotlib.
    """
    check_target(path)
    facts = report(drawn) if isinstance(drawn, Plan) else None
    page = path.suffix.lower() == ".html"
    title = f"{title}: {_run(drawn)}"
    figure = draw(drawn, facts, "" if page else title)  # a page has its title as text
    made = None if path.parent.is_dir() else path.parent
    path.parent.mkdir(parents=True, exist_ok=True)
    buffer = io.BytesIO()
    figure.savefig(buffer, format="svg" if path.suffix.lower() == ".svg" else "png", dpi=120)
    raw = buffer.getvalue()
    path.write_bytes(_page(raw, facts, title).encode() if page else raw)
    return made


def _run(drawn: Plan | Schedule) -> str:
    """`233,119 steps, 15.4T tokens`."""
    clocks = [Clock.of(stage) for stage in (drawn if isinstance(drawn, Schedule) else drawn.schedule).stages]
    steps, tokens = sum(clock.steps for clock in clocks), sum(clock.tokens for clock in clocks)
    return f"{counted(steps, 'step')}, {_amount(tokens)} tokens"


def draw(drawn: Plan | Schedule, facts: Report | None, title: str) -> "Figure":
    """The four panels: context, batch, learning rate, mixture. A stage much shorter than the others is drawn wider.

    Stages get a width by the cube root of their tokens, so that short long-context stages can be seen; the axis names
    the tokens at their borders. Without `facts` the mixture is the schedule's.
    """
    try:
        from matplotlib.figure import Figure
    except ImportError:
        raise MissingDependencyError(f"matplotlib is missing, and plots need it; run: {cure('train')}") from None
    schedule = drawn if isinstance(drawn, Schedule) else drawn.schedule
    clocks = [Clock.of(stage) for stage in schedule.stages]
    figure = Figure(figsize=(11, 9), layout="constrained")
    if title:
        figure.suptitle(title)
    panels = figure.subplots(4, 1, sharex=True, height_ratios=(1, 1, 1, 1.5))
    borders = [0.0]
    for clock in clocks:
        borders.append(borders[-1] + clock.tokens ** (1 / 3))
    spans = [(a / borders[-1], b / borders[-1]) for a, b in pairwise(borders)]
    _draw_context(panels[0], schedule, clocks, spans)
    _draw_curves(panels[1], panels[2], schedule, clocks, spans)
    _draw_mixture(panels[3], schedule, facts, spans)
    done, ticks = 0, [(0.0, "0")]
    for clock, (_, stop) in zip(clocks, spans, strict=True):
        done += clock.tokens
        ticks.append((stop, _amount(done)))
    for axes in panels:
        axes.set_xlim(0, 1)
        axes.grid(alpha=0.25, axis="y")
        for start, _ in spans[1:]:
            axes.axvline(start, color="0.4", linewidth=0.8, linestyle=":")
    panels[3].set_xticks([place for place, _ in ticks], [label for _, label in ticks])
    panels[3].set_xlabel("tokens read (a stage's width goes by the cube root of its tokens)")
    return figure


def _draw_context(axes: "Axes", schedule: Schedule, clocks: list[Clock], spans: list[tuple[float, float]]) -> None:
    contexts = [stage.context for stage in schedule.stages]
    for number, (stage, clock, ends) in enumerate(zip(schedule.stages, clocks, spans, strict=True)):
        colour = COLOURS[number % len(COLOURS)]
        label = f"{stage.name}\n{counted(clock.steps, 'step')}"
        axes.fill_between(ends, 1, stage.context, color=colour, alpha=0.35)
        axes.plot(ends, [stage.context] * 2, color=colour, linewidth=2)
        axes.text(sum(ends) / 2, stage.context * 1.15, label, ha="center", fontsize=9)
    axes.set_yscale("log", base=2)
    axes.set_ylim(min(contexts) / 2, 8 * max(contexts))
    axes.set_yticks(sorted(set(contexts)), [f"{context:,}" for context in sorted(set(contexts))])
    axes.minorticks_off()
    axes.set_ylabel("context (tokens)")


def _draw_curves(
    batch: "Axes", rate: "Axes", schedule: Schedule, clocks: list[Clock], spans: list[tuple[float, float]]
) -> None:
    """Tokens a step and the learning rate, at up to `POINTS` steps of each stage."""
    first, all_steps = 0, sum(clock.steps for clock in clocks)
    for clock, (start, stop) in zip(clocks, spans, strict=True):
        steps = sorted({i * (clock.steps - 1) // max(1, POINTS - 1) for i in range(POINTS)})
        places = [start + (stop - start) * clock.before(step) / clock.tokens for step in steps]
        ends = [*places, stop]
        sizes = [clock.batch_of(step) for step in steps]
        batch.plot(ends, [*sizes, sizes[-1]], color=COLOURS[0])
        rates = [learning_rate(first + step, all_steps, schedule.lr) for step in steps]
        rate.plot(ends, [*rates, rates[-1]], color=COLOURS[1])
        first += clock.steps
    batch.set_ylim(0, 1.12 * max(clock.batch_of(clock.steps - 1) for clock in clocks))  # off the frame
    batch.yaxis.set_major_formatter(lambda value, _: _amount(value))
    batch.set_ylabel("batch (tokens a step)")
    rate.set_ylim(bottom=0)
    rate.set_ylabel("learning rate")


def _draw_mixture(axes: "Axes", schedule: Schedule, facts: Report | None, spans: list[tuple[float, float]]) -> None:
    """Shares of tokens by corpus, as bands with the share of picture tokens written above."""
    for place, (stage, ends) in enumerate(zip(schedule.stages, spans, strict=True)):
        bottom, shares, vision = 0.0, stage.shares, stage.vision
        if facts is not None:
            shares = {name: one.wanted for name, one in facts.stages[place].mixture.items()}
            vision = facts.stages[place].vision
        for number, corpus in enumerate(schedule.corpora):
            share = shares.get(corpus, 0.0)
            label = corpus if facts is None else f"{corpus}, {facts.corpora[corpus].epochs:.2f} epochs"
            colour = COLOURS[number % len(COLOURS)]
            axes.fill_between(ends, bottom, bottom + share, color=colour, linewidth=0, label=None if place else label)
            bottom += share
        if vision:
            axes.text(sum(ends) / 2, 1.02, f"pictures\n{vision:.1%}", ha="center", fontsize=8)
    axes.set_ylim(0, 1)
    axes.set_yticks([0, 0.25, 0.5, 0.75, 1.0], ["0", "25 %", "50 %", "75 %", "100 %"])
    moved = facts is None and any(stage.vision is not None for stage in schedule.stages)
    axes.set_ylabel("share of tokens" + (", before\nvision moves it" if moved else ""))
    axes.legend(loc="upper center", bbox_to_anchor=(0.5, -0.22), fontsize=8, ncols=min(4, len(schedule.corpora)))


def _amount(tokens: float) -> str:
    """`14T`, `300G`, `901`."""
    size, unit = next(((size, unit) for size, unit in _UNITS if tokens >= size), (1.0, ""))
    return f"{tokens / size:.4g}{unit}"


def _cells(stage: StageReport) -> tuple[str, ...]:
    return (
        stage.name,
        f"{stage.context:,}",
        f"{stage.steps:,}",
        f"{stage.tokens:,}",
        f"{stage.batch[0]:,} to {stage.batch[1]:,}",
        f"{stage.rows:,}",
        f"{stage.fill:.1%}",
        f"{stage.vision:.1%}",
        f"{stage.documents:,}",
        f"{stage.cut:,}",
        f"{sum(stage.skipped.values()):,}",
    )


def _page(png: bytes, facts: Report | None, title: str) -> str:
    """One HTML page: the figure and, where corpora are known, the table of stages."""
    head = ("stage", "context", "steps", "tokens", "tokens a step", "rows a step")
    head += ("fill", "vision", "documents", "cut", "skipped")
    table = "".join(f"<th>{name}</th>" for name in head) if facts else ""
    for stage in facts.stages if facts else ():
        table += "<tr>" + "".join(f"<td>{html.escape(cell)}</td>" for cell in _cells(stage)) + "</tr>"
    said = (*facts.shortfalls, *facts.warnings, *facts.notes) if facts else ()
    remarks = "".join(f"<li>{html.escape(remark)}</li>" for remark in said)
    image = base64.b64encode(png).decode()
    return (
        f"<!doctype html><html lang=en><meta charset=utf-8><title>{html.escape(title)}</title>"
        "<meta name=viewport content='width=device-width'>"
        "<style>body{font:14px sans-serif;margin:2em auto;max-width:70em;padding:0 1em}h1{font-size:1.5em}"
        "div{overflow-x:auto}img{width:100%;min-width:900px}"  # a narrow screen scrolls; it does not shrink the letters
        "td,th{padding:.2em .8em;text-align:right}th{border-bottom:1px solid}</style>"
        f"<h1>{html.escape(title)}</h1>"
        f"<div><img alt='the curriculum over its tokens' src='data:image/png;base64,{image}'></div>"
        f"<div><table>{table}</table></div><ul>{remarks}</ul></html>\n"
    )
