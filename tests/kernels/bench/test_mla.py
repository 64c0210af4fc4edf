"""The attention in the table: its work, wrong results, and the adapter to flex_attention against a dense stand-in."""

from types import SimpleNamespace

import pytest
import torch

from trivium.kernels.bench.case import Layout
from trivium.kernels.bench.operators.mla import EXTRA, MLA, off
from trivium.kernels.bench.oracle import compare, expect, projections, pull, verdict
from trivium.kernels.bench.peers.attention import contestants, flex_call
from trivium.kernels.mla import mla_reference

CPU = torch.device("cpu")
SHAPE = Layout(lengths=(65, 0, 1, 30), heads=3, width=16)


@pytest.mark.parametrize("wrong", ["", "o", "row_max", "dq", "dk", "dv"])
def test_a_wrong_output_or_gradient_is_rejected(wrong):
    torch.manual_seed(0)
    x = MLA.operands(SHAPE, CPU, torch.float32)
    call = MLA.contestants(CPU)[0].bind(SHAPE, CPU)
    weights = projections(call(*x))
    expected = expect(MLA, SHAPE, x, weights)
    assert list(expected) == ["o", "row_max", "dq", "dk", "dv"]
    assert expected["o"].shape[1] == len(expected["row_max"]) == MLA.oracle_heads
    outputs, gradients = pull(call, x, weights)
    for name, tensor in zip(expected, [*outputs, *gradients], strict=True):
        if name == wrong:
            tensor *= 1.01
    said = verdict(MLA, compare(MLA, SHAPE, outputs, gradients, expected), torch.float32)
    assert said.startswith(f"{wrong} is ") if wrong else not said


def test_a_logit_is_off_by_its_own_size():
    assert off(torch.tensor([1010.0, 0.1]), torch.tensor([1000.0, 0.1]).double()) == pytest.approx(0.01)
    assert off(torch.tensor([0.2]), torch.tensor([0.1]).double()) == pytest.approx(0.1)


def test_work_counts_the_pairs_that_see_each_other():
    forward, both = MLA.work(Layout(lengths=(3, 0, 2), heads=2))
    pairs, D, V = 2 * (6 + 3), 128 + EXTRA, 128
    assert forward.flops == pairs * 2 * (D + V)
    assert both.flops == forward.flops + pairs * 2 * (3 * D + 2 * V)
    rows = 2 * 5
    assert forward.bytes == rows * (2 * D + V) * 2 + rows * V * 4


def test_huge_logits_are_huge():
    hard = next(hard for hard in MLA.hard if hard.name == "huge logits")
    _, row_max = MLA.oracle(hard.layout, CPU)(*hard.operands(hard.layout, CPU, torch.float32))
    assert row_max.min() > 1000


def test_flex_attention_is_asked_for_the_same_thing(monkeypatch):
    from torch.nn.attention import flex_attention as module

    def dense(q, k, v, *, block_mask, scale, return_aux):
        assert return_aux.max_scores
        t = torch.arange(q.shape[2])
        sees = block_mask.mask_mod(t[:0], t[:0], t[:, None], t[None, :])
        scores = q @ k.transpose(2, 3) * (q.shape[3] ** -0.5 if scale is None else scale)
        scores = scores.masked_fill(~sees, -torch.inf)
        return scores.softmax(-1) @ v, SimpleNamespace(max_scores=scores.amax(-1))

    monkeypatch.setattr(module, "flex_attention", dense)
    x = MLA.operands(SHAPE, CPU, torch.float32)
    found = flex_call(SHAPE.lengths, CPU, None, compiled=False)(*x)
    for a, b in zip(found, mla_reference(*x, SHAPE.cu_seqlens()), strict=True):
        torch.testing.assert_close(a, b)
    assert not contestants(CPU)
