"""Long rows of whole documents through the nano model: as good as the documents alone, in bounded memory."""

import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import torch

from trivium.model import layer
from trivium.model.batch import Sample, collate
from trivium.model.presets import preset

SCRIPT = Path(__file__).parents[2] / "scripts/long_row.py"


@pytest.mark.parametrize("stretch", [1, 40, 90, 150])
def test_stretches_without_gradients_change_nothing(awake, small, sample, monkeypatch, stretch):
    model = awake(small).eval()
    batch = collate([sample(n, seed=i) for i, n in enumerate([37, 90, 1, 2, 70])], small.media_pad)
    whole = model(batch, mtp=True)
    monkeypatch.setattr(layer, "STRETCH", stretch)
    with torch.no_grad():
        parts = model(batch, mtp=True)
    torch.testing.assert_close(parts.loss_T, whole.loss_T.detach(), rtol=1e-10, atol=1e-10)
    torch.testing.assert_close(parts.mtp_loss_T, whole.mtp_loss_T.detach(), rtol=1e-10, atol=1e-10)


@pytest.mark.timeout(1800)
@pytest.mark.parametrize(
    "tokens",
    [pytest.param(1 << 14, marks=pytest.mark.slow), pytest.param(1 << 20, marks=pytest.mark.soak)],
    ids=["16K", "1M"],
)
def test_a_long_row_of_documents_goes_through_in_bounded_memory(tokens):
    command = [
        sys.executable,
        str(SCRIPT),
        "--tokens",
        str(tokens),
        "--alone",
        "4",
        "--most",
        "1.5" if tokens < 1 << 20 else "10",
    ]
    child = subprocess.run(command, capture_output=True, text=True, check=False)
    assert child.returncode == 0, child.stdout + child.stderr
    facts = json.loads(child.stdout)
    assert facts["tokens"] == tokens
    assert facts["documents"] > tokens / 8192


@pytest.mark.timeout(1800)
@pytest.mark.parametrize("tokens", [1 << 11, pytest.param(1 << 16, marks=pytest.mark.soak)], ids=["2K", "64K"])
def test_gradients_of_a_long_row_are_the_sum_of_its_documents_rows(tokens):
    config = preset("nano")
    model = config.build(seed=1)  # evaluation keeps no counts, gradients are the same
    parameters = {name: p for name, p in model.named_parameters() if p.requires_grad}
    draw = np.random.default_rng(0)
    lengths = draw.integers(64, tokens // 16, 64)
    lengths = lengths[: int((lengths.cumsum() < tokens).sum())]
    lengths = np.append(lengths, tokens - lengths.sum())
    samples = [Sample(draw.integers(0, config.media_pad, n), np.ones(n, dtype=bool)) for n in lengths]

    def gradients(rows):
        model.zero_grad()
        for row in rows:
            out = model(collate(row, config.media_pad), mtp=True)
            (out.loss_T.sum() + out.mtp_loss_T.sum()).backward()
        return {name: p.grad.clone() for name, p in parameters.items() if p.grad is not None}

    together, apart = gradients([samples]), gradients([[sample] for sample in samples])
    assert together.keys() == apart.keys()
    assert len(together) > 100
    for name, gradient in apart.items():
        assert torch.linalg.vector_norm(together[name] - gradient) <= 1e-3 * torch.linalg.vector_norm(gradient), name
