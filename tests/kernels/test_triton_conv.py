"""The short convolution's Triton kernels: on a GPU, or in the interpreter on tiny fp32 shapes."""

import pytest
import torch

pytest.importorskip("triton", reason="the kernels need triton (constraints.txt)")

from trivium.kernels.short_conv import TapPlan, short_conv, short_conv_reference
from trivium.kernels.short_conv.torch_conv import final_tails
from trivium.kernels.short_conv.triton_conv import LENGTH, TritonShortConv

DEVICE = "cuda" if torch.cuda.is_available() else "cpu"
LAYOUTS = [[5, 0, 1, 2, 30], [LENGTH - 1, LENGTH + 1, 3, 0], [0], []]
BF16 = pytest.param(torch.bfloat16, 8e-3, 1e-2, marks=pytest.mark.gpu)


def conv(x, w, cu, tail=None):
    """(y, last three inputs) by the kernels, wherever they run, back on the CPU."""
    plan = TapPlan.build(cu, x.shape[0])
    y = TritonShortConv.apply(x.to(DEVICE), w.to(DEVICE), None if tail is None else tail.to(DEVICE), plan)
    return y.cpu(), final_tails(x, plan.borders, tail)


@pytest.mark.parametrize(("dtype", "tolerance", "gradient"), [(torch.float32, 1e-6, 1e-6), BF16])
@pytest.mark.parametrize("lengths", LAYOUTS)
def test_any_layout_equals_the_definition(make, compare, borders, lengths, dtype, tolerance, gradient):
    T, D, C, cu = sum(lengths), len(lengths), 130, borders(lengths)
    x = [make(T, C, dtype=dtype), make(C, 4, dtype=dtype), make(D, 3, C, dtype=dtype)]
    compare(
        lambda x, w, tail: conv(x, w, cu, tail), lambda x, w, tail: short_conv_reference(x, w, cu, initial_tail=tail),
        x, tolerance, gradient,
    )  # fmt: skip


@pytest.mark.parametrize(("dtype", "tolerance", "gradient"), [(torch.float32, 1e-6, 1e-6), BF16])
def test_documents_without_a_tail_begin_at_zero(make, compare, borders, dtype, tolerance, gradient):
    cu, x = borders([5, 0, 1, 40]), [make(46, 600, dtype=dtype), make(600, 4, dtype=dtype)]
    compare(lambda x, w: conv(x, w, cu)[0], lambda x, w: short_conv_reference(x, w, cu)[0], x, tolerance, gradient)


def test_nothing_leaks_over_a_border(make, borders):
    x, w = make(12, 32, dtype=torch.float32), make(32, 4, dtype=torch.float32)
    cu = borders([5, 7])
    poisoned = x.detach().clone()
    poisoned[:5] = torch.nan
    assert torch.equal(conv(poisoned, w, cu)[0][5:], conv(x[5:], w, borders([7]))[0])
    (gradient,) = torch.autograd.grad(conv(x, w, cu)[0][5:].sum(), x)
    assert gradient[:5].abs().max() == 0


def test_token_by_token_with_tails_equals_one_pass_bit_for_bit(make, borders):
    x, w = make(9, 32, dtype=torch.float32).detach(), make(32, 4, dtype=torch.float32).detach()
    whole, final = conv(x, w, borders([9]))
    tail, parts = torch.zeros(1, 3, 32), []
    for t in range(9):
        y, tail = conv(x[t : t + 1], w, borders([1]), tail)
        parts.append(y)
    assert torch.equal(torch.cat(parts), whole)
    assert torch.equal(tail, final)


def test_a_second_run_gives_the_same_bits(make, borders):
    x, w = make(2 * LENGTH, 40, dtype=torch.float32), make(40, 4, dtype=torch.float32)
    runs = [torch.autograd.grad(conv(x, w, borders([70, 58]))[0].square().sum(), (x, w)) for _ in range(2)]
    assert all(torch.equal(a, b) for a, b in zip(*runs, strict=True))


@pytest.mark.gpu
def test_the_operator_takes_this_path_on_a_gpu(make, borders):
    x, w, cu = make(70, 64, dtype=torch.bfloat16), make(64, 4, dtype=torch.float32), borders([70])
    y, tail = short_conv(x.cuda(), w.cuda(), cu, return_tail=True)
    assert type(y.grad_fn).__name__ == "TritonShortConvBackward"
    assert torch.equal(y.cpu(), conv(x, w, cu)[0])
    assert torch.equal(tail.cpu(), x[-3:].unsqueeze(0))
