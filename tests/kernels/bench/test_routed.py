"""The experts and the router in the table: the sampled oracle, wrong results, rows for nothing."""

from dataclasses import replace

import pytest
import torch

from trivium.kernels.bench import measure
from trivium.kernels.bench.case import Contestant
from trivium.kernels.bench.operators.moe import MOE, MOE_FP32_WEIGHTS, _operands, tile_waste
from trivium.kernels.bench.operators.moe_oracle import SampledExperts
from trivium.kernels.bench.operators.route import ROUTE, choices_apart, counts_apart, tokens_apart
from trivium.kernels.bench.operators.routed import TINY_EXPERTS, TINY_ROUTERS
from trivium.kernels.bench.oracle import compare, expect, projections, pull, verdict

CPU = torch.device("cpu")
SMALL = [replace(shape, tokens=13, width=16, hidden=8) for shape in TINY_EXPERTS]


def once(function):
    function()
    return [1.0]


def contest(operator, shape, *calls):
    contestants = [Contestant(name=str(n), bind=lambda shape, device, call=call: call) for n, call in enumerate(calls)]
    return measure.contest(operator, shape, contestants, CPU, once, 1)


@pytest.mark.parametrize("shape", SMALL, ids=["situ", "swiglu"])
@pytest.mark.parametrize(("tokens", "experts"), [(99, 99), (4, 3), (1, 1)])
def test_the_sampled_oracle_is_the_definition_on_its_sample(shape, tokens, experts):
    sampled = SampledExperts(tokens=tokens, experts=experts)
    x = _operands(shape, CPU, torch.float64)
    weights = projections([x[0]])
    found = sampled.expect(shape, x, weights)
    right = expect(replace(MOE, sampled=None), shape, x, weights)
    assert list(found) == list(right) == ["u", "dz", "dprobs", "dw1", "dw3", "dw2"]
    for name, part in found.items():
        assert torch.allclose(part, sampled.part(shape, name, right[name]), rtol=1e-10, atol=1e-12), name
    assert len(found["u"]) == min(tokens, shape.tokens)
    assert len(found["dw2"]) == min(experts, shape.experts)


@pytest.mark.parametrize("wrong", ["u", "dz", "dprobs", "dw1", "dw3", "dw2"])
def test_a_wrong_output_or_gradient_of_the_experts_is_rejected(wrong):
    shape = SMALL[0]
    torch.manual_seed(0)
    x = _operands(shape, CPU, torch.float32)
    call = MOE.contestants(CPU)[0].bind(shape, CPU)
    weights = projections(call(*x))
    expected = expect(MOE, shape, x, weights)
    outputs, gradients = pull(call, x, weights)
    assert not verdict(MOE, compare(MOE, shape, outputs, gradients, expected), torch.float32)
    for name, tensor in zip(expected, [*outputs, *gradients], strict=True):
        if name == wrong:
            tensor[-1] *= 1.01  # the last token or expert
    assert verdict(MOE, compare(MOE, shape, outputs, gradients, expected), torch.float32).startswith(f"{wrong} is ")


def test_an_expert_outside_the_sample_must_be_finite():
    few = replace(MOE, sampled=SampledExperts(tokens=2, experts=2))

    def poisoned(z, indices, probs, w1, w3, w2):
        (u,) = MOE.contestants(CPU)[0].bind(SMALL[0], CPU)(z, indices, probs, w1, w3, w2)
        return (torch.where(torch.arange(len(u))[:, None] == 5, torch.nan, u),)

    (row,) = contest(few, SMALL[0], poisoned)
    assert row.red == "u is not finite"


def test_masters_are_fp32_and_rows_are_not():
    z, indices, probs, *weights = MOE_FP32_WEIGHTS.operands(SMALL[0], CPU, torch.bfloat16)
    assert {w.dtype for w in weights} == {torch.float32}
    assert (z.dtype, indices.dtype, probs.dtype) == (torch.bfloat16, torch.int64, torch.float32)
    assert {w.dtype for w in MOE.operands(SMALL[0], CPU, torch.bfloat16)[3:]} == {torch.bfloat16}
    forward, both = MOE.work(SMALL[0])
    pairs = SMALL[0].tokens * SMALL[0].experts_per_token
    assert forward.flops == 6 * pairs * SMALL[0].width * SMALL[0].hidden
    assert both.flops == 3 * forward.flops
    assert MOE_FP32_WEIGHTS.work(SMALL[0])[1].bytes > both.bytes


def test_rows_for_nothing_are_those_that_fill_tiles():
    load = torch.tensor([128, 1, 0, 127])
    assert tile_waste(load, 128) == pytest.approx(1 - 256 / 384)
    assert tile_waste(load, 1) == 0
    assert tile_waste(load, 16) == pytest.approx(1 - 256 / 272)
    (row,) = contest(MOE, SMALL[0], MOE.contestants(CPU)[0].bind(SMALL[0], CPU))
    assert row.waste.buffer > 0  # the path for a CPU fills tiles of 8 rows up
    assert row.waste.fullest >= 1
    assert (row.waits, row.launches) == (None, {})


def test_a_router_with_other_choices_shares_or_counts_gets_no_figure():
    shape = TINY_ROUTERS[0]
    ours = ROUTE.contestants(CPU)[0].bind(shape, CPU)

    def changed(place, change):
        def call(*x):
            found = list(ours(*x))
            found[place] = change(found[place])
            return tuple(found)

        return call

    rows = contest(
        ROUTE, shape, ours, changed(0, lambda i: (i + 1) % shape.experts), changed(1, lambda p: p * 1.01),
        changed(2, lambda c: c + 0.01), changed(3, lambda c: c.roll(1, 1)), changed(1, lambda p: p.detach() + 0 * p),
        changed(0, lambda i: i.flip(1)),
    )  # fmt: skip
    reds = [row.red.partition(" ")[0] for row in rows]
    assert reds == ["", "indices", "probs", "cutoff", "counts", "dlogits", ""]  # their order is nobody's business
    assert set(rows[0].errors) == {"indices", "probs", "cutoff", "counts", "dlogits", "dbias"}


def test_what_the_router_may_differ_in_is_a_share():
    one = torch.arange(12).view(4, 3)
    other = one.clone()
    other[2, 1] = 99
    assert choices_apart(one.flip(1), one) == 0
    assert choices_apart(other, one) == 0.25
    assert tokens_apart(other.double(), one.double()) == 0.25
    assert tokens_apart(one.double() * (1 + 1e-6), one.double()) == 0
    assert counts_apart(torch.tensor([[4, 1, 3]]), torch.tensor([[4, 2, 2]])) == 0.25
