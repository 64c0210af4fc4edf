"""The report as a page for readers: docs/benchmarks.md is made of docs/benchmarks.json and nothing else."""

import math
from collections.abc import Iterator, Sequence
from typing import Literal

from trivium.kernels.bench.check import best, value, verdicts
from trivium.kernels.bench.report import Accuracy, Report, Row, Run, Step
from trivium.kernels.bench.targets import Quantity

__all__ = ["COLUMNS", "COUNTS", "STEP", "cells", "counts", "page", "step_lines", "step_rows"]

HEAD = """# Benchmarks of the kernels

Made from `docs/benchmarks.json` by `python -m trivium.kernels.bench` (each run below names its own command); don't
edit it. `python -m trivium.kernels.bench --check docs/benchmarks.json` judges the same file anywhere, and fails while a
must is missed or not measured.

Medians of do_bench, random data, bf16 rows; all contestants of a shape take turns in one process on the same tensors.
Errors are relative, against fp64: the output's, and the largest of all gradients'. A contestant whose errors leave
their bounds gets no figure. A percentage is the part of the time that the machine's own copy and product rates would
need for the bytes that must be moved once (GB, both ways) and the products that must be made; `×` is the best peer's
figure over ours. Memory is the extra at the peak of a pass both ways, fresh gradients included. In hard cases, where
only errors count, peers that tune themselves try two configurations of a kernel instead of all.

A must has to hold, a goal is what we mean to reach. *both* is forwards and backwards; *fla-core, no recompute* keeps
for the backward what it else computes again; the best peer is taken for each figure. Of a hard case K6 names the tensor
in which we do worst beside the peer. Two equally right roundings of the same operands differ by chance, so 1.05 times
the peer's error passes; an error of 1e-5 or less is none. *causal*: editing a single token left every earlier output
equal in each bit (asked in the cases with states, at ten tokens); *repeats*: a second pass had the same bits in all
outputs and gradients.

Experts (*moe*) are routed by a router of random weights, never balanced by force; weights and their gradients are bf16,
or fp32 in *moe_fp32_weights*; 256 tokens and 16 experts are compared. liger-kernel, which has SwiGLU alone, tries eight
configurations of a kernel instead of up to 40. Errors of *route* are the share of tokens that choose or weigh other
experts, and its percentage is the reading of the logits alone. *Waits*: the host waits for the device somewhere in a
pass both ways. *Rows padded*: rows of the buffers of pairs that hold none. *Tile rows wasted*: rows that products
compute in vain, since each expert's pairs begin a tile of their own. *Fullest*: pairs of the fullest expert over the
mean. K8 asks for experts with many rows each, K9 for K3's many experts with few rows each, K11 for the router.

A *training step* is forward, backward and optimizer as `trivium train` makes them (`python bench/step.py --cold`), with
pictures. A kernel belongs to the operator that launched it. *Gaps*: times with nothing on the device, and what the host
did in them. K5 is the first step of *base* in a fresh process with an empty cache; steps with another length, other
documents and other pictures follow and should compile nothing. First calls by operator are its parts.
"""
STEP = ("kernels of", "ms", "share", "launches")
COUNTS = ("shape", "contestant", "kernels forward", "both", "waits", "rows padded", "tile rows wasted", "fullest")
COLUMNS = ("shape", "contestant", "error", "worst gradient", "forward ms", "both ms", "GB", "peak MiB")


def page(report: Report) -> str:
    parts = [HEAD, "## Targets", _targets(report)]
    for number, run in enumerate(report.runs, 1):
        parts += [f"## Run {number}", _facts(run)]
        for operator in dict.fromkeys(row.op for row in run.rows):
            rows = [row for row in run.rows if row.op == operator]
            parts += [f"### {operator}", _table(COLUMNS, [cells(row, rows, run) for row in rows])]
            if counted := counts(rows):
                parts += ["Launches and rows:", _table(COUNTS, counted)]
        if run.accuracy:
            parts += ["### Hard cases", _accuracy(run.accuracy)]
        if run.cold:
            parts += ["### First calls, empty cache", _cold(run)]
        for step in run.steps:
            parts += [f"### Training step of {step.preset}{', torch.compile' if step.compiled else ''}"]
            parts += ["\n".join(f"- {line}" for line in step_lines(step))]
            if step.families:
                parts.append(_table(STEP, step_rows(step)))
    return "\n\n".join(part.strip("\n") for part in parts) + "\n"


def _table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join("| " + " | ".join(cell.replace("|", "\\|") for cell in line) + " |" for line in lines)


def _targets(report: Report) -> str:
    found = verdicts(report)
    rows = [(v.target, v.what, v.level, v.needed, v.found, v.state) for v in found]
    return _table(("target", "what", "level", "needed", "found", ""), rows)


def _facts(run: Run) -> str:
    versions = ", ".join(f"{name} {version}" for name, version in run.versions.items())
    limits = (
        f"copy {run.limits.copy_bytes_s / 1e12:.2f} TB/s, bf16 product {run.limits.matmul_flop_s / 1e12:.0f} TFLOP/s"
    )
    return f"`{run.command}` at commit `{run.commit[:13]}`\n\n{run.device}; {versions}; {limits}."


def cells(row: Row, rows: Sequence[Row], run: Run) -> tuple[str, ...]:
    """One line of an operator's table; `rows` are its rows in this run. Ratios are the best peer's figure over ours."""
    same = [other for other in rows if other.layout == row.layout]
    detour = "" if row.peer or row.path.startswith("Triton") else f" ({row.path})"
    shown = (row.layout, row.contestant + detour, *errors(row))
    if row.red:
        return (*shown, f"none: {row.red}", "", "", "")
    ways = (_figure(row, same, "forward", run), _figure(row, same, "both", run))
    moved = "" if row.both is None else f"{row.both.bytes / 1e9:.2f}"
    peak = "" if row.peak_bytes is None else f"{row.peak_bytes / 2**20:.0f}{_ratio(row, same, 'peak')}"
    return (*shown, *ways, moved, peak)


def counts(rows: Sequence[Row]) -> list[tuple[str, ...]]:
    """Lines of what was counted: kernels, waits, rows for nothing, the fullest expert over the mean."""
    found = []
    for row in rows:
        ways = [str(row.launches[way].count) if way in row.launches else "" for way in ("forward", "both")]
        waits = "" if row.waits is None else "yes" if row.waits else "no"
        lost = ["", "", ""]
        if row.waste is not None:
            buffer = "" if row.waste.buffer is None else f"{row.waste.buffer:.1%}"
            lost = [buffer, f"{row.waste.tiles:.1%} of {row.waste.rows_a_tile}", f"{row.waste.fullest:.2f}×"]
        if any((*ways, waits, *lost)):
            found.append((row.layout, row.contestant, *ways, waits, *lost))
    return found


def errors(row: Row | Accuracy) -> list[str]:
    """The worst output and the worst gradient, by name where it is not the only one."""
    kinds: tuple[list[tuple[float, str]], ...] = ([], [])
    for name, error in row.errors.items():
        kinds[name.startswith("d")].append((math.inf if error is None else error, name))
    outputs, gradients = (max(kind, default=None) for kind in kinds)
    return [
        "" if outputs is None else f"{outputs[0]:.1e}",
        "" if gradients is None else f"{gradients[0]:.1e} {gradients[1]}",
    ]


def _figure(row: Row, same: Sequence[Row], way: Literal["forward", "both"], run: Run) -> str:
    figure = row.forward if way == "forward" else row.both
    if figure is None:
        return ""
    share = run.limits.seconds(figure) * 1e3 / figure.ms
    return f"{figure.ms:.3f} ({share:.0%}){_ratio(row, same, way)}"


def _ratio(row: Row, same: Sequence[Row], quantity: Quantity) -> str:
    mine, peer = value(row, quantity), best(same, quantity)
    return "" if row.peer or not mine or peer is None else f" {peer[0] / mine:.2f}×"


def _accuracy(entries: Sequence[Accuracy]) -> str:
    def lines() -> Iterator[tuple[str, ...]]:
        for entry in entries:
            each = ", ".join(
                f"{name} {'∞' if error is None else f'{error:.1e}'}" for name, error in entry.errors.items()
            )
            flags = [("" if flag is None else "yes" if flag else "no") for flag in (entry.causal, entry.repeats)]
            yield entry.op, entry.case, entry.contestant, entry.problem or each, *flags

    return _table(("operator", "case", "contestant", "relative errors", "causal", "repeats"), list(lines()))


def _cold(run: Run) -> str:
    rows = []
    for entry in run.cold:
        anew = ", ".join(f"{layout}: {count}" for layout, count in entry.again.items())
        found = entry.problem or f"{entry.seconds:.1f}"
        rows.append((entry.op, entry.layout, found, str(entry.compiled), anew))
    return _table(("operator", "first shape", "seconds", "kernels", "compiled anew for"), rows)


def step_rows(step: Step) -> list[tuple[str, ...]]:
    """Time by family of kernels, the longest first; shares are of the time that kernels ran."""
    total = sum(family.ms for family in step.families.values()) or 1.0
    rows = [
        (name, f"{family.ms:.2f}", f"{family.ms / total:.1%}", str(family.launches))
        for name, family in step.families.items()
    ]
    launches = sum(family.launches for family in step.families.values())
    return [*rows, ("all", f"{total:.2f}", "100.0%", str(launches))]


def step_lines(step: Step) -> list[str]:
    """The facts of a step beside its table."""
    if step.problem:
        return [f"no figure: {step.problem}"]
    speed = "" if step.mfu is None else f", MFU {step.mfu:.1%}"
    memory = "" if step.peak_bytes is None else f", at most {step.peak_bytes / 2**30:.1f} GiB"
    lines = [f"{step.rows}: {step.ms:.1f} ms, {step.tokens / step.ms * 1e3:,.0f} tokens/s{speed}{memory}"]
    if step.idle_ms is not None:
        lines.append(f"device idle {step.idle_ms:.1f} ms; {step.gaps} gaps of 10 µs and more, {step.gap_ms:.1f} ms")
        lines += [f"gap of {gap.ms:.2f} ms: {gap.host}" for gap in step.largest]
        waits = ", ".join(f"{name} {count}" for name, count in step.waits.items()) or "none"
        lines.append(f"waits of the host: {waits} ({step.wait_ms:.1f} ms)")
    if step.cold is not None:
        anew = ", ".join(f"{rows}: {count}" for rows, count in step.cold.again.items())
        slowest = ", ".join(f"{name} {seconds:.1f}" for name, seconds in step.cold.slowest.items())
        lines.append(
            f"first step with an empty cache {step.cold.seconds:.1f} s, {step.cold.compiled} kernels, "
            f"{step.cold.compile_s:.1f} s in the compiler ({slowest}); compiled anew for {anew or 'nothing asked'}"
        )
    return lines
