"""What the runs of the family show: spikes, dead experts, load, speed, pictures, and a verdict for each promise.

Pure functions of metrics lines; nothing here trains or reads a device.
"""

import math
import statistics
from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import Any, NamedTuple

from trivium.data.config import Strict
from trivium.model.machine import GPUS

Line = Mapping[str, Any]

# A spike: the median of `SHORT` steps stands `RISE` nats and `SIGMAS` deviations of a step above the lowest median of
# `LONG` steps in the last `RECENT`; or one step stands `JUMP` nats and `JUMP_SIGMAS` deviations above it.
SHORT, LONG, RECENT = 5, 25, 100  # steps
RISE, SIGMAS = 0.3, 4.0
JUMP, JUMP_SIGMAS = 1.0, 10.0
QUIET = 100  # steps without a token that make an expert a dead one
SETTLED = 20  # steps of the load test before load is judged
MEAN_LOAD, WORST_LOAD, LOAD_EXPERTS, LOAD_TOKENS = 1.15, 1.3, 256, 65536
WORTH = 0.1  # nats a token that the true picture is worth, at the low end of the interval
SOME_THOUSAND = 2000  # steps
FALL = 0.5  # nats that a switched model's loss must fall
PEAK_FLOPS = GPUS["h200"].peak


class Verdict(Strict, frozen=True, kw_only=True):
    """One promise: what was found, what was wanted, and pass, FAIL or missing."""

    what: str
    found: str
    wanted: str
    verdict: str


def spikes(losses: Sequence[float | None], warmup: int) -> list[int]:
    """Steps (from 1) after the warm-up at which the loss has risen, and not by what one step's rows happen to hold."""
    return [rise.step for rise in rises(losses, warmup) if rise.nats > rise.bound]


class Rise(NamedTuple):
    """How far a step's loss lies above what it is held against, and how far it may."""

    step: int
    nats: float
    bound: float


def rises(losses: Sequence[float | None], warmup: int) -> list[Rise]:
    """Of each step that can be judged the rise, lasting or of the step alone, that is nearest to its bound or above.

    A rise is held against the lowest that the loss had reached, so one that grows slowly is found as well; a running
    median counts a rise in full once it lasts three steps, and a single step of hard rows for nothing. A deviation is
    1.05 times the median difference of two steps that follow each other, as of a normal distribution: a fall counts for
    nothing. None: no such target in a step.
    """
    known = [(at + 1, loss) for at, loss in enumerate(losses) if loss is not None]
    values = [loss for _, loss in known]
    short, long = (smooth(values, width) for width in (SHORT, LONG))
    found = []
    for at, (step, loss) in enumerate(known):
        start = max(0, at - RECENT)
        if step <= warmup or at - start < RECENT // 2:
            continue
        lowest = min(long[start:at])
        deviation = 1.05 * statistics.median(abs(b - a) for a, b in pairwise(values[start:at]))
        lasting = Rise(step, short[at] - lowest, max(RISE, SIGMAS * deviation))
        alone = Rise(step, loss - lowest, max(JUMP, JUMP_SIGMAS * deviation))
        found.append(max(lasting, alone, key=_share))
    return found


def _share(rise: Rise) -> float:
    return rise.nats / rise.bound


def dead_experts(lines: Sequence[Line], quiet: int = QUIET) -> int | None:
    """Experts of all layers that got no token in any of the last `quiet` steps; None for too few steps."""
    tail = [line["experts"]["idle"] for line in lines[-quiet:] if line.get("experts")]
    if len(tail) < quiet:
        return None
    return sum(len(set.intersection(*map(set, layer))) for layer in zip(*tail, strict=True))


def load(lines: Sequence[Line], settled: int = SETTLED) -> dict[str, Any] | None:
    """Max / mean load by layer: mean over the steps after `settled`, and of each step its mean and worst layer."""
    steps = [line for line in lines if line.get("experts")]
    if not steps:
        return None
    rows = [line["experts"]["max_over_mean"] for line in steps]
    tail = rows[settled:]
    layers = [statistics.fmean(column) for column in zip(*tail, strict=True)] if tail else None
    return {
        "names": steps[0]["experts"]["layers"],
        "by_step_mean": [statistics.fmean(row) for row in rows],
        "by_step_worst": [max(row) for row in rows],
        "layers": layers,
        "mean": None if layers is None else statistics.fmean(layers),
        "worst": None if layers is None else max(layers),
        "worst_of_any_step": max((max(row) for row in tail), default=None),
        "tokens": round(statistics.fmean(sum(line["tokens"].values()) for line in steps)),
        "steps": len(rows),
    }


def speed(lines: Sequence[Line], flops_a_token: int | None) -> dict[str, Any]:
    """Of the second half of the steps: median seconds, tokens a second, MFU.

    MFU is the median of the lines' own; lines of before they had one give theirs by `flops_a_token`, on one H200.
    """
    half = lines[len(lines) // 2 :]
    if not half:
        return {"seconds": None, "tokens_per_second": None, "mfu": None, "waiting": None}
    seconds = statistics.median(line["time"]["step"] for line in half)
    tokens = statistics.fmean(sum(line["tokens"].values()) for line in half)
    told = [line["time"]["mfu"] for line in half if line["time"].get("mfu")]
    reckoned = None if flops_a_token is None else flops_a_token * tokens / seconds / PEAK_FLOPS
    waiting = sum(line["time"]["data"] for line in half) / sum(line["time"]["step"] for line in half)
    return {
        "seconds": seconds,
        "tokens_per_second": tokens / seconds,
        "mfu": statistics.median(told) if told else reckoned,
        "waiting": waiting,
    }


def run_facts(lines: Sequence[Line], steps: int, flops_a_token: int | None = None) -> dict[str, Any]:
    """Everything about one run from its metrics lines; `steps` is how many it was given."""
    done = [line for line in lines if line["kind"] == "step"]
    held = [line for line in lines if line["kind"] == "held_out"]
    totals = [line["loss"]["total"] for line in done]
    rates = [line["lr"] for line in done]
    warmup = rates.index(max(rates)) + 1 if rates else 0
    # Not the code after pictures by itself: a step's loss there is that of few drawings or of few icons.
    kinds = {kind: [line["loss"][kind] for line in done] for kind in ("total", "text")}
    highest = {kind: max(rises(values, warmup), key=_share, default=None) for kind, values in kinds.items()}
    norms = [line["grad_norm"] for line in done]
    logits = [line["max_logit"] for line in done if line.get("max_logit") is not None]
    last = held[-1] if held else {}
    shuffled = last.get("image_shuffled") or {}
    return {
        "steps": len(done),
        "of": steps,
        "tokens": {kind: sum(line["tokens"][kind] for line in done) for kind in ("text", "vision")},
        "first_loss": totals[0] if totals else None,
        "last_loss": _mean(totals[-50:]),
        "warmup": warmup,
        "spikes": {kind: spikes(values, warmup) for kind, values in kinds.items()},
        "largest_rise": {kind: None if one is None else one[1:] for kind, one in highest.items()},
        "not_finite": sum(value is None for value in (*totals, *norms)),
        "grad_norm": {"median": _median(norms), "max_after_warmup": max(_numbers(norms[warmup:]), default=None)},
        "max_logit": max(logits, default=None),
        "clipped_heads": sum(line.get("clipped_heads") or 0 for line in done),
        "dead": dead_experts(done),
        "load": load(done),
        "speed": speed(done, flops_a_token),
        "held_out": {
            "step": last.get("step"),
            "text": (last.get("text") or {}).get("loss"),
            "image": (last.get("image") or {}).get("loss"),
            "gap": shuffled.get("gap"),
            "corpora": {name: entry["gap"] for name, entry in shuffled.get("corpora", {}).items()},
        },
        "held_out_curve": [
            [
                line["step"],
                (line["text"] or {}).get("loss"),
                ((line["image_shuffled"] or {}).get("gap") or {}).get("mean"),
            ]
            for line in held
        ],
    }


def _numbers(values: Sequence[float | None]) -> list[float]:
    return [value for value in values if value is not None]


def _median(values: Sequence[float | None]) -> float | None:
    known = _numbers(values)
    return statistics.median(known) if known else None


def _mean(values: Sequence[float | None]) -> float | None:
    known = _numbers(values)
    return statistics.fmean(known) if known else None


def judge(runs: Mapping[str, Mapping[str, Any]], wanted: Mapping[str, str]) -> list[Verdict]:
    """A verdict for each promise; `wanted` maps the name of every run to its kind, `runs` holds what was found."""
    verdicts: list[Verdict] = []
    for name, kind in wanted.items():
        facts = runs.get(name)
        if facts is None or not facts["steps"]:
            verdicts.append(Verdict(what=name, found="no step", wanted="a run", verdict="missing"))
        elif kind == "run":
            verdicts += _judge_run(name, facts)
        elif kind in ("load", "trial"):
            verdicts += _judge_load(name, facts)
        else:
            verdicts.append(_judge_switch(name, facts))
    return verdicts


def _judge_run(name: str, facts: Mapping[str, Any]) -> list[Verdict]:
    dead, gap = facts["dead"], facts["held_out"]["corpora"].get("drawings")
    spiked = sum(map(len, facts["spikes"].values()))
    told = ", ".join(
        f"{kind} rises by {rise[0]:.2f} (bound {rise[1]:.2f})" for kind, rise in facts["largest_rise"].items() if rise
    )
    out = [
        Verdict(
            what=f"{name}: steps", found=f"{facts['steps']:,} of {facts['of']:,}", wanted=f"≥ {SOME_THOUSAND:,}",
            verdict="pass" if facts["steps"] >= SOME_THOUSAND else "missing",
        ),
        Verdict(
            what=f"{name}: spikes",
            found=f"{spiked}; at most {told}" if told else f"{spiked}; too few steps",
            wanted=f"none above {RISE:g} nats and {SIGMAS:g} deviations over the lowest of {RECENT} steps",
            verdict="FAIL" if spiked or facts["not_finite"] else "pass" if told else "missing",
        ),
        Verdict(
            what=f"{name}: dead experts", found="too few steps" if dead is None else str(dead),
            wanted=f"none without a token in the last {QUIET} steps",
            verdict="missing" if dead is None else "pass" if dead == 0 else "FAIL",
        ),
    ]  # fmt: skip
    if facts.get("problem"):
        out.append(Verdict(what=f"{name}: ends by itself", found=facts["problem"], wanted="no error", verdict="FAIL"))
    if gap is None or gap["low"] is None:
        found, verdict = "not measured", "missing"
    else:
        found = f"{gap['mean']:.3f} ({gap['low']:.3f} to {gap['high']:.3f}) nats a token, {gap['records']} drawings"
        verdict = "pass" if gap["low"] >= WORTH else "FAIL"
    wanted = f"another picture costs ≥ {WORTH:g} nats, 95 % interval"
    return [*out, Verdict(what=f"{name}: pictures matter", found=found, wanted=wanted, verdict=verdict)]


def _judge_load(name: str, facts: Mapping[str, Any]) -> list[Verdict]:
    """The bounds are Quantile Balancing's at the report's warm-up. The sign step's load, and trials of other rates and
    sizes, stand beside it without a verdict of their own."""
    found = facts["load"]
    if found is None or found["mean"] is None:
        return [Verdict(what=f"{name}: load", found="too few steps", wanted=f"> {SETTLED} steps", verdict="missing")]
    told = f"mean over layers {found['mean']:.3f}, worst layer {found['worst']:.3f}, {found['tokens']:,} tokens a step"
    good = found["mean"] <= MEAN_LOAD and found["worst"] <= WORST_LOAD
    verdict = "missing" if found["tokens"] < LOAD_TOKENS else "pass" if good else "FAIL"
    if facts.get("balance") != "quantile" or name.startswith("trial-"):
        verdict = "beside"
    wanted = f"mean ≤ {MEAN_LOAD:g}, worst ≤ {WORST_LOAD:g} after step {SETTLED}, {LOAD_EXPERTS} experts"
    return [Verdict(what=f"{name}: max / mean load", found=told, wanted=wanted, verdict=verdict)]


def _judge_switch(name: str, facts: Mapping[str, Any]) -> Verdict:
    first, last = facts["first_loss"], facts["last_loss"]
    broken = facts["not_finite"] or first is None or last is None
    short = facts["steps"] < facts["of"]
    fell = not broken and last <= first - FALL
    return Verdict(
        what=f"{name}: trains",
        found="not finite" if broken else f"{first:.2f} → {last:.2f} in {facts['steps']} steps",
        wanted=f"falls by ≥ {FALL:g} nats, all finite",
        verdict="FAIL" if broken or not (fell or short) else "missing" if short else "pass",
    )


def smooth(values: Sequence[float | None], width: int = 25) -> list[float]:
    """The running median over `width` values."""
    known = [math.nan if value is None else value for value in values]
    return [statistics.median(known[max(0, at - width + 1) : at + 1]) for at in range(len(known))]
