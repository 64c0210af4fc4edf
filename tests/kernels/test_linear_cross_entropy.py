"""The weighted sum of losses with its gradients taken in the forward pass, against the dense definition."""

import pytest
import torch

from trivium.kernels.cross_entropy import (
    IGNORE,
    cross_entropy,
    linear_cross_entropy,
    linear_cross_entropy_reference,
    torch_cross_entropy,
)

D, V = 6, 11


def targets(T, every=4):
    values = torch.arange(T) * 7 % V
    if every:
        values[::every] = IGNORE
    return values


def weights(T):
    return torch.arange(T) % 3 * 0.25  # every third token counts for nothing


def pair(goal, weights_T=None, z_loss=0.0, **options):
    def fast(hidden, weight):
        return linear_cross_entropy(hidden, weight, goal, weights_T, z_loss=z_loss, **options)[:2]

    return fast, lambda h, w: linear_cross_entropy_reference(h, w, goal, weights_T, z_loss=z_loss)


@pytest.mark.parametrize("z_loss", [0.0, 0.3])
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize(("T", "every"), [(0, 4), (1, 0), (1, 1), (7, 1), (64, 4)])
def test_total_losses_and_gradients_equal_the_dense_form(make, compare, T, every, weighted, z_loss):
    goal = targets(T, every)
    compare(*pair(goal, weights(T) if weighted else None, z_loss), [make(T, D), make(V, D)])


@pytest.mark.parametrize("counted", [False, True])
def test_several_blocks_equal_one(make, compare, monkeypatch, counted):
    monkeypatch.setattr(torch_cross_entropy, "BLOCK_NUMBERS", 100)
    monkeypatch.setattr(torch_cross_entropy, "MIN_BLOCK", 5)
    goal = targets(64)
    count = int((goal != IGNORE).sum()) if counted else None
    compare(*pair(goal, weights(64), 0.1, count=count), [make(64, D), make(V, D)])


def test_without_ignored_tokens_a_known_count_equals_none(make, compare):
    compare(*pair(targets(9, 0), weights(9), 0.1, count=9), [make(9, D), make(V, D)])


def test_small_case_passes_gradcheck(make):
    run, _ = pair(targets(5), weights(5), 0.2)
    assert torch.autograd.gradcheck(lambda h, w: run(h, w)[0], [make(5, 3), make(V, 3)])


@pytest.mark.parametrize(("dtype", "tolerance"), [(torch.float32, 2e-6), (torch.bfloat16, 1e-2)])
def test_low_precision_stays_near_fp64_and_losses_are_fp32(make, compare, dtype, tolerance):
    operands = [make(40, 32, dtype=dtype), make(V, 32, dtype=dtype)]
    compare(*pair(targets(40), weights(40), 1e-2), operands, 2e-6, tolerance)
    assert {x.dtype for x in linear_cross_entropy(*operands, targets(40))} == {torch.float32}


def test_log_sums_are_told(make):
    hidden, weight, goal = make(9, D), make(V, D), targets(9)
    lse_T = linear_cross_entropy(hidden, weight, goal)[2]
    right_T = torch.logsumexp(hidden @ weight.T, 1).masked_fill(goal == IGNORE, 0)
    torch.testing.assert_close(lse_T, right_T.detach())


def test_a_second_backward_gives_the_same_gradients(make):
    leaves, goal = [make(12, D), make(V, D)], targets(12)
    total = linear_cross_entropy(*leaves, goal, z_loss=0.1)[0]
    first = torch.autograd.grad(3 * total, leaves, retain_graph=True)
    for gradient in first:  # they are the caller's, to change as he likes
        gradient.zero_()
    second = torch.autograd.grad(2 * total, leaves)
    right = torch.autograd.grad(2 * pair(goal, None, 0.1)[1](*leaves)[0], leaves)
    for a, b in zip(second, right, strict=True):
        torch.testing.assert_close(a, b)


@pytest.mark.parametrize("frozen", [0, 1])
def test_what_is_frozen_gets_no_gradient_and_none_is_made(make, frozen, monkeypatch):
    def refused(*_):
        raise AssertionError("a gradient that nobody takes")

    monkeypatch.setattr(torch_cross_entropy.TorchPath, ("dhidden", "dweight")[frozen], refused)
    leaves, goal = [make(8, D), make(V, D)], targets(8)
    leaves[frozen].requires_grad_(False)
    for loss in (linear_cross_entropy(*leaves, goal)[0], cross_entropy(*leaves, goal).sum()):
        loss.backward()
    assert leaves[frozen].grad is None
    assert leaves[1 - frozen].grad.isfinite().all()


def test_without_gradients_nothing_of_them_is_done(make, monkeypatch):
    leaves, goal = [make(8, D), make(V, D)], targets(8)
    expected = linear_cross_entropy(*leaves, goal)
    monkeypatch.setattr(torch_cross_entropy.TorchPath, "both", None)
    with torch.no_grad():
        found = linear_cross_entropy(*leaves, goal)
    assert not found[0].requires_grad
    assert all(torch.equal(a, b) for a, b in zip(found, expected, strict=True))


def test_a_row_that_is_not_finite_stays_in_its_row(make):
    hidden, weight, goal = make(8, D), make(V, D), targets(8, 0)
    clean = linear_cross_entropy(hidden, weight, goal)[1]
    with torch.no_grad():
        hidden[3] = torch.nan
    loss = linear_cross_entropy(hidden, weight, goal)[1]
    assert loss.isnan().nonzero().tolist() == [[3]]
    assert torch.equal(loss[[0, 1, 2, 4, 5, 6, 7]], clean[[0, 1, 2, 4, 5, 6, 7]])


def test_large_logits_do_not_overflow(make):
    hidden = torch.full((3, D), 1e4, requires_grad=True)
    weight = make(V, D, dtype=torch.float32)
    total, loss, _ = linear_cross_entropy(hidden, weight, torch.tensor([0, 1, IGNORE]))
    assert loss.isfinite().all()
    assert all(x.isfinite().all() for x in torch.autograd.grad(total, [hidden, weight]))


def test_a_second_run_gives_the_same_bits(make):
    leaves, goal = [make(12, D, dtype=torch.float32), make(V, D, dtype=torch.float32)], targets(12)
    runs = [linear_cross_entropy(*leaves, goal, weights(12), z_loss=0.1) for _ in range(2)]
    first, second = ([*found, *torch.autograd.grad(found[0], leaves)] for found in runs)
    assert all(torch.equal(a, b) for a, b in zip(first, second, strict=True))


@pytest.mark.parametrize("wrong", [V, -1])
def test_a_target_outside_the_vocabulary_is_an_error(make, wrong):
    for loss in (cross_entropy, linear_cross_entropy):
        with pytest.raises(RuntimeError, match="out of bounds"):
            loss(make(2, D), make(V, D), torch.tensor([0, wrong]))


def test_a_wrong_count_and_operands_that_do_not_fit_are_errors(make):
    hidden, weight, goal = make(8, D), make(V, D), targets(8)
    with pytest.raises(RuntimeError, match="`count` is not the number of targets"):
        linear_cross_entropy(hidden, weight, goal, count=5)
    with pytest.raises(ValueError, match="weights must be"):
        linear_cross_entropy(hidden, weight, goal, torch.ones(7))
    with pytest.raises(ValueError, match="no gradient here"):
        linear_cross_entropy(hidden, weight, goal, torch.ones(8, requires_grad=True))
