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
    of_decoding = {"kda_draft", "short_conv_draft", "attnres_bank", "attnres_join"}
    assert asked - of_decoding == set(hunt.OPERATORS)
    assert use_triton("kda", torch.zeros(1)) is False


class Cut(torch.autograd.Function):
    """Passes rows on; the gradient of the last one comes back as nan."""

    @staticmethod
    def forward(ctx, x):
        return x.clone()

    @staticmethod
    def backward(ctx, gradient):
        return torch.cat([gradient[:-1], gradient[-1:] * math.nan])


class Cutting(nn.Linear):
    def forward(self, x):
        return super().forward(Cut.apply(x))


def test_the_module_that_broke_a_gradient_is_named_with_its_rows(hunt):
    model = nn.Sequential(nn.Linear(2, 2), Cutting(2, 2), nn.Linear(2, 2))
    with hunt.traced(model) as found:
        model(torch.ones(4, 2)).sum().backward()
    guilty = [name for name, trace in found.items() if trace.guilty]
    assert guilty == ["1"]  # module 0's input needs no gradient, module 2 is behind the fault
    assert hunt.broken_rows(found["1"].made) == [3]
    assert "rows 3 to 3" in hunt.describe("1", found["1"])
