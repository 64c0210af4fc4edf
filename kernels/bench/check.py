"""Pass or fail for every target, from the JSON alone: on any machine, as often as one likes."""

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

from trivium.kernels.bench import targets
from trivium.kernels.bench.report import Accuracy, Limits, Report, Row

__all__ = ["State", "Verdict", "best", "failed", "incomplete", "value", "verdicts"]

State = Literal["pass", "FAIL", "missing"]
Level = Literal["must", "goal"]
Judged = tuple[str, State]
UNMEASURED: Judged = "not measured", "missing"
UNTOLD: Judged = "the device does not tell", "missing"


@dataclass(frozen=True, slots=True, kw_only=True)
class Verdict:
    target: str
    what: str
    level: Level
    needed: str
    found: str
    state: State


def failed(found: Sequence[Verdict]) -> bool:
    """Whether any must was measured and missed."""
    return any(verdict.level == "must" and verdict.state == "FAIL" for verdict in found)


def incomplete(found: Sequence[Verdict]) -> bool:
    """Whether any must was not measured."""
    return any(verdict.level == "must" and verdict.state == "missing" for verdict in found)


def verdicts(report: Report) -> list[Verdict]:
    """Every must and goal, in the order of the targets."""
    return [*_ratios(report), *_latent_experts(report), *_router(report), *_cold(report), *_accuracy(report)]


def value(row: Row, quantity: targets.Quantity) -> float | None:
    """ms of the median, or bytes; None where nothing was measured."""
    if quantity == "peak":
        return None if row.peak_bytes is None else float(row.peak_bytes)
    figure = row.forward if quantity == "forward" else row.both
    return None if figure is None else figure.ms


def best(rows: Sequence[Row], quantity: targets.Quantity) -> tuple[float, str] | None:
    """The best peer's figure and name: the strictest comparison where a peer has several settings."""
    found = [(figure, row.contestant) for row in rows if row.peer and (figure := value(row, quantity)) is not None]
    return min(found) if found else None


def _ratios(report: Report) -> Iterator[Verdict]:
    for target in targets.RATIOS:
        rows, _ = _same_run(report, target.op, target.layout.name)
        what = f"{target.op} {target.quantity}, {target.layout.name}"
        levels: tuple[tuple[Level, float | None, str], ...] = (
            ("must", target.must, target.known and f"peer known: {target.known}"),
            ("goal", target.goal, target.absolute),
        )
        for level, needed, beside in levels:
            if needed is None:
                continue
            text = f"≥ {needed:g}×" + (f" ({beside})" if beside else "")
            found, state = _ratio(rows, target, needed)
            yield Verdict(target=target.target, what=what, level=level, needed=text, found=found, state=state)


def _same_run(report: Report, op: str, layout: str) -> tuple[list[Row], Limits]:
    """All contestants' rows of one process and its machine's limits; a report holds a layout in one run only."""
    for run in report.runs:
        rows = [row for row in run.rows if row.op == op and row.layout == layout]
        if rows:
            return rows, run.limits
    return [], Limits(copy_bytes_s=math.inf, matmul_flop_s=math.inf)


def _ratio(rows: Sequence[Row], target: targets.Ratio, needed: float) -> tuple[str, State]:
    ours, judged = _ours(rows)
    if ours is None:
        return judged
    quantity = target.quantity
    rivals = [row for row in rows if target.against in ("", row.contestant)]
    mine, peer = value(ours, quantity), best(rivals, quantity)
    if mine is None:
        return "the device does not tell", "missing"
    if peer is None:
        why = "; ".join(f"{row.contestant}: {row.red}" for row in rivals if row.peer and row.red)
        return why or "no peer was there", "missing"
    ratio = peer[0] / mine
    unit, scale = ("MiB", 2.0**-20) if quantity == "peak" else ("ms", 1.0)
    text = f"{ratio:.2f}× ({mine * scale:.4g} beside {peer[0] * scale:.4g} {unit}, {peer[1]})"
    return text, "pass" if ratio >= needed else "FAIL"


def _ours(rows: Sequence[Row]) -> tuple[Row | None, Judged]:
    """Our row, and what stands where it does not: it is wrong, or there is none."""
    ours = next((row for row in rows if not row.peer), None)
    if ours is not None and ours.red:
        return None, (f"no figure: {ours.red}", "FAIL")
    return ours, UNMEASURED


Part = tuple[str, Level, str, Callable[[Row, Limits], Judged]]  # a word for it, how much it binds, what is needed


def _judged(report: Report, target: str, op: str, layout: str, parts: Sequence[Part]) -> Iterator[Verdict]:
    """A verdict on each part of our row of a layout."""
    rows, limits = _same_run(report, op, layout)
    ours, absent = _ours(rows)
    for word, level, needed, judge in parts:
        found, state = absent if ours is None else judge(ours, limits)
        yield Verdict(
            target=target, what=f"{op} {word}, {layout}", level=level, needed=needed, found=found, state=state
        )


def _latent_experts(report: Report) -> Iterator[Verdict]:
    target = targets.LATENT_EXPERTS
    parts: tuple[Part, ...] = (
        ("host", "must", "never waits", _waits),
        ("buffer", "must", f"≤ {target.padded:.0%} of its rows padded", _padded),
        ("tiles", "must", f"≤ {target.wasted:.0%} of their rows wasted", _wasted),
        ("both", "goal", f"≥ {target.rate:.0%} of the product rate", _rate),
    )
    for shape in target.shapes:
        yield from _judged(report, target.target, target.op, shape.name, parts)


def _waits(row: Row, _: Limits) -> Judged:
    if row.waits is None:
        return UNTOLD
    return ("it waits", "FAIL") if row.waits else ("never waits", "pass")


def _padded(row: Row, _: Limits) -> Judged:
    if row.waste is None or row.waste.buffer is None:
        return "no rows of pairs are kept", "missing"
    return f"{row.waste.buffer:.1%}", "pass" if row.waste.buffer <= targets.LATENT_EXPERTS.padded else "FAIL"


def _wasted(row: Row, _: Limits) -> Judged:
    if row.waste is None:
        return UNMEASURED
    found = f"{row.waste.tiles:.1%} of tiles of {row.waste.rows_a_tile} rows; fullest expert {row.waste.fullest:.2f}×"
    return found, "pass" if row.waste.tiles <= targets.LATENT_EXPERTS.wasted else "FAIL"


def _rate(row: Row, limits: Limits) -> Judged:
    if row.both is None:
        return UNMEASURED
    rate = row.both.flops / row.both.ms * 1e3
    found = f"{rate / limits.matmul_flop_s:.0%} ({rate / 1e12:.0f} of {limits.matmul_flop_s / 1e12:.0f} TFLOP/s)"
    return found, "pass" if rate >= targets.LATENT_EXPERTS.rate * limits.matmul_flop_s else "FAIL"


def _router(report: Report) -> Iterator[Verdict]:
    """One kernel: of ours a single one, and all others together (bounds of the bins, zeros) too short to have gone
    over the logits.
    """
    target = targets.ROUTER
    parts: tuple[Part, ...] = (
        ("launches", "must", "one kernel", _one_kernel),
        ("forward", "goal", f"≤ {target.goal:g} × reading the logits", _times_reading),
    )
    yield from _judged(report, target.target, target.op, target.shape.name, parts)


def _times_reading(row: Row, limits: Limits) -> Judged:
    if row.forward is None:
        return UNMEASURED
    reading = row.forward.bytes / limits.copy_bytes_s * 1e3
    found = f"{row.forward.ms / reading:.2f}× ({row.forward.ms:.4g} beside {reading:.4g} ms)"
    return found, "pass" if row.forward.ms <= targets.ROUTER.goal * reading else "FAIL"


def _one_kernel(row: Row, limits: Limits) -> Judged:
    seen = row.launches.get("forward")
    if seen is None or row.forward is None:
        return UNTOLD
    reading_us = row.forward.bytes / limits.copy_bytes_s * 1e6
    own = sum(times for name, times in seen.kernels.items() if "::" not in name)  # PyTorch's stand in namespaces
    others = sum(us for name, us in seen.us.items() if "::" in name)
    found = f"{own} of ours; {seen.count - own} of PyTorch's, {others:.1f} µs (the logits: {reading_us:.1f})"
    return found, "pass" if own == 1 and others < reading_us else "FAIL"


def _cold(report: Report) -> Iterator[Verdict]:
    """The first whole training step, on one process and an empty cache; first calls by operator are its detail."""
    target = targets.COLD
    entries = [step for run in report.runs for step in run.steps if step.preset == target.preset and not step.compiled]
    step = next((entry for entry in entries if entry.cold is not None or entry.problem), None)
    levels: tuple[tuple[Level, float, str], ...] = (
        ("must", target.must, f"≤ {target.must:g} s"),
        ("goal", target.goal, f"≤ {target.goal:g} s, nothing anew for other rows"),
    )
    for level, bound, needed in levels:
        found, state = UNMEASURED
        if step is not None and (step.problem or step.cold is None):
            found, state = step.problem, "FAIL"
        elif step is not None and step.cold is not None:
            cold, anew = step.cold, sum(step.cold.again.values())
            found = f"{cold.seconds:.1f} s, {cold.compiled} kernels ({cold.compile_s:.1f} s), {anew} anew"
            held = bool(cold.compiled) and bool(cold.again)  # nothing compiled: no kernel ran; no other rows: not asked
            state = "pass" if cold.seconds <= bound and held and (level == "must" or anew == 0) else "FAIL"
        yield Verdict(
            target=target.target, what=f"first step of {target.preset}, empty cache", level=level, needed=needed,
            found=found, state=state,
        )  # fmt: skip


def _accuracy(report: Report) -> Iterator[Verdict]:
    cases: dict[tuple[str, str], list[Accuracy]] = {}
    for run in report.runs:
        for entry in run.accuracy:
            cases.setdefault((entry.op, entry.case), []).append(entry)
    if not cases:
        cases["all operators", "hard cases"] = []
    for (op, case), entries in cases.items():
        ours = next((entry for entry in entries if not entry.peer), None)
        found, state = (
            _errors(ours, [entry for entry in entries if entry.peer]) if ours else ("not measured", "missing")
        )
        bits = ", ".join(f"{name}: {'yes' if flag else 'no'}" for name, flag in _bits(ours)) or "not measured"
        asked = ("repeatable",) if ours and ours.causal is None else ("causal", "repeatable")
        levels: tuple[tuple[Level, str, str, State], ...] = (
            ("must", f"errors ≤ {targets.ROUNDING:g} × the best peer's", found, state),
            ("goal", ", ".join(f"bitwise {word}" for word in asked), bits, _all(ours)),
        )
        for level, needed, found, state in levels:
            yield Verdict(target="K6", what=f"{op}, {case}", level=level, needed=needed, found=found, state=state)


def _bits(entry: Accuracy | None) -> list[tuple[str, bool]]:
    if entry is None:
        return []
    flags = (("causal", entry.causal), ("repeats", entry.repeats))
    return [(name, flag) for name, flag in flags if flag is not None]


def _all(entry: Accuracy | None) -> State:
    flags = _bits(entry)
    return "missing" if not flags else "pass" if all(flag for _, flag in flags) else "FAIL"


def _errors(ours: Accuracy, peers: Sequence[Accuracy]) -> tuple[str, State]:
    """The tensor in which we do worst beside the best finite peer decides."""
    if ours.problem:
        return ours.problem, "FAIL"
    if not peers:
        return "no peer was there", "missing"
    sound = [peer for peer in peers if not peer.problem]
    if not sound:
        why = "; ".join(f"{peer.contestant}: {peer.problem}" for peer in peers)
        largest = max(error or 0.0 for error in ours.errors.values())
        return f"{largest:.1e} at most ({why})", "pass" if largest <= targets.ALONE else "FAIL"
    worst, name, pair = 0.0, "", (0.0, 0.0)
    for tensor, error in ours.errors.items():
        mine, theirs = error or 0.0, min(peer.errors.get(tensor) or 0.0 for peer in sound)
        if mine <= targets.EXACT:  # none, whatever the peer's is
            continue
        ratio = mine / max(theirs, targets.EXACT)
        if ratio > worst:
            worst, name, pair = ratio, tensor, (mine, theirs)
    text = f"{name}: {pair[0]:.1e} beside {pair[1]:.1e}" if name else f"all below {targets.EXACT:g}"
    return text, "pass" if worst <= targets.ROUNDING else "FAIL"
