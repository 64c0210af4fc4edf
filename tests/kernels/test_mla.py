"""Blocked attention against dense softmax; packing; memory linear in the row."""

import subprocess
import sys

import pytest
import torch

pytest.importorskip("hypothesis", reason="laws are tested with hypothesis")

from hypothesis import given, settings
from hypothesis import strategies as st

from trivium.kernels.mla import BlockPlan, mla, mla_gated, mla_gated_reference, mla_reference

H, D, V = 2, 6, 5
RAGGED = [65, 0, 1, 15, 130, 17, 63, 64, 300, 0, 700]


def pair(cu):
    return lambda *x: mla(*x, cu), lambda *x: mla_reference(*x, cu)


def operands(make, T, dtype=torch.float64, D=D, V=V):
    return [make(T, H, D, dtype=dtype), make(T, H, D, dtype=dtype), make(T, H, V, dtype=dtype)]


def test_ragged_documents_equal_dense_softmax(make, compare, borders):
    cu = borders(RAGGED)
    compare(*pair(cu), operands(make, int(cu[-1])))


def test_the_gate_multiplies_the_output_and_has_a_gradient(make, compare, borders):
    cu = borders(RAGGED)
    T = int(cu[-1])
    x = [*operands(make, T), make(T, H, V, scale=3.0)]
    compare(lambda *x: mla_gated(*x, cu), lambda *x: mla_gated_reference(*x, cu), x)


def test_the_gated_output_is_rounded_once(make, borders):
    cu = borders([65, 30])
    x = [part.detach() for part in [*operands(make, 95, torch.bfloat16), make(95, H, V, dtype=torch.bfloat16)]]
    y, _ = mla_gated(*x, cu)
    o, _ = mla(*x[:3], cu)
    assert y.dtype == torch.bfloat16
    assert torch.equal(y, (o * torch.sigmoid(x[3].float())).bfloat16())


@settings(max_examples=20)
@given(lengths=st.lists(st.integers(0, 300), min_size=1, max_size=6))
def test_any_layout_equals_dense_softmax(make, compare, borders, lengths):
    cu = borders(lengths)
    compare(*pair(cu), operands(make, int(cu[-1])))


def test_small_case_passes_gradcheck(make, borders):
    cu = borders([3, 0, 2])
    assert torch.autograd.gradcheck(lambda *x: mla(*x, cu)[0], operands(make, 5))


@pytest.mark.parametrize(("dtype", "tolerance"), [(torch.float32, 2e-6), (torch.bfloat16, 1e-2)])
def test_low_precision_stays_near_fp64_and_the_output_is_fp32(make, compare, borders, dtype, tolerance):
    cu = borders([65, 200])
    x = operands(make, 265, dtype=dtype, D=32, V=32)
    compare(*pair(cu), x, 2e-6, tolerance)
    assert mla(*x, cu)[0].dtype == torch.float32


def test_the_row_max_is_the_largest_logit_even_when_all_are_negative(make, borders):
    q, k, v = (x.detach() for x in operands(make, 17))
    q, k = q.abs(), -k.abs()
    _, row_max = mla(q, k, v, borders([17]))
    dense = torch.einsum("ihd,jhd->hij", q, k) * D**-0.5
    future = torch.ones(17, 17, dtype=torch.bool).triu(1)
    torch.testing.assert_close(row_max, dense.masked_fill(future, -torch.inf).amax((1, 2)))
    assert (row_max < 0).all()
    assert mla(q[:0], k[:0], v[:0], borders([0]))[1].tolist() == [-torch.inf] * H


def test_large_logits_do_not_overflow(make, compare, borders):
    cu = borders([600])
    x = operands(make, 600, dtype=torch.float32)
    compare(*pair(cu), [x[0].detach() * 60, x[1].detach() * 60, x[2]], 2e-4, 2e-2)


def test_a_document_in_a_packed_row_equals_the_document_alone(make, borders):
    cu = borders(RAGGED)
    x = [part.detach() for part in operands(make, int(cu[-1]), torch.float32, 64, 64)]
    weight = make(*x[2].shape, dtype=torch.float32).detach()

    def run(parts, layout, projection):
        leaves = [part.clone().requires_grad_() for part in parts]
        o, _ = mla(*leaves, layout)
        return [o.detach(), *torch.autograd.grad(o, leaves, projection)]

    packed = run(x, cu, weight)
    for start, stop in zip(cu[:-1].tolist(), cu[1:].tolist(), strict=True):
        alone = run([part[start:stop] for part in x], borders([stop - start]), weight[start:stop])
        for inside, outside in zip(packed, alone, strict=True):
            assert torch.equal(inside[start:stop], outside)


def test_editing_a_token_leaves_earlier_outputs_bit_equal(make, borders):
    cu = borders([700])
    x = [part.detach() for part in operands(make, 700, torch.float32, 16, 16)]
    before, _ = mla(*x, cu)
    for t in (1, 15, 16, 127, 128, 129, 511, 512, 640, 699):
        edited = [part.clone() for part in x]
        for part in edited:
            part[t] += 1
        assert torch.equal(mla(*edited, cu)[0][:t], before[:t])


# Scores of all pairs of a row of 16K tokens would be 1 GiB a head, of 32K 4 GiB; operands, output, gradients and copies
# are 10 and 20 MiB.
MEMORY = """
import resource, sys, torch
from trivium.kernels.mla import mla
T = int(sys.argv[1])
x = [torch.randn(T, 1, 8, requires_grad=True) for _ in range(3)]
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
o, _ = mla(*x, torch.tensor([0, T]))
o.sum().backward()
print((resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) / 1024)
"""


@pytest.mark.parametrize("tokens", [8192, pytest.param(32768, marks=pytest.mark.soak)])
def test_memory_of_a_long_row_is_linear(tokens):
    command = [sys.executable, "-c", MEMORY, str(tokens)]
    child = subprocess.run(command, capture_output=True, text=True, check=True, timeout=200)
    assert float(child.stdout) < tokens / 512, "MiB above the operands"


@given(lengths=st.lists(st.integers(0, 900), max_size=12))
def test_the_plan_takes_every_token_once(borders, lengths):
    cu = borders(lengths)
    plan = BlockPlan.build(cu, int(cu[-1]))
    tokens = torch.cat([group.tokens for group in plan.groups]) if plan.groups else torch.empty(0, dtype=torch.long)
    assert torch.equal(tokens.sort().values, torch.arange(int(cu[-1])))
    for group in plan.groups:
        rows, real, tokens = group.places(1)
        assert torch.equal(rows, group.rows.reshape(-1))
        assert torch.equal(rows[real], group.tokens)
        assert torch.equal(tokens, group.tokens)
        assert list(group.live) == sorted(group.live, reverse=True)
        assert group.rows.numel() < 4 * len(group.tokens) + 16 * group.live[0]
