"""SiTU-GLU, the router and the grouped experts against their definitions."""

import pytest
import torch

pytest.importorskip("hypothesis", reason="laws are tested with hypothesis")

from hypothesis import given, settings
from hypothesis import strategies as st

from trivium.kernels.moe import (
    experts,
    experts_reference,
    experts_step,
    route,
    route_counted,
    route_reference,
    situ_glu,
    situ_glu_reference,
)

E, K, L, F = 8, 3, 6, 5


def weights(make, dtype=torch.float64, E=E, L=L, F=F):
    return [make(E, F, L, dtype=dtype), make(E, F, L, dtype=dtype), make(E, L, F, dtype=dtype)]


def routed(make, T, k=K, E=E, dtype=torch.float64):
    indices, probs, _ = route(make(T, E), make(E, scale=0.1).detach(), k)
    return indices, probs.detach().to(dtype)


def test_situ_equals_its_definition_and_is_bounded(make, compare):
    compare(situ_glu, situ_glu_reference, [make(7, 5, scale=5), make(7, 5, scale=30)])
    assert torch.autograd.gradcheck(situ_glu, [make(3, 2, scale=3), make(3, 2, scale=20)])
    huge = torch.tensor([-1e4, 1e4, 1e4], dtype=torch.float32)
    assert torch.equal(situ_glu(huge, torch.tensor([1e4, 1e4, -1e4])), torch.tensor([0.0, 100.0, -100.0]))


@pytest.mark.parametrize("activation", ["situ", "swiglu"])
@pytest.mark.parametrize("T", [1, 2, 5])
def test_experts_fetched_pair_by_pair_equal_the_definition(make, T, activation):
    operands = (make(T, L).detach(), *routed(make, T), *(w.detach() for w in weights(make)))
    expected = experts_reference(*operands, activation=activation)
    torch.testing.assert_close(experts_step(*operands, activation=activation), expected)


@pytest.mark.parametrize("T", [0, 1, 20])
def test_the_router_equals_its_definition(make, compare, T):
    bias = make(E, scale=0.3).detach()
    compare(lambda x: route(x, bias, K), lambda x: route_reference(x, bias, K), [make(T, E)])


def test_the_router_chooses_by_biased_scores_and_weighs_by_plain_ones(make):
    logits, bias = make(50, E).detach(), make(E, scale=0.5).detach()
    indices, probs, cutoff = route(logits, bias, K)
    scores = torch.sigmoid(logits)
    biased = (scores + bias).sort(dim=1, descending=True).values
    assert torch.equal((scores + bias).gather(1, indices), biased[:, :K])
    assert torch.equal(cutoff, biased[:, K])
    chosen = scores.gather(1, indices)
    torch.testing.assert_close(probs, chosen / chosen.sum(1, keepdim=True))
    assert route(logits.bfloat16(), bias.float(), K)[1].dtype == torch.float32
    with pytest.raises(ValueError, match="k must lie between 1 and experts − 1 = 7; found 8"):
        route(logits, bias, 8)


@settings(max_examples=15)
@given(T=st.integers(0, 12), k=st.integers(1, 7), activation=st.sampled_from(["situ", "swiglu"]))
def test_experts_equal_the_loop(make, compare, T, k, activation):
    indices, probs = routed(make, T, k)
    compare(
        lambda z, p, *w: experts(z, indices, p, *w, activation=activation),
        lambda z, p, *w: experts_reference(z, indices, p, *w, activation=activation),
        [make(T, L), probs, *weights(make)],
    )  # fmt: skip


def test_experts_that_get_no_token_have_a_zero_gradient(make):
    w = weights(make)
    indices = torch.tensor([[2, 5], [5, 2]])
    gradients = torch.autograd.grad(experts(make(2, L), indices, torch.full((2, 2), 0.5).double(), *w).sum(), w)
    for gradient in gradients:
        touched = gradient.abs().amax((1, 2)) > 0
        assert touched.nonzero().squeeze(1).tolist() == [2, 5]


def test_small_case_passes_gradcheck(make):
    indices, probs = routed(make, 3, 2, 4)
    leaves = [make(3, 2), probs.requires_grad_(), *weights(make, E=4, L=2, F=2)]
    assert torch.autograd.gradcheck(lambda z, p, *w: experts(z, indices, p, *w), leaves, fast_mode=True)


@pytest.mark.parametrize(("dtype", "tolerance"), [(torch.float32, 2e-6), (torch.bfloat16, 2e-2)])
def test_low_precision_stays_near_fp64(make, compare, dtype, tolerance):
    indices, probs = routed(make, 40, dtype=torch.float32)
    compare(
        lambda z, p, *w: experts(z, indices, p, *w), lambda z, p, *w: experts_reference(z, indices, p, *w),
        [make(40, 32, dtype=dtype), probs, *weights(make, dtype, L=32, F=24)], tolerance, tolerance,
    )  # fmt: skip


def test_a_token_does_not_depend_on_the_order_of_the_others(make):
    indices, probs = routed(make, 30, dtype=torch.float32)
    z, w = make(30, 32, dtype=torch.float32).detach(), weights(make, torch.float32, L=32, F=24)
    order = torch.randperm(30, generator=torch.Generator().manual_seed(1))
    plain = experts(z, indices, probs, *w)
    torch.testing.assert_close(experts(z[order], indices[order], probs[order], *w), plain[order], rtol=1e-5, atol=1e-5)
    assert torch.equal(experts(z, indices, probs, *w), plain)


def test_what_does_not_go_together_is_refused_in_words():
    z, indices, probs = torch.zeros(5, 8), torch.zeros(5, 2, dtype=torch.int64), torch.zeros(5, 2)
    w1, w2 = torch.zeros(3, 16, 8), torch.zeros(3, 8, 16)
    whole = {"z_TL": z, "indices_TK": indices, "probs_TK": probs, "w1_EFL": w1, "w3_EFL": w1, "w2_ELF": w2}
    for name, other in (
        ("z_TL", torch.zeros(10, 8)), ("z_TL", z[None]), ("probs_TK", probs.mT), ("w3_EFL", w1[:, :1]), ("w2_ELF", w1),
    ):  # fmt: skip
        with pytest.raises(ValueError, match=r"must be \[T, L\], indices"):
            experts(**whole | {name: other})
    with pytest.raises(ValueError, match="situ or swiglu; found 'relu'"):
        experts(**whole, activation="relu")
    logits, bias = torch.zeros(5, 4), torch.zeros(4)
    for wrong in ((logits[None], bias), (logits, bias[:1]), (logits, logits)):
        with pytest.raises(ValueError, match=r"logits must be \[T, E\] and bias \[E\]"):
            route(*wrong, 2)
    for k in (0, 4, True):
        with pytest.raises(ValueError, match=f"between 1 and experts − 1 = 3; found {k}"):
            route(logits, bias, k)
    for bins in (-1, True):
        with pytest.raises(ValueError, match=f"how many the histogram has; found {bins}"):
            route_counted(logits, bias, 2, bins)
    with pytest.raises(ValueError, match="one truth value a token"):
        route_counted(logits, bias, 2, 10, torch.ones(5, dtype=torch.int64))
