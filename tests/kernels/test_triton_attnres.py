"""Attention Residuals in Triton, alone and with the norm behind them: bf16 on a GPU, fp32 in the interpreter."""

import pytest
import torch

pytest.importorskip("triton", reason="the kernels need triton (constraints.txt)")

from trivium.kernels.attnres import attnres, attnres_normed, attnres_reference
from trivium.kernels.attnres.triton_attnres import TritonAttnRes
from trivium.kernels.gated_norm import rms_norm_reference

pytestmark = []
GPU = torch.cuda.is_available()
if GPU:
    pytestmark.append(pytest.mark.gpu)
DEVICE, DTYPE = ("cuda", torch.bfloat16) if GPU else ("cpu", torch.float32)
TOLERANCES = (1e-2, 2e-2) if GPU else (2e-6, 5e-6)
EPS, NORM_EPS = 1e-5, 1e-3
MODEL = pytest.param(6, 3000, 448, marks=pytest.mark.gpu)  # as a model has it


def mixed(query, gamma, weight, *sources):
    weight = None if weight is None else weight.to(DEVICE)
    moved = (source.to(DEVICE) for source in sources)
    return TritonAttnRes.apply(query.to(DEVICE), gamma.to(DEVICE), weight, EPS, NORM_EPS, *moved).cpu()


def vectors(make, W):
    return [make(W, dtype=torch.float32, scale=W**-0.5), make(W, dtype=torch.float32, scale=0.1, shift=1)]


@pytest.mark.parametrize(("sources", "T", "W"), [(1, 3, 40), (5, 19, 40), (3, 2, 1100), (2, 0, 16), MODEL])
def test_the_mixture_equals_its_definition(make, compare, sources, T, W):
    x = [*vectors(make, W), *(make(T, W, dtype=DTYPE) for _ in range(sources))]
    compare(lambda q, g, *v: mixed(q, g, None, *v), lambda q, g, *v: attnres_reference(v, q, g, EPS), x, *TOLERANCES)


@pytest.mark.parametrize(("sources", "T", "W"), [(3, 19, 40), MODEL])
def test_mixture_and_norm_equal_one_after_the_other(make, compare, sources, T, W):
    x = [*vectors(make, W), make(W, dtype=torch.float32), *(make(T, W, dtype=DTYPE) for _ in range(sources))]
    compare(mixed, lambda q, g, w, *v: rms_norm_reference(attnres_reference(v, q, g, EPS), w, NORM_EPS), x, *TOLERANCES)


def test_sources_of_two_dtypes(make, compare):
    x = [*vectors(make, 48), make(5, 48, dtype=torch.float32), make(5, 48, dtype=torch.bfloat16)]
    y = mixed(*x[:2], None, *x[2:])
    gradients = torch.autograd.grad(y.sum(), x)
    assert y.dtype == torch.float32
    assert [g.dtype for g in gradients] == [z.dtype for z in x]
    torch.testing.assert_close(y, attnres_reference([x[2], x[3].float()], *x[:2], EPS), rtol=1e-5, atol=1e-5)


def test_a_zero_query_gives_the_mean_bit_for_bit_and_the_query_learns(make):
    stack = make(5, 7, 48, dtype=torch.float32).detach()
    query, gamma = torch.zeros(48, requires_grad=True), torch.ones(48, requires_grad=True)
    h = mixed(query, gamma, None, *stack)
    assert torch.equal(h, sum(stack) / 5)
    dquery, dgamma = torch.autograd.grad(h.square().sum(), (query, gamma))
    assert dquery.abs().max() > 0
    assert dgamma.abs().max() == 0


def test_large_logits_do_not_overflow(make):
    stack = make(3, 7, 48, dtype=torch.float32).detach().requires_grad_()
    h = mixed(torch.full((48,), 1e4), torch.ones(48), None, *stack)
    assert h.isfinite().all()
    assert torch.autograd.grad(h.sum(), stack)[0].isfinite().all()


def test_a_second_run_gives_the_same_bits(make):
    leaves = [*vectors(make, 48), make(48, dtype=torch.float32), *(make(19, 48, dtype=DTYPE) for _ in range(2))]
    first, second = ([y := mixed(*leaves), *torch.autograd.grad(y.square().sum(), leaves)] for _ in range(2))
    assert all(torch.equal(a, b) for a, b in zip(first, second, strict=True))


@pytest.mark.gpu
def test_the_operators_take_this_path_on_a_gpu_and_never_wait_for_it(make, waits):
    query, gamma, weight, *sources = (
        x.detach().cuda().requires_grad_()
        for x in [*vectors(make, 64), make(64, dtype=torch.float32), *(make(70, 64, dtype=DTYPE) for _ in range(3))]
    )
    for mode in ("default", "error"):  # the first pass compiles
        with waits(mode):
            plain = attnres(sources, query, gamma)
            normed = attnres_normed(sources, query, gamma, weight)
            gradients = torch.autograd.grad((plain + normed).float().sum(), [query, gamma, weight, *sources])
    assert {type(y.grad_fn).__name__ for y in (plain, normed)} == {"TritonAttnResBackward"}
    assert all(g.isfinite().all() for g in gradients)
