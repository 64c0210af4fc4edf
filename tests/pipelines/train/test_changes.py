"""A running schedule that changes: ahead it goes on and is recorded, behind it is refused."""

import json
import re
import shutil

import pytest
import yaml

from trivium.errors import CheckpointError, ConfigError
from trivium.pipelines.train.checkpoint import CheckpointStore
from trivium.pipelines.train.metrics import read_metrics
from trivium.pipelines.train.runner import train


@pytest.fixture
def half(trained, place, tmp_path):
    """(run.yaml, schedule.yaml, run folder) of a run that stands at its last checkpoint but one."""
    root = tmp_path / "run"
    shutil.copytree(trained[0], root)
    store = CheckpointStore(root / "checkpoints", keep=2)
    shutil.rmtree(store.path(store.steps()[-1]))
    return place / "run.yaml", place / "schedule.yaml", root


def _edit(path, edit):
    raw = yaml.safe_load(path.read_text())
    edit(raw)
    path.write_text(yaml.safe_dump(raw))


def test_a_change_ahead_goes_on_and_is_recorded(half, trained):
    run, schedule, root = half
    step = CheckpointStore(root / "checkpoints", keep=2).steps()[-1]
    before = [line for line in read_metrics(root / "metrics.jsonl") if line["step"] <= step]

    def edit(raw):
        raw["lr"]["peak"] *= 0.5
        raw["stages"].append({**raw["stages"][-1], "name": "more", "tokens": 3 * raw["stages"][-1]["context"]})

    _edit(schedule, edit)
    said = []
    facts = train(run, root, note=said.append)
    assert facts["complete"]
    assert facts["steps"] > trained[1]["steps"]
    lines = read_metrics(root / "metrics.jsonl")
    assert lines[: len(before)] == before
    (told,) = [json.loads(line) for line in (root / "changes.jsonl").read_text().splitlines()]
    assert told["step"] == step
    assert {one["key"] for one in told["differences"]} == {"lr.peak", "stages[2]"}
    assert told["lr_after"] < told["lr_before"]
    first = next(line for line in lines if line["kind"] == "step" and line["step"] == step + 1)
    assert first["lr"] == pytest.approx(told["lr_after"])
    assert any(f"changes from step {step} on" in line for line in said)
    assert facts["changes"] == [told]
    page = (root / "report.html").read_text()
    assert f"The schedule changed after step {step} (" in page
    charts = re.findall(r"<svg.*?</svg>", page)
    assert charts
    assert all(f"schedule changed after step {step}</title>" in chart for chart in charts)
    old = yaml.safe_load((root / f"config-{step}.yaml").read_text())
    new = yaml.safe_load((root / "config.yaml").read_text())
    assert [len(config["resolved"]["schedule"]["stages"]) for config in (old, new)] == [2, 3]


@pytest.mark.parametrize(
    ("edit", "message"),
    [
        (lambda raw: raw.update(seed=raw["seed"] + 1), r"schedule.yaml: .* lies behind: seed was"),
        (lambda raw: raw["stages"][0].update(tokens=raw["stages"][0]["tokens"] * 2), r"stages\[0\] .*tokens was"),
        (lambda raw: raw["stages"][-1].update(cut="never"), r"stages\[1\] .*cut was"),
    ],
)
def test_a_change_behind_is_refused(half, edit, message):
    run, schedule, root = half
    _edit(schedule, edit)
    config = (root / "config.yaml").read_bytes()
    with pytest.raises(ConfigError, match=message):
        train(run, root, note=lambda _: None)
    assert not (root / "changes.jsonl").exists()
    assert (root / "config.yaml").read_bytes() == config


def test_limits_may_change_without_a_word(half):
    run, schedule, root = half
    _edit(schedule, lambda raw: [corpus.update(max_epochs=1000) for corpus in raw["corpora"].values()])
    assert train(run, root, note=lambda _: None)["complete"]
    assert not (root / "changes.jsonl").exists()


def test_all_else_is_still_refused_beside_a_change(half):
    run, schedule, root = half
    _edit(schedule, lambda raw: raw["lr"].update(peak=0.001))
    _edit(run, lambda raw: raw.update(grad_clip=0.5))
    with pytest.raises(CheckpointError, match="grad_clip was"):
        train(run, root, note=lambda _: None)
    assert not (root / "changes.jsonl").exists()
