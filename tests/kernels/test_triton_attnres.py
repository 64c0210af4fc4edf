"""Attention Residuals in Triton, alone and with the norm behind them: bf16 on a GPU, fp32 in the interpreter."""

import pytest
import torch

pytest.importorskip("triton", reason="the kernels need triton (constraints.txt)")

from trivium.kernels.attnres import attnres, attnres_normed, attnres_reference
from trivium.kernels.attnres.triton_attnres import Launch, TritonAttnRes, run_backward, run_forward
from trivium.kernels.gated_norm import rms_norm_reference

pytestmark = []
GPU = torch.cuda.is_available()
if GPU:
    pytestmark.append(pytest.mark.gpu)
DEVICE, DTYPE = ("cuda", torch.bfloat16) if GPU else ("cpu", torch.float32)
TOLERANCES = (1e-2, 2e-2) if GPU else (2e-6, 5e-6)
EPS, NORM_EPS = 1e-5, 1e-3
MODEL = pytest.param(6, 3000, 448, marks=pytest.mark.gpu)  # as a model has it
RINGS = [  # wide enough for Hopper's kernels, with columns behind the last, more rows than programs, one slot to spare
    pytest.param(sources, 300, width, marks=pytest.mark.gpu) for sources, width in ((4, 2056), (9, 7168), (12, 8192))
]


def mixed(query, gamma, weight, *sources):
    weight = None if weight is None else weight.to(DEVICE)
    moved = (source.to(DEVICE) for source in sources)
    return TritonAttnRes.apply(query.to(DEVICE), gamma.to(DEVICE), weight, EPS, NORM_EPS, *moved).cpu()


def vectors(make, W):
    return [make(W, dtype=torch.float32, scale=W**-0.5), make(W, dtype=torch.float32, scale=0.1, shift=1)]


@pytest.mark.parametrize(("sources", "T", "W"), [(1, 3, 40), (5, 19, 40), (3, 2, 1100), (2, 0, 16), MODEL, *RINGS])
def test_the_mixture_equals_its_definition(make, compare, sources, T, W):
    x = [*vectors(make, W), *(make(T, W, dtype=DTYPE) for _ in range(sources))]
    compare(lambda q, g, *v: mixed(q, g, None, *v), lambda q, g, *v: attnres_reference(v, q, g, EPS), x, *TOLERANCES)


@pytest.mark.parametrize(("sources", "T", "W"), [(3, 19, 40), MODEL, *RINGS])
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


def test_the_rehearsal_runs_both_ways(monkeypatch):
    from trivium.kernels.attnres import triton_attnres

    ways = []
    for name in ("run_forward", "run_backward"):
        whole = getattr(triton_attnres, name)
        monkeypatch.setattr(triton_attnres, name, lambda *x, name=name, whole=whole: (ways.append(name), whole(*x))[1])
    triton_attnres._both_ways(torch.device(DEVICE), 40, True, torch.float32, torch.float32, DTYPE, DTYPE)
    assert ways == ["run_forward", "run_backward"]


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


CUTS = {  # of 40 columns, and rows that are no multiple of anything
    "pieces": Launch(1, 16, 4, programs=4),
    "pieces of two rows": Launch(2, 16, 4, programs=3),
    "two passes": Launch(2, 16, 4, second=Launch(4, 16, 4, programs=2)),
}
PATHS = [*CUTS, pytest.param("ring", marks=pytest.mark.gpu)]  # Hopper's kernels, with columns of their own


def launches(cut):
    """(forward, backward, how, columns)."""
    if cut != "ring":
        return run_forward, run_backward, {"launch": CUTS[cut]}, 40
    ring = pytest.importorskip("trivium.kernels.attnres.gluon_launch")
    if torch.cuda.get_device_capability()[0] != 9:
        pytest.skip("Hopper's kernels")
    return ring.run_forward, ring.run_backward, {"ring": ring.Ring(8, 4, 5, 2)}, 2056


@pytest.mark.parametrize("cut", PATHS)
@pytest.mark.parametrize("norm", [True, False])
def test_every_cut_of_the_rows_gives_the_definition(make, cut, norm):
    forward, backward, how, W = launches(cut)
    T = 7
    x = [*vectors(make, W), make(W, dtype=torch.float32), *(make(T, W, dtype=DTYPE) for _ in range(3))]
    dy = make(T, W, dtype=DTYPE).detach()
    query, gamma, weight, *sources = (z.detach().to(DEVICE) for z in x)
    weight = weight if norm else None
    y, stats = forward(query, gamma, weight, EPS, NORM_EPS, tuple(sources), **how)
    grads = tuple(torch.empty_like(v) for v in sources)
    da, dweight = backward(query, gamma, weight, NORM_EPS, tuple(sources), stats, dy.to(DEVICE), grads, **how)
    precise = [z.detach().double().requires_grad_() for z in x]
    expected = attnres_reference(precise[3:], *precise[:2], EPS)
    expected = rms_norm_reference(expected, precise[2], NORM_EPS) if norm else expected
    found = [y, da * gamma, da * query, *grads, *([dweight] if norm else [])]
    wanted = [*precise[:2], *precise[3:], *precise[2 : 2 + norm]]
    right = [expected.detach(), *torch.autograd.grad(expected, wanted, dy.double())]
    for a, b in zip(found, right, strict=True):
        assert (a.cpu().double() - b).norm() <= TOLERANCES[1] * b.norm()


@pytest.mark.parametrize("cut", PATHS)
def test_a_gradient_is_added_to_what_its_buffer_holds_where_asked(make, cut):
    forward, backward, how, W = launches(cut)
    T = 5
    query, gamma, weight, *sources = (
        z.detach().to(DEVICE)
        for z in [*vectors(make, W), make(W, dtype=torch.float32), *(make(T, W, dtype=DTYPE) for _ in range(3))]
    )
    dy = make(T, W, dtype=DTYPE).detach().to(DEVICE)
    _, stats = forward(query, gamma, weight, EPS, NORM_EPS, tuple(sources))
    fixed = query, gamma, weight, NORM_EPS, tuple(sources), stats, dy
    fresh, before = (tuple(torch.full_like(v, value) for v in sources) for value in (torch.nan, 0.5))
    sums = tuple(x.clone() for x in before)
    first = backward(*fixed, fresh, **how)
    second = backward(*fixed, sums, 0b101, **how)
    assert all(torch.equal(a, b) for a, b in zip(first, second, strict=True))
    assert torch.equal(sums[1], fresh[1])
    for i in (0, 2):
        torch.testing.assert_close(sums[i], fresh[i] + before[i], rtol=TOLERANCES[1], atol=TOLERANCES[1])


@pytest.mark.gpu
def test_on_hopper_wide_rows_of_bf16_take_a_ring_and_keep_the_mean(make, monkeypatch):
    launch = pytest.importorskip("trivium.kernels.attnres.gluon_launch")
    if torch.cuda.get_device_capability()[0] != 9:
        pytest.skip("Hopper's kernels")
    taken = []
    run = launch.run_forward
    monkeypatch.setattr(launch, "run_forward", lambda *x: taken.append(1) or run(*x))
    query, gamma = torch.zeros(2048), torch.ones(2048)
    stack = make(5, 300, 2048, dtype=torch.bfloat16).detach()
    assert torch.equal(mixed(query, gamma, None, *stack), (sum(stack.float()) / 5).bfloat16())
    assert taken == [1]
    mixed(query, gamma, None, *stack.float())
    monkeypatch.setenv("TRIVIUM_KERNELS", "portable")
    mixed(query, gamma, None, *stack)
    assert taken == [1]


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
