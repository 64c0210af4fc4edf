"""The short convolution against its definition, over borders, with tails in and out."""

import pytest
import torch

pytest.importorskip("hypothesis", reason="laws are tested with hypothesis")

from hypothesis import given, settings
from hypothesis import strategies as st

from trivium.kernels.short_conv import TapPlan, short_conv, short_conv_reference, short_conv_step

C = 5


def with_tails(cu):
    return (
        lambda x, w, tail: short_conv(x, w, cu, initial_tail=tail, return_tail=True),
        lambda x, w, tail: short_conv_reference(x, w, cu, initial_tail=tail),
    )


@settings(max_examples=25)
@given(lengths=st.lists(st.integers(0, 9), min_size=1, max_size=6))
def test_any_layout_equals_the_definition(make, compare, borders, lengths):
    cu = borders(lengths)
    compare(*with_tails(cu), [make(int(cu[-1]), C), make(C, 4), make(len(lengths), 3, C)])
    compare(
        lambda x, w: short_conv(x, w, cu), lambda x, w: short_conv_reference(x, w, cu)[0],
        [make(int(cu[-1]), C), make(C, 4)],
    )  # fmt: skip


def test_steps_equal_the_definition(make, borders):
    x, weight, tails = make(2, 7, C).detach(), make(C, 4).detach(), make(2, 3, C).detach()
    whole, final = short_conv_reference(x.flatten(0, 1), weight, borders([7, 7]), initial_tail=tails)
    rows = []
    for t in range(7):
        y, tails = short_conv_step(x[:, t], weight, tails)
        rows.append(y)
    torch.testing.assert_close(torch.stack(rows, 1).flatten(0, 1), whole)
    torch.testing.assert_close(tails, final)


def test_small_case_passes_gradcheck(make, borders):
    cu = borders([4, 0, 1, 2])
    assert torch.autograd.gradcheck(with_tails(cu)[0], [make(7, 2), make(2, 4), make(4, 3, 2)])


def test_low_precision_stays_near_fp64(make, compare, borders):
    cu = borders([5, 0, 30])
    for dtype, tolerance in ((torch.float32, 1e-6), (torch.bfloat16, 8e-3)):
        x = [make(35, 8, dtype=dtype), make(8, 4, dtype=dtype), make(3, 3, 8, dtype=dtype)]
        compare(*with_tails(cu), x, tolerance, tolerance)


def test_nothing_leaks_over_a_border(make, borders):
    x, w = make(12, 32, dtype=torch.float32), make(32, 4, dtype=torch.float32)
    cu = borders([5, 7])
    poisoned = x.detach().clone()
    poisoned[:5] = torch.nan
    assert torch.equal(short_conv(poisoned, w, cu)[5:], short_conv(x[5:], w, borders([7])))
    y = short_conv(x, w, cu)
    (gradient,) = torch.autograd.grad(y[5:].sum(), x)
    assert gradient[:5].abs().max() == 0


def test_token_by_token_with_tails_equals_one_pass_bit_for_bit(make, borders):
    x, w = make(9, 32, dtype=torch.float32).detach(), make(32, 4, dtype=torch.float32).detach()
    whole, final = short_conv(x, w, borders([9]), return_tail=True)
    tail, parts = torch.zeros(1, 3, 32), []
    for t in range(9):
        y, tail = short_conv(x[t : t + 1], w, borders([1]), initial_tail=tail, return_tail=True)
        parts.append(y)
    assert torch.equal(torch.cat(parts), whole)
    assert torch.equal(tail, final)


def test_wrong_operands_are_named(make, borders):
    x, w, cu = make(9, 5), make(5, 4), borders([4, 5])
    with pytest.raises(ValueError, match=r"weight_C4 must be \[C, 4\] = \[5, 4\]; found \[5, 1, 4\]"):
        short_conv(x, w.unsqueeze(1), cu)
    with pytest.raises(ValueError, match=r"initial_tail must be \[D, 3, C\]"):
        short_conv(x, w, cu, initial_tail=make(2, 5, 3))
    with pytest.raises(ValueError, match="documents packed into one row"):
        short_conv(x.unsqueeze(0), w, cu)
    with pytest.raises(ValueError, match="built for another cu_seqlens"):
        short_conv(x, w, cu, plan=TapPlan.build(borders([9]), 9))
