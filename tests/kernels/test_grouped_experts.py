"""The experts by grouped products, gated units and moves of rows in Triton: bf16 on a GPU, else fp32, interpreted."""

import os

import pytest
import torch

pytest.importorskip("triton", reason="the activation's kernels need triton (constraints.txt)")

from trivium.kernels.moe import experts, experts_reference, route, situ_glu, situ_glu_reference, torch_rows, triton_rows
from trivium.kernels.moe.torch_grouped import GroupedExperts, sort_pairs
from trivium.kernels.moe.triton_glu import TritonSiTUGLU
from trivium.kernels.moe.triton_spread import spread

# The interpreter is NumPy: its sigmoid overflows on the way to 0.
pytestmark = [pytest.mark.filterwarnings("ignore:overflow encountered in exp:RuntimeWarning")]
GPU = torch.cuda.is_available()
if GPU:
    pytestmark.append(pytest.mark.gpu)
    os.environ.setdefault("CUBLAS_WORKSPACE_CONFIG", ":4096:8")  # or cuBLAS is refused as not deterministic
DEVICE, DTYPE = ("cuda", torch.bfloat16) if GPU else ("cpu", torch.float32)
TOLERANCES = (1e-2, 2e-2) if GPU else (2e-6, 4e-6)
E, L, F = 8, 16, 24


def operands(make, indices_TK, L=L, F=F, dtype=DTYPE):
    T, K = indices_TK.shape
    probs_TK = make(T, K, dtype=torch.float32, scale=0.2, shift=0.5)
    sizes = (T, L), (E, F, L), (E, F, L), (E, L, F)
    z_TL, *weights = (make(*size, dtype=dtype) for size in sizes)
    return [z_TL, probs_TK, *weights]


def grouped(indices_TK, activation="situ", fused=True):
    def run(z_TL, probs_TK, *weights):
        moved = z_TL.to(DEVICE), indices_TK.to(DEVICE), probs_TK.to(DEVICE), *(w.to(DEVICE) for w in weights)
        return GroupedExperts.apply(*moved, activation, fused).cpu()

    return run


def choices(T, K, only=E):
    """K different experts a token, none of them beyond the first `only`."""
    scores = torch.rand(T, only, generator=torch.Generator().manual_seed(T))
    return scores.argsort(dim=1)[:, :K]


LAYOUTS = {
    "one token": choices(1, 3),
    "empty experts": choices(11, 2, only=3),
    "one expert takes all": torch.full((17, 1), 5),
    "all experts but one": choices(5, E - 1),
}


@pytest.mark.parametrize(
    ("fused", "activation"), [(True, "situ"), (True, "swiglu"), (False, "situ"), (False, "swiglu")]
)
@pytest.mark.parametrize("layout", LAYOUTS)
def test_outputs_and_gradients_equal_the_definition(make, compare, layout, activation, fused):
    indices = LAYOUTS[layout]
    compare(
        grouped(indices, activation, fused),
        lambda z, p, *w: experts_reference(z, indices, p, *w, activation=activation),
        operands(make, indices), *TOLERANCES,
    )  # fmt: skip


def test_no_token_at_all(make):
    z, probs, *w = (x.detach().to(DEVICE).requires_grad_() for x in operands(make, choices(0, 2)))
    y = experts(z, choices(0, 2).to(DEVICE), probs, *w)
    assert y.shape == (0, L)
    assert all(not gradient.any() for gradient in torch.autograd.grad(y.sum(), w))


def test_pairs_are_sorted_by_expert_and_by_token(make):
    indices = choices(50, 3, only=6)
    pair_P, place_P, ends_E = (x.cpu() for x in sort_pairs(indices.to(DEVICE), E))
    flat = indices.flatten()
    assert torch.equal(pair_P, flat.argsort(stable=True))
    assert torch.equal(pair_P[place_P], torch.arange(len(flat)))
    assert torch.equal(ends_E.long(), torch.bincount(flat, minlength=E).cumsum(0))
    assert ends_E.dtype == torch.int32


@pytest.mark.parametrize("path", [torch_rows, triton_rows])
@pytest.mark.parametrize(("T", "K", "width"), [(0, 2, 8), (1, 1, 24), (37, 5, 136), (9, 16, 1100)])
def test_rows_are_taken_and_mixed_as_by_index(make, path, T, K, width):
    pairs = torch.randperm(T * K, generator=torch.Generator().manual_seed(T))
    x, y, z = (make(n, width, dtype=DTYPE).detach() for n in (T, T * K, T * K))
    taken = path.take_rows(x.to(DEVICE), pairs.to(DEVICE), K).cpu()
    assert torch.equal(taken[pairs], x.repeat_interleave(K, 0))
    for parts in ([y], [y, z]):
        mixed = path.mix_rows([part.to(DEVICE) for part in parts], pairs.to(DEVICE), K).cpu()
        wanted = sum(part.double() for part in parts)[pairs].view(T, K, width).sum(1)
        assert mixed.dtype == DTYPE
        torch.testing.assert_close(mixed.double(), wanted, rtol=TOLERANCES[0], atol=TOLERANCES[0])


@pytest.mark.parametrize("path", [torch_rows, triton_rows])
def test_gradients_of_idle_experts_alone_are_cleared(path):
    dw = torch.full((5, 96, 70), float("nan"))
    dw[[1, 3]] = torch.rand(2, 96, 70)
    wanted = dw.nan_to_num(0.0)
    found = dw.to(DEVICE)
    path.clear_idle(found, torch.tensor([0, 2, 2, 7, 7], dtype=torch.int32, device=DEVICE))
    assert torch.equal(found.cpu(), wanted)


@pytest.mark.parametrize(("T", "K", "experts"), [(0, 2, 7), (5, 3, 24), (200, 1, 40)])
def test_values_spread_over_experts_are_those_of_a_scatter(make, T, K, experts):
    indices, values = choices(T, K, only=experts), make(T, K, dtype=torch.float32).detach()
    found = spread(indices.to(DEVICE), values.to(DEVICE), experts).cpu()
    assert torch.equal(found, torch.zeros(T, experts).scatter_(1, indices, values))


def test_an_expert_without_tokens_has_a_zero_gradient(make):
    indices = torch.tensor([[2, 5], [5, 2]])
    leaves = operands(make, indices)
    for gradient in torch.autograd.grad(grouped(indices)(*leaves).sum(), leaves[2:]):
        assert (gradient.abs().amax((1, 2)) > 0).nonzero().squeeze(1).tolist() == [2, 5]


def test_a_second_run_gives_the_same_bits(make):
    indices = choices(20, 3)
    leaves = operands(make, indices)
    first, second = ([y := grouped(indices)(*leaves), *torch.autograd.grad(y.square().sum(), leaves)] for _ in range(2))
    assert all(torch.equal(a, b) for a, b in zip(first, second, strict=True))


@pytest.mark.parametrize("shape", [(0, 5), (13, 3, 5), (3, 140)])
def test_situ_alone_equals_its_definition(make, compare, shape):
    x = [make(*shape, dtype=DTYPE, scale=5), make(*shape, dtype=DTYPE, scale=30)]
    compare(lambda g, u: TritonSiTUGLU.apply(g.to(DEVICE), u.to(DEVICE)).cpu(), situ_glu_reference, x, *TOLERANCES)


def test_situ_is_exact_for_tiny_values_and_bounded_for_huge_ones():
    tiny = torch.logspace(-7, 0, 50)
    ones = torch.ones(50)
    found = TritonSiTUGLU.apply(ones.to(DEVICE), tiny.to(DEVICE)).cpu()
    torch.testing.assert_close(found.double(), situ_glu_reference(ones.double(), tiny.double()), rtol=5e-6, atol=0)
    huge = torch.tensor([-1e4, 1e4, 1e4], device=DEVICE), torch.tensor([1e4, 1e4, -1e4], device=DEVICE)
    assert TritonSiTUGLU.apply(*huge).tolist() == [0.0, 100.0, -100.0]


def test_autocast_reads_the_rows_as_a_product_would(make):
    """The K2 baseline's rows come straight from a norm, in fp32."""
    indices = choices(20, 3)
    z, probs, *w = (x.detach().to(DEVICE) for x in operands(make, indices, dtype=torch.float32))
    with torch.autocast(DEVICE, dtype=torch.bfloat16):
        found = experts(z, indices.to(DEVICE), probs, *w, activation="swiglu")
    assert found.dtype == torch.bfloat16
    wanted = experts_reference(z.bfloat16().double(), indices.to(DEVICE), probs, *w, activation="swiglu")
    assert (found - wanted).norm() / wanted.norm() < 1e-2


@pytest.mark.gpu
def test_the_operators_take_this_path_on_a_gpu_and_never_wait_for_it(make, waits):
    indices = choices(64, 3)
    z, probs, *w = operands(make, indices, dtype=torch.float32)
    leaves = [x.detach().cuda().requires_grad_() for x in (z, probs, *w)]
    indices = indices.cuda()
    torch.cuda.synchronize()
    for mode in ("default", "error"):  # the first pass compiles
        with waits(mode):
            with torch.autocast("cuda", dtype=torch.bfloat16):
                y = experts(leaves[0], indices, *leaves[1:])
                activated = situ_glu(y, y)
            gradients = torch.autograd.grad((activated + y).sum(), leaves)
    names = type(y.grad_fn).__name__, type(activated.grad_fn).__name__
    assert names == ("GroupedExpertsBackward", "TritonSiTUGLUBackward")
    assert all(g.dtype == torch.float32 and g.isfinite().all() for g in gradients)


@pytest.mark.gpu
def test_the_router_never_waits_for_the_gpu(make, waits):
    logits, bias = make(64, 32, dtype=torch.float32).detach().cuda().requires_grad_(), torch.zeros(32, device="cuda")
    with waits("error"):
        _, probs, _ = route(logits, bias, 4)
        probs.square().sum().backward()
    assert logits.grad.isfinite().all()
