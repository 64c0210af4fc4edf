"""T3: the share of a nano step that the loop waits for data, by the clock: pictures in every row, one decoder."""

from dataclasses import dataclass
from pathlib import Path

import yaml

from trivium.pipelines.train.metrics import read_metrics
from trivium.pipelines.train.runner import train


@dataclass(frozen=True)
class Waiting:
    share: float


def measure(folder: Path) -> Waiting:
    corpora = {name: {"path": name, "max_epochs": 50} for name in ("text", "small")}
    stage = {"name": "s", "context": 512, "rows": 1, "tokens": 512 * 6, "mixture": {"text": 1, "small": 1}}
    schedule = {"version": 1, "seed": 1, "window": 256, "corpora": corpora, "lr": {"peak": 0.001}, "stages": [stage]}
    run = {"version": 1, "model": {"preset": "nano"}, "schedule": "s.yaml", "corpora": "."}
    run |= {"device": "cpu", "threads": 1, "eval": {"every": 0, "rows": 1}, "data": {"workers": 1}}
    (folder / "s.yaml").write_text(yaml.safe_dump(schedule))
    (folder / "run.yaml").write_text(yaml.safe_dump(run))
    train(folder / "run.yaml", folder / "run", note=lambda _: None)
    steps = [line["time"] for line in read_metrics(folder / "run" / "metrics.jsonl") if line["kind"] == "step"][1:]
    return Waiting(sum(step["data"] for step in steps) / sum(step["step"] for step in steps))
