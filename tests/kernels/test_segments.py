"""State and transition of pieces of a document, and their folds: any cut of a document gives the whole one."""

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from trivium.kernels.kda import fold, kda, kda_reference, kda_segment, kda_segment_gradient

H, K, V = 2, 6, 5


def operands(make, T, dtype=torch.float64, H=H, K=K, V=V):
    sizes = [(T, H, K), (T, H, K), (T, H, V), (T, H, K), (T, H), (H,), (H, K), (1, H, K, V)]
    x = [make(*size).detach() for size in sizes]
    x[3] -= 4
    return [part.to(dtype) for part in x]


@settings(max_examples=6)
@given(lengths=st.lists(st.integers(0, 70), min_size=1, max_size=4))
def test_pieces_and_folds_equal_the_whole_document_both_ways(make, borders, lengths):
    cu, T = borders(lengths), sum(lengths)
    q, k, v, gate, beta, A, bias, initial = operands(make, T)
    do, dfinal = make(T, H, V).detach(), make(1, H, K, V).detach()
    leaf = initial.clone().requires_grad_()
    _, final = kda_reference(q, k, v, gate, beta, A, bias, borders([T]), initial_state=leaf)
    o, state = kda(q, k, v, gate, beta, A, bias, borders([T]), initial_state=leaf, return_state=True)
    expected = torch.autograd.grad([o, state], leaf, [do, dfinal])[0]

    states, transitions = kda_segment(k, v, gate, beta, A, bias, cu)
    entering, leaving = fold(states, transitions, initial[0])
    torch.testing.assert_close(leaving, final[0].detach())
    torch.testing.assert_close(kda(q, k, v, gate, beta, A, bias, cu, initial_state=entering), o.detach())
    gradients = kda_segment_gradient(do, q, k, gate, beta, A, bias, cu)
    dleaving, dentering = fold(gradients, transitions, dfinal[0], reverse=True)
    torch.testing.assert_close(dentering, expected[0])
    torch.testing.assert_close(dleaving[-1], dfinal[0])


def test_an_empty_piece_changes_nothing_and_a_fold_begins_at_zero(make, borders):
    _, k, v, gate, beta, A, bias, _ = operands(make, 9)
    states, transitions = kda_segment(k, v, gate, beta, A, bias, borders([0, 9]))
    assert torch.equal(states[0], torch.zeros(H, K, V, dtype=torch.float64))
    assert torch.equal(transitions[0], torch.eye(K, dtype=torch.float64).expand(H, K, K))
    entering, leaving = fold(states, transitions)
    assert entering.abs().max() == 0
    assert torch.equal(leaving, states[1])


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
def test_low_precision_chains_in_fp32(make, borders, dtype):
    x = operands(make, 130, dtype, K=16, V=16)
    exact = kda_segment(*(part.double() for part in x[1:7]), borders([65, 65]))
    found = kda_segment(*x[1:7], borders([65, 65]))
    assert all(part.dtype == torch.float32 for part in found)
    for a, b in zip(fold(*found), fold(*exact), strict=True):
        assert float((a.double() - b).norm() / b.norm()) < 1e-6
