"""The first losses of the nano model on the CPU: a pure refactor must give the same numbers.

The bound holds across torch 2.11 and 2.13 and both orders of summation; a change of the architecture, of an initial
value or of a sign moves these losses by far more.
"""

import json
from pathlib import Path

import numpy as np
import pytest
import torch

from trivium.model.batch import Sample, collate
from trivium.model.presets import preset

GOLDEN = Path(__file__).parents[1] / "golden" / "nano_losses.json"
STEPS = 4
RATE = 0.5


def first_losses() -> dict[str, list[float]]:
    """Mean losses of the nano preset over a few plain gradient steps on one fixed batch, quantile update included."""
    config = preset("nano")
    model = config.build(seed=0).train()
    draw = np.random.default_rng(0)
    documents = []
    for length, pictures in ((90, 1), (40, 0), (70, 2)):
        ids = draw.integers(0, 2000, length)
        for picture in range(pictures):
            ids[3 + 5 * picture : 7 + 5 * picture] = config.media_pad
        patches = [torch.from_numpy(draw.standard_normal((16, 588)).astype(np.float32)) for _ in range(pictures)]
        documents.append(Sample(ids, np.ones(length, dtype=bool), [(1, 4, 4)] * pictures, patches))
    batch = collate(documents, config.media_pad)
    found: dict[str, list[float]] = {"loss": [], "mtp": []}
    for _ in range(STEPS):
        out = model(batch)
        loss, mtp = out.loss_T.sum() / batch.targets, out.mtp_loss_T.sum() / (out.mtp_targets_T >= 0).sum()
        found["loss"].append(loss.item())
        found["mtp"].append(mtp.item())
        model.zero_grad()
        (loss + 0.3 * mtp).backward()
        with torch.no_grad():
            for parameter in model.parameters():
                if parameter.grad is not None:
                    parameter -= RATE * parameter.grad
        model.quantile_update()
    return found


def test_first_losses():
    wanted = json.loads(GOLDEN.read_text())
    found = first_losses()
    assert found["loss"] == pytest.approx(wanted["loss"], rel=2e-4)
    assert found["mtp"] == pytest.approx(wanted["mtp"], rel=2e-4)
    assert found["loss"][-1] < found["loss"][0] - 0.05
