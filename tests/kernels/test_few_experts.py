"""The experts where each has few rows: bf16 on a GPU, fp32 with the interpreter elsewhere."""

import os

import pytest
import torch

pytest.importorskip("triton", reason="these products need triton (constraints.txt)")

from trivium.kernels.moe import experts, experts_reference
from trivium.kernels.moe.few_experts import MOST_ROWS, FewExperts, fits
from trivium.kernels.moe.torch_grouped import GroupedExperts
from trivium.kernels.moe.torch_moe import Experts

# The interpreter is NumPy: its sigmoid overflows on the way to 0.
pytestmark = [pytest.mark.filterwarnings("ignore:overflow encountered in exp:RuntimeWarning")]
GPU = torch.cuda.is_available()
if GPU:
    pytestmark.append(pytest.mark.gpu)
    os.environ.setdefault("CUBLAS_WORKSPACE_CONFIG", ":4096:8")  # or cuBLAS is refused as not deterministic
DEVICE, DTYPE = ("cuda", torch.bfloat16) if GPU else ("cpu", torch.float32)
TOLERANCES = (1e-2, 2e-2) if GPU else (2e-6, 4e-6)
E, L, F = 6, 128, 64


def choices(T, K, only=E):
    """K different experts a token, none of them beyond the first `only`."""
    return torch.rand(T, only, generator=torch.Generator().manual_seed(T)).argsort(dim=1)[:, :K]


def operands(make, indices_TK, weights=None):
    T, K = indices_TK.shape
    probs_TK = make(T, K, dtype=torch.float32, scale=0.2, shift=0.5)
    sizes = (E, F, L), (E, F, L), (E, L, F)
    return [make(T, L, dtype=DTYPE), probs_TK, *(make(*size, dtype=weights or DTYPE, scale=0.2) for size in sizes)]


def few(indices_TK, activation="situ"):
    def run(z_TL, probs_TK, *weights):
        moved = z_TL.to(DEVICE), indices_TK.to(DEVICE), probs_TK.to(DEVICE), *(w.to(DEVICE) for w in weights)
        return FewExperts.apply(*moved, activation).cpu()

    return run


LAYOUTS = {
    "one token": choices(1, 3),
    "empty experts": choices(11, 2, only=3),
    "one expert takes all": torch.full((150, 1), 5),
    "all experts but one": choices(19, E - 1),
}


@pytest.mark.parametrize("activation", ["situ", "swiglu"])
@pytest.mark.parametrize("layout", LAYOUTS)
def test_outputs_and_gradients_equal_the_definition(make, compare, layout, activation):
    indices = LAYOUTS[layout]
    compare(
        few(indices, activation),
        lambda z, p, *w: experts_reference(z, indices, p, *w, activation=activation),
        operands(make, indices), *TOLERANCES,
    )  # fmt: skip


@pytest.mark.parametrize("path", ["few", "grouped", "loop"])
@pytest.mark.parametrize("K", [1, 2, 15, 16])
def test_any_number_of_experts_a_token(make, compare, path, K):
    """Of 20 experts, for an odd number of tokens, skewed: four experts take most of them."""
    indices = (torch.rand(33, 20, generator=torch.Generator().manual_seed(K)) + (torch.arange(20) < 4)).argsort(1)
    indices = indices.flip(1)[:, :K].contiguous()
    probs = make(33, K, dtype=torch.float32, scale=0.2, shift=0.5)
    weights = (make(*size, dtype=DTYPE, scale=0.3) for size in ((20, 64, 64), (20, 64, 64), (20, 64, 64)))
    apply = {
        "few": lambda *x: FewExperts.apply(*x, "situ"),
        "grouped": lambda *x: GroupedExperts.apply(*x, "situ", True),
        "loop": lambda *x: Experts.apply(*x, "situ"),
    }[path]

    def run(z, p, *w):
        return apply(z.to(DEVICE), indices.to(DEVICE), p.to(DEVICE), *(x.to(DEVICE) for x in w)).cpu()

    operands = [make(33, 64, dtype=DTYPE), probs, *weights]
    compare(run, lambda z, p, *w: experts_reference(z, indices, p, *w), operands, *TOLERANCES)


NAMES = "z", "probs", "w1", "w3", "w2"


def products(path, wanted):
    """Of a backward: the hidden rows' gradient, then what each operand's needs."""
    apart = path == "grouped"  # w1's and w3's are products of their own
    first = [name in wanted for name in ("w1", "w3")]
    count = 1 + ("z" in wanted) * (1 + apart) + (sum(first) if apart else any(first)) + ("w2" in wanted)
    return count * (E if path == "loop" else 1)


@pytest.mark.parametrize("wanted", [("z", "probs"), ("w1",), ("w3", "w2"), ("probs", "w1", "w2")])
@pytest.mark.parametrize("path", ["few", "grouped", "loop"])
def test_frozen_operands_get_no_gradient_and_cost_no_product(make, monkeypatch, path, wanted):
    from trivium.kernels.moe import few_experts, triton_few, triton_few_wgrad

    monkeypatch.setattr(few_experts, "rehearse", lambda *_: None)
    apply = {
        "few": lambda *x: FewExperts.apply(*x, "situ"),
        "grouped": lambda *x: GroupedExperts.apply(*x, "situ", True),
        "loop": lambda *x: Experts.apply(*x, "situ"),
    }[path]
    indices = choices(19, 2).to(DEVICE)
    made = [x.detach().to(DEVICE) for x in operands(make, indices.cpu())]

    def gradients(names):
        z, *rest = [x.clone().requires_grad_(name in names) for name, x in zip(NAMES, made, strict=True)]
        y = apply(z, indices, *rest)
        leaves = [x for x in (z, *rest) if x.requires_grad]
        calls.clear()
        return dict(zip(names, torch.autograd.grad(y.sum(), leaves), strict=True))

    calls = []
    for module, name in (
        (torch, "_grouped_mm"), (torch, "mm"), (triton_few, "few_dgrad"), (triton_few_wgrad, "few_wgrad"),
        (triton_few_wgrad, "few_wgrad_two"),
    ):  # fmt: skip
        whole = getattr(module, name)
        monkeypatch.setattr(module, name, lambda *x, whole=whole, **y: (calls.append(whole), whole(*x, **y))[1])
    whole = gradients(NAMES)
    assert len(calls) == products(path, NAMES)
    found = gradients(wanted)
    assert len(calls) == products(path, wanted)
    assert all(torch.equal(found[name], whole[name]) for name in wanted)


def test_the_rehearsal_runs_both_ways(monkeypatch):
    from trivium.kernels.moe import few_experts, triton_few, triton_few_wgrad

    monkeypatch.setattr(few_experts, "rehearse", lambda *_: None)
    ways = []
    for module, name in ((triton_few, "few_glu"), (triton_few, "few_dgrad"), (triton_few_wgrad, "few_wgrad_two")):
        whole = getattr(module, name)
        monkeypatch.setattr(module, name, lambda *x, name=name, whole=whole: (ways.append(name), whole(*x))[1])
    few_experts._both_ways(torch.device(DEVICE), DTYPE, torch.float32, DTYPE, DTYPE, 2, 64, 64, "situ")
    assert ways == ["few_glu", "few_dgrad", "few_wgrad_two", "few_dgrad"]


def test_gradients_of_masters_in_fp32_are_not_rounded_on_the_way(make):
    indices = choices(40, 2)
    leaves = [x.detach().to(DEVICE).requires_grad_() for x in operands(make, indices, torch.float32)]
    y = FewExperts.apply(leaves[0], indices.to(DEVICE), *leaves[1:], "situ")
    for gradient in torch.autograd.grad(y.float().square().sum(), leaves[2:]):
        assert gradient.dtype == torch.float32
        assert not torch.equal(gradient, gradient.bfloat16().float())


def test_a_second_run_gives_the_same_bits(make):
    indices = choices(20, 3)
    leaves = operands(make, indices)
    first, second = ([y := few(indices)(*leaves), *torch.autograd.grad(y.square().sum(), leaves)] for _ in range(2))
    assert all(torch.equal(a, b) for a, b in zip(first, second, strict=True))


def test_shapes_that_the_library_takes(monkeypatch):
    monkeypatch.setattr(torch.cuda, "get_device_capability", lambda device: (9, 0))

    def fit(T=8, width=64, dtype=torch.bfloat16, strided=False, experts=4):
        z, w = torch.zeros(T, width, dtype=dtype), torch.zeros(experts, 64, width)
        return fits(z, torch.zeros(T, 1, dtype=torch.int64), w, w, w.mT if strided else w.mT.contiguous())

    assert fit()
    assert fit(T=4 * MOST_ROWS)
    assert not fit(dtype=torch.float16)
    assert not fit(experts=1025)
    assert not fit(width=96)
    assert not fit(strided=True)
    assert not fit(T=4 * MOST_ROWS + 1)
    monkeypatch.setenv("TRIVIUM_KERNELS", "portable")
    assert not fit()
    monkeypatch.delenv("TRIVIUM_KERNELS")
    monkeypatch.setattr(torch.cuda, "get_device_capability", lambda device: (8, 0))
    assert not fit()


@pytest.mark.gpu
def test_few_rows_an_expert_take_this_path_on_a_gpu_and_never_wait_for_it(make, waits):
    indices = choices(64, 3).cuda()
    leaves = [x.detach().cuda().requires_grad_() for x in operands(make, indices, torch.float32)]
    for mode in ("default", "error"):  # the first pass compiles
        with waits(mode):
            y = experts(leaves[0], indices, *leaves[1:])
            torch.autograd.grad(y.sum(), leaves)
    assert type(y.grad_fn).__name__ == "FewExpertsBackward"
