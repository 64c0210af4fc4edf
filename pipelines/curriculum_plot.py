"""A plan drawn: context and mixture of the stages, learning rate and row fill, over the steps of the run."""

import base64
import html
import io
from pathlib import Path
from typing import TYPE_CHECKING

from trivium.curriculum import Plan
from trivium.curriculum.report import Report, report
from trivium.errors import MissingDependencyError, UsageError

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

KINDS = (".png", ".svg", ".html")
COLOURS = (
    "#4477aa",
    "#ee6677",
    "#228833",
    "#ccbb44",
    "#66ccee",
    "#aa3377",
    "#bbbbbb",
)  # Tol's bright, colour-blind safe


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
    figure.savefig(buffer, format="svg" if path.suffix == ".svg" else "png", dpi=120)
    raw = buffer.getvalue()
    path.write_bytes(_page(raw, facts, title).encode() if path.suffix.lower() == ".html" else raw)


def draw(plan: Plan, facts: Report, title: str) -> "Figure":
    """The four panels: context, mixture (tokens got), learning rate, row fill by window."""
    try:
        from matplotlib.figure import Figure
    except ImportError:
        raise MissingDependencyError(
            "matplotlib is missing, and plots need it; install it with `pip install 'trivium[train]'`"
        ) from None
    figure = Figure(figsize=(11, 9), layout="constrained")
    figure.suptitle(f"{title}: {facts.steps} steps, {facts.tokens:,} tokens")
    context, mixture, rate, fill = figure.subplots(4, 1, sharex=True)
    _draw_context(context, facts)
    _draw_mixture(mixture, facts)
    steps = range(plan.steps)
    rate.plot(steps, [plan.lr(step) for step in steps], color=COLOURS[0])
    rate.set_ylim(bottom=0)
    rate.set_ylabel("learning rate")
    _draw_fill(fill, plan, facts)
    fill.set_xlabel("step")
    for axes in (context, mixture, rate, fill):
        axes.set_xlim(0, facts.steps)
        axes.grid(alpha=0.25)
        for stage in facts.stages[1:]:
            axes.axvline(stage.first_step, color="0.4", linewidth=0.8, linestyle=":")
    return figure


def _draw_context(axes: "Axes", facts: Report) -> None:
    contexts = [stage.context for stage in facts.stages]
    for number, stage in enumerate(facts.stages):
        ends = (stage.first_step, stage.first_step + stage.steps)
        colour = COLOURS[number % len(COLOURS)]
        name = f"{stage.name}: {stage.steps} steps of {stage.rows_a_step} × {stage.context:,} tokens, {stage.tokens:,}"
        axes.fill_between(ends, 1, stage.context, color=colour, alpha=0.35, label=name)
        axes.plot(ends, [stage.context] * 2, color=colour, linewidth=2)
    axes.set_yscale("log", base=2)
    axes.set_ylim(min(contexts) / 2, 2 * max(contexts))
    axes.set_yticks(contexts, [f"{context:,}" for context in contexts])
    axes.minorticks_off()
    axes.set_ylabel("context (tokens)")
    axes.legend(loc="upper left", fontsize=8)  # contexts ascend, so this corner is free


def _draw_mixture(axes: "Axes", facts: Report) -> None:
    for stage in facts.stages:
        bottom = 0.0
        for number, corpus in enumerate(facts.corpora):
            share = stage.mixture[corpus].got if corpus in stage.mixture else 0.0
            axes.fill_between(
                (stage.first_step, stage.first_step + stage.steps),
                bottom,
                bottom + share,
                color=COLOURS[number % len(COLOURS)],
                linewidth=0,
                label=f"{corpus} ({facts.corpora[corpus].epochs:.2f} epochs)" if stage is facts.stages[0] else None,
            )
            bottom += share
    axes.set_ylim(0, 1)
    axes.set_ylabel("share of tokens")
    axes.legend(loc="lower left", fontsize=8)


def _draw_fill(axes: "Axes", plan: Plan, facts: Report) -> None:
    lowest = 1.0
    for number, (stage, counted) in enumerate(zip(facts.stages, plan.stages, strict=True)):
        edges, fills = [float(stage.first_step)], []
        for rows, tokens in counted.windows:
            edges.append(edges[-1] + rows / stage.rows_a_step)
            fills.append(tokens / (rows * stage.context))
        colour = COLOURS[number % len(COLOURS)]
        axes.stairs(fills, edges, color=colour, baseline=None, linewidth=2, label=f"{stage.name}: {stage.fill:.1%}")
        lowest = min(lowest, *fills)
    axes.set_ylim(min(0.9, lowest - 0.03), 1.01)
    axes.set_ylabel("row fill by window")
    axes.legend(loc="lower left", fontsize=8, ncols=len(facts.stages))


def _page(png: bytes, facts: Report, title: str) -> str:
    """One HTML page: the figure and the table of stages."""
    head = ("stage", "context", "steps", "rows a step", "rows", "tokens", "fill", "documents", "cut", "skipped")
    lines = [
        (
            stage.name,
            f"{stage.context:,}",
            f"{stage.steps:,}",
            f"{stage.rows_a_step:,}",
            f"{stage.rows:,}",
            f"{stage.tokens:,}",
            f"{stage.fill:.1%}",
            f"{stage.documents:,}",
            f"{stage.cut:,}",
            f"{sum(stage.skipped.values()):,}",
        )
        for stage in facts.stages
    ]
    table = "".join(f"<th>{name}</th>" for name in head)
    table += "".join("<tr>" + "".join(f"<td>{html.escape(cell)}</td>" for cell in line) + "</tr>" for line in lines)
    notes = "".join(f"<li>{html.escape(warning)}</li>" for warning in facts.warnings)
    image = base64.b64encode(png).decode()
    return (
        f"<!doctype html><html lang=en><meta charset=utf-8><title>{html.escape(title)}</title>"
        "<style>body{font:14px sans-serif;margin:2em auto;max-width:70em}img{width:100%}"
        "td,th{padding:.2em .8em;text-align:right}th{border-bottom:1px solid}</style>"
        f"<h1>{html.escape(title)}</h1><img alt='the curriculum over the steps' src='data:image/png;base64,{image}'>"
        f"<table>{table}</table><ul>{notes}</ul></html>\n"
    )
