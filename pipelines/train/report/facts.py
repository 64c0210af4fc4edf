"""The facts of a run from its metrics lines: what `report.json` holds and the page shows."""

from collections import Counter
from collections.abc import Sequence
from statistics import median
from typing import Any

Line = dict[str, Any]
SPLITS = ("text", "image", "image_shuffled")
NO_GAP = {"mean": None, "low": None, "high": None, "records": 0}
NO_BIGRAM = {"entropy": None, "held_out_cross_entropy": None, "pairs": 0, "vocabulary": None}
NONE_LEFT_OUT = {
    "documents": 0,
    "of": 0,
    "tokens": 0,
    "reasons": {},
    "held_out": {"documents": 0, "of": None, "reasons": {}},
}
QUIET = 100  # steps without a token after which an expert is called dead
PARTS = ("data", "forward_backward", "optimizer", "eval", "checkpoint")


def summarize(lines: Sequence[Line], run: dict[str, Any]) -> dict[str, Any]:
    """The contract of `report.json`; `run` holds what the lines don't: bigram, stages, parameters, configuration.

    Losses are means over targets in nats a token, times in seconds, tokens of text and of vision counted apart.
    """
    steps = [line for line in lines if line["kind"] == "step"]
    held = [line for line in lines if line["kind"] == "held_out"]
    time = split_time(lines)
    tokens = {kind: sum(line["tokens"][kind] for line in steps) for kind in ("text", "vision")}
    busy = sum(line["time"]["step"] for line in steps)
    used = [line["time"]["mfu"] for line in steps if line["time"].get("mfu")]
    return {
        "complete": bool(steps) and steps[-1]["step"] == run["steps"],
        "step": steps[-1]["step"] if steps else 0,
        "steps": run["steps"],
        "held_out": {**{split: _ends(held, split) for split in SPLITS}, "picture_gap": _gap(held)},
        "pictures": _pictures(held),
        "bigram_entropy": run["bigram"]["entropy"],
        "bigram": run["bigram"],
        "bigram_pictures": run.get("bigram_pictures", NO_BIGRAM),
        "left_out": run.get("left_out", NONE_LEFT_OUT),
        "stages": [_stage(stage, steps) for stage in run["stages"]],
        "tokens": tokens,
        "seconds": round(sum(time.values()), 3),
        "throughput": {
            "tokens_per_second": round(sum(tokens.values()) / busy, 1) if busy else None,
            "median_step_seconds": round(median(line["time"]["step"] for line in steps), 4) if steps else None,
            "median_mfu": round(median(used), 6) if used else None,
        },
        "time": {part: round(seconds, 3) for part, seconds in time.items()},
        "waiting_for_data": round(time["data"] / busy, 5) if busy else None,
        "experts": _experts(steps, held),
        "parameters": run["parameters"],
        "starts": run["starts"],
        "changes": run.get("changes", []),
        "code": run["code"],
        "machine": run["machine"],
        "device": run["device"],
        "config": run["config"],
        "samples": run.get("samples", []),
    }


def left_out(skipped: Sequence[Line], lines: Sequence[Line], documents: int) -> dict[str, Any]:
    """What a run left out of the `documents` that it read, from the lines of `skipped.jsonl`; a record that comes again
    counts again. `held_out` says the same of the last evaluation's documents."""
    train = [line for line in skipped if line.get("side") != "held_out"]
    reasons: dict[str, dict[str, Any]] = {}
    for line in train:
        mine = reasons.setdefault(line["reason"], {"documents": 0, "tokens": 0, "first": line["key"]})
        mine["documents"] += 1
        mine["tokens"] += line["stop"] - line["start"]
    held = [line for line in lines if line["kind"] == "held_out"]
    missed = (held[-1].get("left_out") if held else None) or {"documents": 0, "of": None}
    return {
        "documents": len(train),
        "of": documents,
        "tokens": sum(mine["tokens"] for mine in reasons.values()),
        "reasons": reasons,
        "held_out": {
            "documents": missed["documents"],
            "of": missed["of"],
            "reasons": dict(Counter(line["reason"] for line in skipped if line.get("side") == "held_out")),
        },
    }


def split_time(lines: Sequence[Line]) -> dict[str, float]:
    """Seconds by what they went into; `other` is the rest of the steps (logging, curriculum)."""
    total = dict.fromkeys((*PARTS, "other"), 0.0)
    for line in lines:
        time = line.get("time") or {}
        for part in PARTS:
            total[part] += time.get(part) or 0.0
        inside = sum(time.get(part) or 0.0 for part in ("data", "forward_backward", "optimizer"))
        if "step" in time:
            total["other"] += max(0.0, time["step"] - inside)
    return total


def _ends(held: Sequence[Line], split: str) -> dict[str, Any]:
    """First, last and best loss; `evaluations` and the last one's `step` tell how much stands behind them."""
    seen = [line for line in held if line.get(split)]
    if not seen:
        return {"first": None, "last": None, "best": None, "targets": 0, "evaluations": 0, "step": None}
    values = [line[split]["loss"] for line in seen]
    return {
        "first": values[0],
        "last": values[-1],
        "best": min(values),
        "targets": seen[0][split]["targets"],
        "evaluations": len(values),
        "step": seen[-1]["step"],
    }


def _gap(held: Sequence[Line]) -> dict[str, Any]:
    """Another's picture less one's own at the last evaluation, nats a token, with its interval."""
    shuffled = [line["image_shuffled"] for line in held if line.get("image_shuffled")]
    return shuffled[-1].get("gap", NO_GAP) if shuffled else NO_GAP


def _pictures(held: Sequence[Line]) -> dict[str, Any]:
    """By corpus, at the last evaluation: losses with the right and the wrong picture, the difference a picture."""
    shuffled = [line["image_shuffled"] for line in held if line.get("image_shuffled")]
    return shuffled[-1].get("corpora", {}) if shuffled else {}


def _stage(stage: dict[str, Any], steps: Sequence[Line]) -> dict[str, Any]:
    mine = [line for line in steps if line["stage"] == stage["index"]]
    busy = sum(line["time"]["step"] for line in mine)
    tokens = {kind: sum(line["tokens"][kind] for line in mine) for kind in ("text", "vision")}
    loss: dict[str, Any] = {}
    for kind in ("text", "image"):
        values = [line["loss"][kind] for line in mine if line["loss"][kind] is not None]
        tail = values[-max(1, len(values) // 10) :]
        loss[kind] = {"first": values[0], "last": sum(tail) / len(tail)} if values else None
    return {
        **stage,
        "done": len(mine),
        "tokens": tokens,
        "seconds": round(busy, 3),
        "tokens_per_second": round(sum(tokens.values()) / busy, 1) if busy else None,
        "fill": sum(line["fill"] for line in mine) / len(mine) if mine else None,
        "loss": loss,
    }


def _experts(steps: Sequence[Line], held: Sequence[Line]) -> dict[str, Any] | None:
    """Load max/mean by layer: mean over the last tenth of the steps, and the parts measured at evaluations."""
    if not steps or not steps[-1].get("experts"):
        return None
    tail = steps[-max(1, len(steps) // 10) :]
    probes = [line["balance"] for line in held if line.get("balance")]
    return {
        "layers": steps[-1]["experts"]["layers"],
        "max_over_mean": _column_means([line["experts"]["max_over_mean"] for line in tail]),
        "dead": steps[-1]["experts"]["dead"],
        "quiet": dead_experts(steps),
        "probe": probes[-1] if probes else None,
    }


def dead_experts(steps: Sequence[Line], last: int = QUIET) -> dict[str, Any]:
    """{steps, experts}: by layer, the experts that got no token in any of the `last` steps (of all, where fewer)."""
    tail = [line["experts"]["idle"] for line in steps[-last:] if line.get("experts")]
    idle = [set.intersection(*map(set, layer)) for layer in zip(*tail, strict=True)]
    return {"steps": len(tail), "experts": [sorted(layer) for layer in idle]}


def _column_means(rows: Sequence[Sequence[float]]) -> list[float]:
    return [sum(column) / len(column) for column in zip(*rows, strict=True)]
