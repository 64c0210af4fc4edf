"""The hunt for gradients that are not finite: which operator's absence heals them."""

import importlib.util
import math
from pathlib import Path

import pytest
import torch
from torch import nn

from trivium.kernels import kda, moe
from trivium.kernels.dispatch import use_triton

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture(scope="module", name="hunt")
def fixture_hunt():
    spec = importlib.util.spec_from_file_location("nan_hunt", ROOT / "bench" / "nan_hunt.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_the_operator_whose_absence_heals_is_the_one_that_broke(hunt, monkeypatch):
    model = nn.Sequential(nn.Linear(2, 2), nn.Linear(2, 2))
    monkeypatch.setattr("trivium.kernels.dispatch.use_triton", lambda operator, x, **_: True)
    for module in (kda, moe):
        monkeypatch.setattr(module, "use_triton", hunt.dispatch.use_triton)

    def again():
        x = model(torch.ones(2))
        broken = moe.use_triton("experts", x)
        assert isinstance(kda.use_triton("kda", x), bool)
        (x.sum() * (math.nan if broken else 1.0)).backward()

    found = {label: (count, names) for label, count, names in hunt.replays(again, model, 2)}
    assert found["nothing"] == (2, ["1.bias", "1.weight", "0.bias", "0.weight"])
    assert found["kda"][0] == 2
    assert found["experts"] == (0, [])
    assert found["all of them"] == (0, [])
    assert moe.use_triton is hunt.dispatch.use_triton  # as it was


def test_every_operator_with_kernels_can_be_switched_off(hunt):
    asked = set()
    for path in (ROOT / "kernels").rglob("*.py"):
        for piece in path.read_text(encoding="utf-8").split('use_triton("')[1:]:
            asked.add(piece.partition('"')[0])
    assert asked - {"kda_draft", "short_conv_draft"} == set(hunt.OPERATORS)  # those two are of decoding
    assert use_triton("kda", torch.zeros(1)) is False
