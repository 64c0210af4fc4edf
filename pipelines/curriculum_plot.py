"""A plan drawn: context, batch, learning rate and mixture over the tokens of the run."""

import base64
import html
import io
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING

from trivium.curriculum import Plan
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


def write_plot(plan: Plan, path: Path, *, title: str) -> None:
    """Writes a PNG, an SVG, or one self-contained HTML page, by the suffix of `path`.

    Raises UsageError for another suffix, MissingDependencyError without matplotlib.
    """
    if path.suffix.lower() not in KINDS:
        raise UsageError(f"--out {path}: {path.suffix or 'no suffix'} can't be written; use {', '.join(KINDS)}")
    facts = report(plan)
    figure = draw(plan, facts, title)
    path.parent.mkdir(parents=True, exist_ok=True)
    buffer = io.BytesIO()
    figure.savefig(buffer, format="svg" if path.suffix.lower() == ".svg" else "png", dpi=120)
    raw = buffer.getvalue()
    path.write_bytes(_page(raw, facts, title).encode() if path.suffix.lower() == ".html" else raw)


def draw(plan: Plan, facts: Report, title: str) -> "Figure":
    """The four panels: context, batch, learning rate, mixture. A stage much shorter than the others is drawn wider.

    Stages get a width by the cube root of their tokens, so that short long-context stages can be seen; the axis names
    the tokens at their borders.
    """
    try:
        from matplotlib.figure import Figure
    except ImportError:
        raise MissingDependencyError(f"matplotlib is missing, and plots need it; run: {cure('train')}") from None
    figure = Figure(figsize=(11, 9), layout="constrained")
    figure.suptitle(f"{title}: {facts.steps:,} steps, {_amount(facts.tokens)} tokens")
    panels = figure.subplots(4, 1, sharex=True, height_ratios=(1, 1, 1, 1.5))
    borders = [0.0]
    for stage in facts.stages:
        borders.append(borders[-1] + stage.tokens ** (1 / 3))
    spans = [(a / borders[-1], b / borders[-1]) for a, b in pairwise(borders)]
    _draw_context(panels[0], facts, spans)
    _draw_curves(panels[1], panels[2], plan, spans)
    _draw_mixture(panels[3], facts, spans)
    done, ticks = 0, [(0.0, "0")]
    for stage, (_, stop) in zip(facts.stages, spans, strict=True):
        done += stage.tokens
        ticks.append((stop, _amount(done)))
    for axes in panels:
        axes.set_xlim(0, 1)
        axes.grid(alpha=0.25, axis="y")
        for start, _ in spans[1:]:
            axes.axvline(start, color="0.4", linewidth=0.8, linestyle=":")
    panels[3].set_xticks([place for place, _ in ticks], [label for _, label in ticks])
    panels[3].set_xlabel("tokens read (a stage's width goes by the cube root of its tokens)")
    return figure


def _draw_context(axes: "Axes", facts: Report, spans: list[tuple[float, float]]) -> None:
    contexts = [stage.context for stage in facts.stages]
    for number, (stage, ends) in enumerate(zip(facts.stages, spans, strict=True)):
        colour = COLOURS[number % len(COLOURS)]
        axes.fill_between(ends, 1, stage.context, color=colour, alpha=0.35)
        axes.plot(ends, [stage.context] * 2, color=colour, linewidth=2)
        axes.text(sum(ends) / 2, stage.context * 1.15, f"{stage.name}\n{stage.steps:,} steps", ha="center", fontsize=9)
    axes.set_yscale("log", base=2)
    axes.set_ylim(min(contexts) / 2, 8 * max(contexts))
    axes.set_yticks(sorted(set(contexts)), [f"{context:,}" for context in sorted(set(contexts))])
    axes.minorticks_off()
    axes.set_ylabel("context (tokens)")


def _draw_curves(batch: "Axes", rate: "Axes", plan: Plan, spans: list[tuple[float, float]]) -> None:
    """Tokens a step and the learning rate, at up to `POINTS` steps of each stage."""
    for stage, (start, stop) in zip(plan.stages, spans, strict=True):
        steps = sorted({i * (stage.steps - 1) // max(1, POINTS - 1) for i in range(POINTS)})
        places = [start + (stop - start) * stage.clock.before(step) / stage.tokens for step in steps]
        ends = [*places, stop]
        sizes = [stage.clock.batch_of(step) for step in steps]
        batch.plot(ends, [*sizes, sizes[-1]], color=COLOURS[0])
        rates = [plan.lr(stage.first_step + step) for step in steps]
        rate.plot(ends, [*rates, rates[-1]], color=COLOURS[1])
    batch.set_ylim(bottom=0)
    batch.yaxis.set_major_formatter(lambda value, _: _amount(value))
    batch.set_ylabel("batch (tokens a step)")
    rate.set_ylim(bottom=0)
    rate.set_ylabel("learning rate")


def _draw_mixture(axes: "Axes", facts: Report, spans: list[tuple[float, float]]) -> None:
    """Shares of tokens by corpus, as bands with the share of picture tokens written above."""
    for stage, ends in zip(facts.stages, spans, strict=True):
        bottom = 0.0
        for number, corpus in enumerate(facts.corpora):
            share = stage.mixture[corpus].wanted if corpus in stage.mixture else 0.0
            label = f"{corpus}, {facts.corpora[corpus].epochs:.2f} epochs" if stage is facts.stages[0] else None
            colour = COLOURS[number % len(COLOURS)]
            axes.fill_between(ends, bottom, bottom + share, color=colour, linewidth=0, label=label)
            bottom += share
        if stage.vision:
            axes.text(sum(ends) / 2, 1.02, f"pictures\n{stage.vision:.1%}", ha="center", fontsize=8)
    axes.set_ylim(0, 1.25)
    axes.set_yticks([0, 0.25, 0.5, 0.75, 1.0], ["0", "25 %", "50 %", "75 %", "100 %"])
    axes.set_ylabel("share of tokens")
    axes.legend(loc="upper center", bbox_to_anchor=(0.5, -0.22), fontsize=8, ncols=min(4, len(facts.corpora)))


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


def _page(png: bytes, facts: Report, title: str) -> str:
    """One HTML page: the figure and the table of stages."""
    head = ("stage", "context", "steps", "tokens", "tokens a step", "rows a step")
    head += ("fill", "vision", "documents", "cut", "skipped")
    table = "".join(f"<th>{name}</th>" for name in head)
    for stage in facts.stages:
        table += "<tr>" + "".join(f"<td>{html.escape(cell)}</td>" for cell in _cells(stage)) + "</tr>"
    said = (*facts.shortfalls, *facts.warnings, *facts.notes)
    remarks = "".join(f"<li>{html.escape(remark)}</li>" for remark in said)
    image = base64.b64encode(png).decode()
    return (
        f"<!doctype html><html lang=en><meta charset=utf-8><title>{html.escape(title)}</title>"
        "<style>body{font:14px sans-serif;margin:2em auto;max-width:70em}img{width:100%}"
        "td,th{padding:.2em .8em;text-align:right}th{border-bottom:1px solid}</style>"
        f"<h1>{html.escape(title)}</h1><img alt='the curriculum over its tokens' src='data:image/png;base64,{image}'>"
        f"<table>{table}</table><ul>{remarks}</ul></html>\n"
    )
