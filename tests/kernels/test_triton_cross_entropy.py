"""Cross entropy by Triton's passes: bf16 on a GPU, fp32 with the interpreter elsewhere."""

import os

import pytest
import torch

pytest.importorskip("triton", reason="the kernels need triton (constraints.txt)")

from trivium.kernels.cross_entropy import (
    IGNORE,
    cross_entropy,
    cross_entropy_reference,
    linear_cross_entropy,
    linear_cross_entropy_reference,
    triton_cross_entropy,
    weight_gradient,
)
from trivium.kernels.cross_entropy.autograd import TritonCrossEntropy, TritonLinearCrossEntropy
from trivium.kernels.cross_entropy.triton_cross_entropy import TritonPath
from trivium.kernels.cross_entropy.weight_gradient import HalvedGradient, WholeGradient

pytestmark = []
GPU = torch.cuda.is_available()
if GPU:
    pytestmark.append(pytest.mark.gpu)
    os.environ.setdefault("CUBLAS_WORKSPACE_CONFIG", ":4096:8")  # or cuBLAS is refused as not deterministic
DEVICE, DTYPE = ("cuda", torch.bfloat16) if GPU else ("cpu", torch.float32)
GRADIENT = 1e-2 if GPU else 4e-6  # a loss is fp32 in both
D, V = 32, 40


@pytest.fixture(autouse=True)
def small_blocks(monkeypatch):
    monkeypatch.setattr(triton_cross_entropy, "BLOCK_NUMBERS", 0)
    monkeypatch.setattr(triton_cross_entropy, "MIN_BLOCK", 8)
    monkeypatch.setattr(triton_cross_entropy, "COLUMNS", 32)


def targets(T, every=4):
    values = torch.arange(T) * 7 % V
    if every:
        values[::every] = IGNORE
    return values


def fast(goal):
    def run(hidden_TD, weight_VD):
        here = [x.to(DEVICE) for x in (hidden_TD, weight_VD, goal)]
        return TritonCrossEntropy.apply(*here, TritonPath, None).cpu()

    return run


def summed(goal, weights_T=None, z_loss=0.0, count=None):
    def run(hidden_TD, weight_VD):
        here = [None if x is None else x.to(DEVICE) for x in (hidden_TD, weight_VD, goal, weights_T)]
        found = TritonLinearCrossEntropy.apply(*here, z_loss, count, None, TritonPath, True)
        return tuple(x.cpu() for x in found[:2])

    return run


@pytest.mark.parametrize(("T", "every"), [(0, 4), (1, 0), (1, 1), (14, 3)])
def test_losses_and_gradients_equal_the_dense_form(make, compare, T, every):
    goal = targets(T, every)
    dense = lambda h, w: cross_entropy_reference(h, w, goal)  # noqa: E731
    compare(fast(goal), dense, [make(T, D, dtype=DTYPE), make(V, D, dtype=DTYPE)], 2e-6, GRADIENT)


@pytest.mark.parametrize("z_loss", [0.0, 0.3])
@pytest.mark.parametrize(("T", "every"), [(0, 4), (1, 0), (1, 1), (30, 3)])
def test_total_losses_and_gradients_equal_the_dense_form(make, compare, T, every, z_loss):
    goal, weights_T = targets(T, every), torch.arange(T) % 3 * 0.25
    dense = lambda h, w: linear_cross_entropy_reference(h, w, goal, weights_T, z_loss=z_loss)  # noqa: E731
    count = int((goal != IGNORE).sum())
    operands = [make(T, D, dtype=DTYPE), make(V, D, dtype=DTYPE)]
    compare(summed(goal, weights_T, z_loss, count), dense, operands, 4e-6, GRADIENT)


@pytest.mark.parametrize("vocabulary", [1, 31, 37, 65])
def test_any_vocabulary_will_do(make, compare, vocabulary):
    goal = torch.arange(11) * 7 % vocabulary
    dense = lambda h, w: linear_cross_entropy_reference(h, w, goal)  # noqa: E731
    compare(summed(goal), dense, [make(11, D, dtype=DTYPE), make(vocabulary, D, dtype=DTYPE)], 4e-6, GRADIENT)


@pytest.mark.parametrize("gradient", [HalvedGradient, WholeGradient])
@pytest.mark.parametrize("vocabulary", [1, 2, 3, 9, 40])
@pytest.mark.parametrize("factor", [None, 1.0, 0.3])
def test_a_sum_is_rounded_once_within_its_own_memory(make, monkeypatch, gradient, vocabulary, factor):
    monkeypatch.setattr(weight_gradient, "FIRST_ROWS", 3)
    weight = torch.empty(vocabulary, D, dtype=torch.bfloat16, device=DEVICE)
    parts = [(make(8, vocabulary, dtype=DTYPE).detach(), make(8, D, dtype=DTYPE).detach()) for _ in range(2)]
    grown = gradient(weight)
    for dlogits, hidden in parts:
        grown.add(dlogits.to(DEVICE), hidden.to(DEVICE))
    scale = None if factor is None else torch.tensor(factor, device=DEVICE)
    found = grown.take(scale).cpu()
    right = (factor or 1.0) * sum(a.double().T @ b.double() for a, b in parts)
    assert found.dtype == torch.bfloat16
    assert found.is_contiguous()
    assert gradient(weight).take(scale).eq(0).all()  # of no block
    torch.testing.assert_close(found.double(), right, rtol=2**-8, atol=1e-5)
    if gradient is HalvedGradient:
        assert found.untyped_storage().nbytes() <= 2 * (vocabulary + 1) * D


def test_a_row_that_is_not_finite_stays_in_its_row(make):
    hidden, weight, goal = make(9, D, dtype=DTYPE), make(V, D, dtype=DTYPE), targets(9, 0)
    clean = summed(goal)(hidden, weight)[1]
    with torch.no_grad():
        hidden[3] = torch.nan
    loss = summed(goal)(hidden, weight)[1]
    assert loss.isnan().nonzero().tolist() == [[3]]
    others = torch.arange(9) != 3
    assert torch.equal(loss[others], clean[others])


def test_ignored_tokens_have_no_loss_and_no_gradient(make):
    hidden, goal = make(8, D, dtype=DTYPE), targets(8)
    loss = fast(goal)(hidden, make(V, D, dtype=DTYPE))
    (gradient,) = torch.autograd.grad(loss.sum(), hidden)
    assert loss.dtype == torch.float32
    assert (loss[goal == IGNORE] == 0).all()
    assert (gradient[goal == IGNORE] == 0).all()
    assert (gradient[goal != IGNORE].abs().sum(1) > 0).all()


def test_large_logits_do_not_overflow(make):
    hidden = torch.full((3, D), 1e4, dtype=DTYPE, requires_grad=True)
    goal, weight = torch.tensor([0, 1, IGNORE]), make(V, D, dtype=DTYPE)
    for loss in (fast(goal)(hidden, weight), summed(goal)(hidden, weight)[0]):
        assert loss.isfinite().all()
        assert torch.autograd.grad(loss.sum(), hidden)[0].isfinite().all()


def test_a_second_run_gives_the_same_bits(make):
    leaves, goal = [make(12, D, dtype=DTYPE), make(V, D, dtype=DTYPE)], targets(12)
    for run in (fast(goal), lambda *x: summed(goal, None, 0.1)(*x)[0]):
        first, second = ([y := run(*leaves), *torch.autograd.grad(y.square().sum(), leaves)] for _ in range(2))
        assert all(torch.equal(a, b) for a, b in zip(first, second, strict=True))


@pytest.mark.gpu
@pytest.mark.parametrize("vocabulary", [9000, 9001, 16384])
def test_gradients_take_the_place_of_logits_whatever_the_threads_do(make, compare, monkeypatch, vocabulary):
    monkeypatch.setattr(triton_cross_entropy, "COLUMNS", 1024)
    monkeypatch.setattr(triton_cross_entropy, "MIN_BLOCK", 128)
    goal = torch.arange(300) * 7 % vocabulary
    dense = lambda h, w: linear_cross_entropy_reference(h, w, goal)  # noqa: E731
    compare(summed(goal), dense, [make(300, D, dtype=DTYPE), make(vocabulary, D, dtype=DTYPE)], 4e-6, GRADIENT)


@pytest.mark.gpu
def test_with_a_count_the_host_never_waits(make, waits):
    leaves = [make(T, D, dtype=DTYPE).detach().cuda().requires_grad_() for T in (300, V)]
    goal = targets(300).cuda()
    count = int((goal != IGNORE).sum())

    def run():
        return torch.autograd.grad(linear_cross_entropy(*leaves, goal, z_loss=0.1, count=count)[0], leaves)

    run()  # the first call compiles
    with waits("error"):
        run()


@pytest.mark.gpu
def test_masters_in_fp32_are_read_as_autocast_would(make):
    hidden, weight = make(300, D, dtype=torch.float32), make(V, D, dtype=torch.float32)
    leaves = [hidden.detach().cuda().requires_grad_(), weight.detach().cuda().requires_grad_()]
    with torch.autocast("cuda", dtype=torch.bfloat16):
        loss = cross_entropy(*leaves, targets(300).cuda())
    gradients = torch.autograd.grad(loss.sum(), leaves)
    assert type(loss.grad_fn).__name__ == "TritonCrossEntropyBackward"
    assert all(x.dtype == torch.float32 for x in (loss, *gradients))
    rounded = cross_entropy_reference(hidden.bfloat16(), weight.bfloat16(), targets(300))
    torch.testing.assert_close(loss.cpu(), rounded.detach(), rtol=1e-5, atol=1e-5)
