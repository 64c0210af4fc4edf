"""The head's loss in the table: the sampled oracle, wrong results, peers by stand-ins of their signatures."""

import sys
from dataclasses import replace
from types import ModuleType

import pytest
import torch
from torch.nn import functional

from trivium.kernels.bench import measure
from trivium.kernels.bench.case import Contestant
from trivium.kernels.bench.operators import cross_entropy as operator
from trivium.kernels.bench.operators.cross_entropy import CROSS_ENTROPY, SampledHead
from trivium.kernels.bench.operators.head_shapes import HEAD, TINY_HEADS
from trivium.kernels.bench.oracle import compare, expect, projections, pull, verdict
from trivium.kernels.bench.peers import cross_entropy as peers

CPU = torch.device("cpu")
SHAPE = replace(TINY_HEADS[0], tokens=13, width=16, vocabulary=37)


def operands(dtype):
    torch.manual_seed(0)
    return CROSS_ENTROPY.operands(SHAPE, CPU, dtype)


@pytest.mark.parametrize("numbers", [1, 100, 1 << 20])
@pytest.mark.parametrize(("tokens", "words"), [(99, 99), (4, 5), (1, 1)])
def test_the_sampled_oracle_is_the_definition_on_its_sample(monkeypatch, tokens, words, numbers):
    monkeypatch.setattr(operator, "ORACLE_NUMBERS", numbers)
    sampled, x = SampledHead(tokens=tokens, words=words), operands(torch.float64)
    weights = [torch.tensor(0.75)]
    found = sampled.expect(SHAPE, x, weights)
    right = expect(replace(CROSS_ENTROPY, sampled=None), SHAPE, x, weights)
    assert list(found) == list(right) == ["total", "dhidden", "dweight"]
    for name, part in found.items():
        assert torch.allclose(part, sampled.part(SHAPE, name, right[name]), rtol=1e-10, atol=1e-12), name
    assert len(found["dhidden"]) == min(tokens, SHAPE.tokens)
    assert len(found["dweight"]) == min(words, SHAPE.vocabulary)


@pytest.mark.parametrize("wrong", ["total", "dhidden", "dweight"])
def test_a_wrong_loss_or_gradient_is_rejected(wrong):
    x = operands(torch.float32)
    call = CROSS_ENTROPY.contestants(CPU)[0].bind(SHAPE, CPU)
    weights = projections(call(*x))
    expected = expect(CROSS_ENTROPY, SHAPE, x, weights)
    outputs, gradients = pull(call, x, weights)
    assert not verdict(CROSS_ENTROPY, compare(CROSS_ENTROPY, SHAPE, outputs, gradients, expected), torch.float32)
    for name, tensor in zip(expected, [*outputs, *gradients], strict=True):
        if name == wrong:
            tensor.view(-1)[-1] *= 1.1
    errors = compare(CROSS_ENTROPY, SHAPE, outputs, gradients, expected)
    assert verdict(CROSS_ENTROPY, errors, torch.float32).startswith(f"{wrong} is ")


def test_three_products_are_counted():
    forward, both = CROSS_ENTROPY.work(HEAD)
    assert forward.flops == 2 * 8192 * 2048 * 163840
    assert both.flops == 3 * forward.flops
    assert both.bytes == 2 * forward.bytes == 2 * 2 * 2048 * (8192 + 163840)


class LigerLoss:
    def __init__(self, *, reduction, accum_dtype):
        assert reduction == "mean"
        self.sums = accum_dtype

    def __call__(self, lin_weight, _input, target):
        return functional.cross_entropy(_input @ lin_weight.T, target)


def cut_loss(e, c, targets, *, reduction, filter_eps):
    assert (reduction, filter_eps) == ("mean", None)
    return functional.cross_entropy(e @ c.T, targets)


def test_the_peers_see_our_operands_and_agree(monkeypatch):
    made = {name: ModuleType(name) for name in (
        "liger_kernel", "liger_kernel.transformers", "liger_kernel.transformers.fused_linear_cross_entropy",
        "cut_cross_entropy",
    )}  # fmt: skip
    made["liger_kernel.transformers.fused_linear_cross_entropy"].LigerFusedLinearCrossEntropyLoss = LigerLoss
    made["cut_cross_entropy"].linear_cross_entropy = cut_loss
    for name, module in made.items():
        monkeypatch.setitem(sys.modules, name, module)
    binds = {"fp32": peers.liger(torch.float32), "default": peers.liger(None), "cut": peers.cut}
    found = [Contestant(name=name, bind=bind, peer=True) for name, bind in binds.items()]
    contestants = [*CROSS_ENTROPY.contestants(CPU), *found]
    rows = measure.contest(CROSS_ENTROPY, SHAPE, contestants, CPU, lambda f: [(f() and 1.0) or 1.0], 1)
    assert [row.contestant for row in rows] == ["trivium", "definition", *binds]
    assert [row.red for row in rows] == [""] * 5
    assert rows[0].path == "LinearCrossEntropy"


def test_a_cpu_has_no_library_as_peer():
    assert peers.contestants(CPU) == []
