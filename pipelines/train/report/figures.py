"""Which charts the page shows, and what each says about itself."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from trivium.pipelines.train.report.charts import Band, Chart, Rule, Series, smoothed

Line = dict[str, Any]

LOAD_NOTE = (
    "Tokens of the busiest expert over the mean, each step, by MoE layer; 1 is even. Quantile Balancing evens out the "
    "batch that it saw; the next one holds other documents, and a document's tokens like the same experts. So this "
    "rises where a step holds few documents (long rows), and says little about balance over a day of training."
)
PROBE_NOTE = (
    "The same quantity taken apart, measured at every evaluation on one training batch, mean over layers: with the "
    "bias that was used on it, after one update on that very batch, and the floor that a router even in expectation "
    "shows by chance. First to second: other documents. Second to floor: an update takes a few rounds to settle. "
    "Inside one document, of those with tokens enough: what its tokens share, above what chance shows there."
)


def figures(facts: dict[str, Any], lines: Sequence[Line]) -> list[Chart]:
    """Every chart of the page in reading order; those without values are left out by the caller."""
    steps = [line for line in lines if line["kind"] == "step"]
    held = [line for line in lines if line["kind"] == "held_out"]
    bands = _bands(facts)
    charts = [
        _loss(steps, bands),
        _held_out(facts, held, bands),
        _gap(held, bands),
        *_experts(steps, held, bands),
        *_optimizer(steps, bands),
        *_speed(steps, bands),
    ]
    changes = tuple(sorted({change["step"] for change in facts["changes"]}))
    return [replace(chart, changes=changes) for chart in charts]


def _bands(facts: dict[str, Any]) -> tuple[Band, ...]:
    """Stages as far as the run has come, so that a stopped one is not drawn into a corner."""
    last = facts["step"] or facts["steps"]
    return tuple(
        Band(stage["name"], stage["first_step"], min(last, stage["first_step"] + stage["steps"]))
        for stage in facts["stages"]
        if stage["first_step"] < last
    )


def _loss(steps: Sequence[Line], bands: tuple[Band, ...]) -> Chart:
    x = [line["step"] for line in steps]
    series: list[Series] = []
    for kind, name, style in (("text", "text", "s1"), ("image", "text of records with pictures", "s2")):
        values = [line["loss"][kind] for line in steps]
        series += [Series(name, x, values, style, thin=True), Series(name, x, smoothed(values), style)]
    mtp = [line["loss"]["mtp"] for line in steps]
    series.append(Series("multi-token prediction (token after the next)", x, smoothed(mtp), "s3"))
    return Chart(
        title="Training loss by modality",
        note="Nats a target. Thin: each step. Bold: mean of the last ten steps. Upright lines: change of stage.",
        unit="nats",
        series=tuple(series),
        bands=bands,
        wide=True,
    )


def _held_out(facts: dict[str, Any], held: Sequence[Line], bands: tuple[Band, ...]) -> Chart:
    x = [line["step"] for line in held]
    names = {"text": "text", "image": "records with pictures", "image_shuffled": "the same, pictures exchanged"}
    series = tuple(
        Series(
            name,
            x,
            [line[split]["loss"] if line.get(split) else None for line in held],
            f"s{i + 1}",
            marks=True,
            dashed=split == "image_shuffled",  # it often lies upon the line before
        )
        for i, (split, name) in enumerate(names.items())
    )
    levels = (
        ("bigram entropy of the training text", facts["bigram_entropy"], "s1"),
        ("bigram entropy beside pictures", facts["bigram_pictures"]["entropy"], "s2"),
    )
    return Chart(
        title="Held-out loss",
        note=once(held)
        + (
            "Nats a target. Records kept out by near-duplicate cluster. Below the dashed line of its colour, the model "
            "uses more than one token of context; where exchanged pictures cost more than the right ones, it reads "
            "them."
        ),
        unit="nats",
        series=series,
        bands=bands,
        rules=tuple(Rule(name, level, style) for name, level, style in levels if level),
        wide=True,
    )


def _gap(held: Sequence[Line], bands: tuple[Band, ...]) -> Chart:
    """Another's picture less one's own, all records with their interval, and each corpus."""
    seen = [line for line in held if (line.get("image_shuffled") or {}).get("gap")]
    x = [line["step"] for line in seen]
    whole = [line["image_shuffled"]["gap"] for line in seen]
    mean, low, high = ([gap[name] for gap in whole] for name in ("mean", "low", "high"))
    series = [Series("all records, shaded: 95 % interval", x, mean, "s1", marks=True, low=low, high=high)]
    corpora = list(dict.fromkeys(name for line in seen for name in line["image_shuffled"]["corpora"]))
    if len(corpora) > 1:
        for at, name in enumerate(corpora[:5]):
            parts = [line["image_shuffled"]["corpora"].get(name) for line in seen]
            means = [part["gap"]["mean"] if part else None for part in parts]
            series.append(Series(name, x, means, f"s{at + 2}", marks=True))
    records = whole[-1]["records"] if whole else 0
    return Chart(
        title="What its own picture is worth",
        note=once(held)
        + (
            f"Nats a target: loss beside another record's picture of the same size less loss beside its own, paired "
            f"over {records} held-out records. Above zero the picture helps; an interval that holds zero shows nothing."
        ),
        unit="nats",
        series=tuple(series),
        bands=bands,
        rules=(Rule("no difference", 0.0),),
        wide=True,
    )


def once(held: Sequence[Line]) -> str:
    """Says so when there is one evaluation only and no line can be drawn."""
    return f"One evaluation so far, at step {held[0]['step']}. " if len(held) == 1 else ""


def _experts(steps: Sequence[Line], held: Sequence[Line], bands: tuple[Band, ...]) -> list[Chart]:
    seen = [line for line in steps if line.get("experts")]
    if not seen:
        return []
    x = [line["step"] for line in seen]
    layers = seen[0]["experts"]["layers"]
    by_layer = tuple(
        Series(name, x, smoothed([line["experts"]["max_over_mean"][i] for line in seen]), f"s{i % 8 + 1}")
        for i, name in enumerate(layers)
    )
    load = Chart("Expert load, max / mean", LOAD_NOTE, "times", by_layer, bands, (Rule("even", 1.0),), floor=1.0)
    probes = [line for line in held if line.get("balance")]
    x = [line["step"] for line in probes]
    names = {
        "before": "with the bias used on it",
        "after": "after the update, same batch",
        "floor": "sampling floor",
        "within": "inside one document",
        "within_floor": "sampling floor there",
    }
    parts = tuple(
        Series(name, x, [_mean(line["balance"][part]) for line in probes], f"s{i + 1}", marks=True)
        for i, (part, name) in enumerate(names.items())
        if all(None not in line["balance"][part] for line in probes)
    )
    return [load, Chart("Expert load, taken apart", PROBE_NOTE, "times", parts, bands, floor=1.0)]


def _optimizer(steps: Sequence[Line], bands: tuple[Band, ...]) -> list[Chart]:
    x = [line["step"] for line in steps]
    whole = [line["grad_norm"] for line in steps]
    tower = [line["vision_grad_norm"] for line in steps]
    logit = [line["max_logit"] for line in steps]
    return [
        Chart(
            "Gradient norm of the vision tower",
            "L2 norm before clipping; a step without pictures has none.",
            "norm",
            (Series("each step", x, tower, "s2", thin=True), Series("vision tower", x, smoothed(tower), "s2")),
            bands,
            log=True,
        ),
        Chart(
            "Gradient norm, all parameters",
            "L2 norm before clipping.",
            "norm",
            (Series("each step", x, whole, "s1", thin=True), Series("all", x, smoothed(whole), "s1")),
            bands,
            log=True,
        ),
        Chart(
            "Learning rate",
            "One rate for Muon and AdamW.",
            "rate",
            (Series("learning rate", x, [line["lr"] for line in steps], "s5"),),
            bands,
            floor=0.0,
        ),
        Chart(
            "Largest attention logit",
            "Over all MLA heads of a step, before the softmax; QK-clip scales back a head above its threshold.",
            "logit",
            (Series("max logit", x, logit, "s4"),),
            bands,
        ),
    ]


def _speed(steps: Sequence[Line], bands: tuple[Band, ...]) -> list[Chart]:
    x = [line["step"] for line in steps]
    rate = [sum(line["tokens"].values()) / line["time"]["step"] if line["time"]["step"] else None for line in steps]
    fill = [100 * line["fill"] for line in steps]
    used = [100 * line["time"]["mfu"] if line["time"].get("mfu") else None for line in steps]
    charts = [
        Chart(
            "Throughput",
            "Text and vision tokens a second of the optimizer step, evaluation and checkpoints apart.",
            "tok/s",
            (Series("each step", x, rate, "s1", thin=True), Series("tokens a second", x, smoothed(rate), "s1")),
            bands,
            floor=0.0,
        ),
        Chart(
            "Row fill",
            "Tokens in the rows of a step over their capacity.",
            "%",
            (Series("fill", x, fill, "s3"),),
            bands,
        ),
    ]
    if any(used):
        charts.insert(
            1,
            Chart(
                "Model FLOPs utilisation",
                "What the mathematics of a step asks for, over what the GPUs' data sheets promise in its time (bf16).",
                "%",
                (Series("each step", x, used, "s2", thin=True), Series("MFU", x, smoothed(used), "s2")),
                bands,
                floor=0.0,
            ),
        )
    return charts


def _mean(values: Sequence[float]) -> float:
    return sum(values) / len(values)
