"""The absorbed step against expanded keys and values."""

import pytest
import torch

from trivium.kernels.mla.step import mla_step, mla_step_reference

B, S, H, N, R, V, L = 3, 11, 2, 6, 4, 5, 7


def operands(make, dtype=torch.float64):
    sizes = (B, H, N + R), (H, N + V, L), (B, S, L + R)
    return [make(*size, dtype=dtype) for size in sizes]


@pytest.mark.parametrize("later", [False, True])
def test_the_absorbed_step_equals_expanded_keys_and_values(make, compare, later):
    before = torch.arange(S) < torch.tensor([[0], [4], [10]]) if later else None
    pair = (lambda *x, step=step: step(*x, before, scale=0.3) for step in (mla_step, mla_step_reference))
    compare(*pair, operands(make))


def test_columns_before_a_document_are_never_looked_at(make):
    q, up, seen = (x.detach() for x in operands(make))
    before = torch.arange(S) < torch.tensor([[0], [4], [10]])
    wanted = mla_step(q, up, seen, before, scale=0.3)
    other = torch.where(before[..., None], 100 * seen + 1, seen)
    assert torch.equal(mla_step(q, up, other, before, scale=0.3), wanted)
    assert not torch.equal(mla_step(q, up, other, scale=0.3), wanted)


def test_the_step_of_bf16_operands_is_fp32_and_near(make, compare):
    x = operands(make, torch.bfloat16)
    assert mla_step(*x, scale=0.3).dtype == torch.float32
    compare(lambda *x: mla_step(*x, scale=0.3), lambda *x: mla_step_reference(*x, scale=0.3), x, 1e-2, 2e-2)
