"""Cross entropy by Triton's passes: bf16 on a GPU, fp32 with the interpreter elsewhere."""

import os

import pytest
import torch

pytest.importorskip("triton", reason="the kernels need triton (constraints.txt)")

from trivium.kernels.cross_entropy import IGNORE, cross_entropy, cross_entropy_reference, triton_cross_entropy
from trivium.kernels.cross_entropy.triton_cross_entropy import TritonCrossEntropy

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
        return TritonCrossEntropy.apply(hidden_TD.to(DEVICE), weight_VD.to(DEVICE), goal.to(DEVICE)).cpu()

    return run


@pytest.mark.parametrize(("T", "every"), [(0, 4), (1, 0), (1, 1), (14, 3)])
def test_losses_and_gradients_equal_the_dense_form(make, compare, T, every):
    goal = targets(T, every)
    dense = lambda h, w: cross_entropy_reference(h, w, goal)  # noqa: E731
    compare(fast(goal), dense, [make(T, D, dtype=DTYPE), make(V, D, dtype=DTYPE)], 2e-6, GRADIENT)


def test_ignored_tokens_have_no_loss_and_no_gradient(make):
    hidden, goal = make(8, D, dtype=DTYPE), targets(8)
    loss = fast(goal)(hidden, make(V, D, dtype=DTYPE))
    (gradient,) = torch.autograd.grad(loss.sum(), hidden)
    assert loss.dtype == torch.float32
    assert (loss[goal == IGNORE] == 0).all()
    assert (gradient[goal == IGNORE] == 0).all()
    assert (gradient[goal != IGNORE].abs().sum(1) > 0).all()


def test_large_logits_do_not_overflow(make):
    hidden = torch.full((3, D), 1e3, dtype=DTYPE, requires_grad=True)
    loss = fast(torch.tensor([0, 1, IGNORE]))(hidden, make(V, D, dtype=DTYPE))
    assert loss.isfinite().all()
    assert torch.autograd.grad(loss.sum(), hidden)[0].isfinite().all()


def test_a_second_run_gives_the_same_bits(make):
    leaves, goal = [make(12, D, dtype=DTYPE), make(V, D, dtype=DTYPE)], targets(12)
    first, second = ([y := fast(goal)(*leaves), *torch.autograd.grad(y.square().sum(), leaves)] for _ in range(2))
    assert all(torch.equal(a, b) for a, b in zip(first, second, strict=True))


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
