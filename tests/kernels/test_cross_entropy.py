"""Blocked cross entropy against the dense one; no logits of all tokens."""

import pytest
import torch

from trivium.kernels.cross_entropy import IGNORE, cross_entropy, cross_entropy_reference, torch_cross_entropy

D, V = 6, 11


def targets(T, every=4):
    values = torch.arange(T) * 7 % V
    values[::every] = IGNORE
    return values


def pair(goal):
    return lambda h, w: cross_entropy(h, w, goal), lambda h, w: cross_entropy_reference(h, w, goal)


@pytest.mark.parametrize("T", [0, 1, 2, 7, 64])
def test_losses_and_gradients_equal_the_dense_form(make, compare, T):
    compare(*pair(targets(T)), [make(T, D), make(V, D)])


def test_several_blocks_equal_one(make, compare, monkeypatch):
    monkeypatch.setattr(torch_cross_entropy, "BLOCK_NUMBERS", 100)
    monkeypatch.setattr(torch_cross_entropy, "MIN_BLOCK", 5)
    compare(*pair(targets(64)), [make(64, D), make(V, D)])


def test_small_case_passes_gradcheck(make):
    goal = targets(5)
    assert torch.autograd.gradcheck(lambda h, w: cross_entropy(h, w, goal), [make(5, 3), make(V, 3)])


@pytest.mark.parametrize(("dtype", "tolerance"), [(torch.float32, 2e-6), (torch.bfloat16, 1e-2)])
def test_low_precision_stays_near_fp64_and_losses_are_fp32(make, compare, dtype, tolerance):
    operands = [make(40, 32, dtype=dtype), make(V, 32, dtype=dtype)]
    compare(*pair(targets(40)), operands, 2e-6, tolerance)
    assert cross_entropy(*operands, targets(40)).dtype == torch.float32


def test_ignored_tokens_have_no_loss_and_no_gradient(make):
    hidden, goal = make(8, D), targets(8)
    loss = cross_entropy(hidden, make(V, D), goal)
    (gradient,) = torch.autograd.grad(loss.sum(), hidden)
    assert (loss[goal == IGNORE] == 0).all()
    assert (gradient[goal == IGNORE] == 0).all()
    assert (gradient[goal != IGNORE].abs().sum(1) > 0).all()


def test_large_logits_do_not_overflow(make):
    hidden = torch.full((3, D), 1e3, requires_grad=True)
    loss = cross_entropy(hidden, make(V, D, dtype=torch.float32), torch.tensor([0, 1, IGNORE]))
    assert loss.isfinite().all()
    assert torch.autograd.grad(loss.sum(), hidden)[0].isfinite().all()


def test_a_target_outside_the_vocabulary_is_an_error(make):
    with pytest.raises(RuntimeError, match="out of bounds"):
        cross_entropy(make(2, D), make(V, D), torch.tensor([0, V]))
