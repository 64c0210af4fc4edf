"""RMSNorm's Triton kernels, plain and gated: on a GPU, or in the interpreter on tiny fp32 shapes."""

import pytest
import torch

pytest.importorskip("triton", reason="the kernels need triton (constraints.txt)")

from trivium.kernels.gated_norm import gated_norm, gated_norm_reference, rms_norm, rms_norm_reference
from trivium.kernels.gated_norm.triton_norm import TritonNorm

DEVICE = "cuda" if torch.cuda.is_available() else "cpu"
FLOAT = (torch.float32, 1e-6, 2e-6)
BF16 = pytest.param(torch.bfloat16, 8e-3, 1.6e-2, marks=pytest.mark.gpu)


def norm(x, *rest):
    """rms_norm(x, weight) or gated_norm(x, gate, weight) by the kernels, wherever they run, back on the CPU."""
    gate, weight = rest if len(rest) == 2 else (None, *rest)
    return TritonNorm.apply(x.to(DEVICE), None if gate is None else gate.to(DEVICE), weight.to(DEVICE), 1e-5).cpu()


@pytest.mark.parametrize(("dtype", "tolerance", "gradient"), [FLOAT, BF16])
@pytest.mark.parametrize(("reference", "inputs"), [(rms_norm_reference, 1), (gated_norm_reference, 2)])
@pytest.mark.parametrize("shape", [(0, 3, 64), (1, 1, 64), (37, 3, 64), (67, 128), (3, 100), (2, 7168)])
def test_outputs_and_gradients_equal_the_definition(
    make, compare, reference, inputs, shape, dtype, tolerance, gradient
):
    x = [make(*shape, dtype=dtype) for _ in range(inputs)] + [make(shape[-1], dtype=torch.float32)]
    compare(norm, reference, x, tolerance, gradient)


def test_zero_rows_stay_finite(make):
    x, weight = torch.zeros(2, 4, requires_grad=True), make(4, dtype=torch.float32)
    y = norm(x, weight)
    assert torch.equal(y, torch.zeros(2, 4))
    assert torch.autograd.grad(y.sum(), x)[0].isfinite().all()


def test_a_second_run_gives_the_same_bits(make):
    x, gate, weight = make(200, 64, dtype=torch.float32), make(200, 64, dtype=torch.float32), make(64)
    runs = [torch.autograd.grad(norm(x, gate, weight.float()).square().sum(), (x, gate, weight)) for _ in range(2)]
    assert all(torch.equal(a, b) for a, b in zip(*runs, strict=True))


@pytest.mark.gpu
def test_the_operators_take_this_path_on_a_gpu(make):
    x, gate = make(70, 2, 64, dtype=torch.bfloat16), make(70, 2, 64, dtype=torch.bfloat16)
    weight = make(64, dtype=torch.float32)
    plain, gated = rms_norm(x.cuda(), weight.cuda()), gated_norm(x.cuda(), gate.cuda(), weight.cuda())
    assert {type(y.grad_fn).__name__ for y in (plain, gated)} == {"TritonNormBackward"}
    assert torch.equal(gated.cpu(), norm(x, gate, weight))
