"""What `trivium plan` shows people: the layouts side by side, what stands behind them, why the rest fell."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from rich import box
from rich.console import Group as Stack
from rich.console import RenderableType
from rich.table import Table
from rich.text import Text

from trivium.console import counted
from trivium.console import size as readable
from trivium.model.plan import NO_ROW

if TYPE_CHECKING:
    from trivium.model.layout import Layout
    from trivium.model.plan import Placed, Plan

LARGE_BUBBLE = 0.2  # of a step
_POLICY = {"keep": "all kept", "attn_res": "AttnRes again", "layers": "layers again"}


@dataclass(frozen=True, slots=True)
class Way:
    """What would fit where nothing does; None: nothing of the kind."""

    gpus: int | None  # a step may grow to a row a replica
    fewer: int | None  # GPUs, with the asked tokens a step
    batch_tokens: int | None  # of the asked GPUs


def plan_view(model: str, gpu: str, plan: "Plan", way: "Way | None" = None) -> Stack:
    """Layouts with memory and time by part, refusals, assumptions; `way`: what would fit, where nothing does."""
    ask = plan.ask
    what = f"{model} on {ask.gpus:,} × {gpu}, rows of {ask.context:,} tokens, {ask.batch_tokens:,} tokens a step"
    shown: list[RenderableType] = [Text(what, style="bold")]
    if plan.best:
        shown += [_sizes(plan), _memory(plan), _time(plan)]
        shown += _idle(plan)
    elif way is not None:
        shown.append(_nothing(plan, way))
    if plan.refused:
        shown.append(_refused(plan))
    return Stack(*shown, _assumed(plan))


def _idle(plan: "Plan") -> list[Text]:
    """What helps where stages wait for each other most of the time."""
    first = plan.best[0]
    share = first.seconds.get("bubble", 0.0) / first.step
    if share < LARGE_BUBBLE:
        return []
    rows = plan.ask.batch_tokens // plan.ask.context
    said = f"stages stand idle for {share:.0%} of the step: {counted(rows, 'row')} a step; more by --batch-tokens"
    return [Text(said)]


def _table(title: str, columns: int) -> Table:
    table = Table(title=title, title_justify="left", box=box.SIMPLE_HEAD, pad_edge=False)
    table.add_column("", no_wrap=True)
    for number in range(columns):
        table.add_column(f"layout {number + 1}", justify="right", no_wrap=True)
    return table


def _sizes(plan: "Plan") -> Table:
    table = _table(f"{counted(plan.fitting, 'layout')} fit; the fastest of different sizes:", len(plan.best))
    rows: dict[str, Callable[[Placed], str]] = {
        "data": lambda one: f"{one.layout.data:,}",
        "expert": lambda one: f"{one.layout.expert:,}",
        "pipeline × rounds": lambda one: f"{one.layout.pipeline} × {one.layout.virtual}",
        "context": lambda one: f"{one.layout.context:,}",
        "rows × micro-batches": lambda one: f"{one.layout.rows} × {one.micro_batches:,}",
        "recomputed": lambda one: _POLICY[one.layout.policy],
        "gradients": lambda one: "dealt" if one.layout.shard_gradients else "whole",
        "step": lambda one: _seconds(one.step),
        "tokens/s": lambda one: f"{one.tokens_per_second:,.0f}",
        "tokens/s a GPU": lambda one: f"{one.tokens_per_second / plan.ask.gpus:,.0f}",
        "MFU": lambda one: f"{one.mfu:.1%}",
    }
    for name, cell in rows.items():
        table.add_row(name, *(cell(one) for one in plan.best), style="bold" if name in ("step", "tokens/s") else None)
    return table


def _memory(plan: "Plan") -> Table:
    room = plan.ask.room
    table = _table(f"memory of the fullest rank, of {readable(room)} (a reserve apart)", len(plan.best))
    for part in _parts([one.memory for one in plan.best]):
        table.add_row(part, *(_bytes(one.memory.get(part)) for one in plan.best))
    table.add_section()
    table.add_row("sum", *(f"{readable(one.used)} ({one.used / room:.0%})" for one in plan.best), style="bold")
    table.add_row("on stage", *(str(one.stage) for one in plan.best))
    return table


def _time(plan: "Plan") -> Table:
    table = _table("time of a step on the slowest stage, what overlaps left out", len(plan.best))
    for part in _parts([one.seconds for one in plan.best]):
        table.add_row(part, *(_share(one, part) for one in plan.best))
    table.add_section()
    table.add_row("on stage", *(str(one.slowest) for one in plan.best))
    return table


def _share(one: "Placed", part: str) -> str:
    value = one.seconds.get(part)
    return "–" if value is None else f"{_seconds(value)} {value / one.step:4.0%}"


def _parts(columns: Sequence[dict[str, float]]) -> list[str]:
    parts = {part: sum(column.get(part, 0) for column in columns) for column in columns for part in column}
    return sorted(parts, key=lambda part: -parts[part])


def _nothing(plan: "Plan", way: "Way") -> Text:
    if way.batch_tokens is not None:
        return _too_few_tokens(plan, way.batch_tokens, way.fewer)
    least = -(-plan.state_bytes // plan.ask.room)
    text = f"No layout fits. Weights, gradients and optimizer state alone are {readable(plan.state_bytes)}: at least "
    text += counted(int(least), "GPU") + " of this kind with whole gradients. "
    if way.gpus is None:
        return Text(text + "No number of GPUs up to 65,536 is enough; give shorter rows or GPUs with more memory.")
    return Text(text + f"The smallest power of two on which a layout fits: --gpus {way.gpus}.")


def _too_few_tokens(plan: "Plan", enough: int, fewer: int | None) -> Text:
    ask = plan.ask
    without = sum(row.layouts for row in plan.refused if row.reason == NO_ROW)
    text = f"No layout fits. {without:,} of {counted(sum(row.layouts for row in plan.refused), 'layout')} were thrown "
    text += f"out since a step of {ask.batch_tokens:,} tokens has no row of {ask.context:,} for each data rank. "
    text += f"Raise --batch-tokens to at least {enough}"
    return Text(text + (f", or take fewer GPUs, such as --gpus {fewer}." if fewer else "."))


def _refused(plan: "Plan") -> Table:
    table = Table(title="thrown out", title_justify="left", box=box.SIMPLE_HEAD, pad_edge=False)
    table.add_column("why")
    table.add_column("layouts", justify="right", no_wrap=True)
    table.add_column("nearest", no_wrap=False)
    for row in plan.refused:
        nearest = "" if row.nearest is None else f"{readable(row.needs)}: {_short(row.nearest)}"
        table.add_row(row.reason, f"{row.layouts:,}", nearest)
    return table


def _short(layout: "Layout") -> str:
    sizes = f"data {layout.data}, expert {layout.expert}, pipeline {layout.pipeline} × {layout.virtual}"
    return f"{sizes}, context {layout.context}, {_POLICY[layout.policy]}"


def _assumed(plan: "Plan") -> Table:
    ask = plan.ask
    table = Table(title="assumed (--assume, --assumptions)", title_justify="left", box=None, pad_edge=False)
    table.add_column("", style="dim")
    gpu = ask.gpu
    table.add_row(
        f"gpu: memory {readable(gpu.memory)}, peak {gpu.peak / 1e12:,.0f} TFLOP/s, bandwidth {gpu.bandwidth / 1e12:g} "
        f"TB/s, link {gpu.link / 1e9:g} GB/s in nodes of {gpu.node}, network {gpu.network / 1e9:g} GB/s"
    )
    values = (f"{name} {getattr(ask.assumed, name)!s}" for name in ask.assumed.__struct_fields__)
    table.add_row(f"assumed: {', '.join(values)}; row bytes {ask.storage.row:g}")
    return table


def _bytes(count: float | None) -> str:
    return "–" if count is None else readable(count)


def _seconds(value: float) -> str:
    return f"{value:,.1f} s" if value >= 10 else f"{value:.3g} s" if value >= 1 else f"{value * 1000:.3g} ms"
