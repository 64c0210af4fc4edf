"""RMSNorm and its gated form against their definitions."""

import pytest
import torch

from trivium.kernels.gated_norm import gated_norm, gated_norm_reference, rms_norm, rms_norm_reference

CASES = [(rms_norm, rms_norm_reference, 1), (gated_norm, gated_norm_reference, 2)]


@pytest.mark.parametrize(("fast", "reference", "inputs"), CASES)
@pytest.mark.parametrize("rows", [0, 1, 7])
def test_outputs_and_gradients_equal_the_definition(make, compare, fast, reference, inputs, rows):
    compare(fast, reference, [make(rows, 3, 6) for _ in range(inputs)] + [make(6)])


@pytest.mark.parametrize(("fast", "reference", "inputs"), CASES)
def test_small_case_passes_gradcheck(make, fast, reference, inputs):
    assert torch.autograd.gradcheck(fast, [make(2, 3) for _ in range(inputs)] + [make(3)])


@pytest.mark.parametrize(("fast", "reference", "inputs"), CASES)
@pytest.mark.parametrize(("dtype", "tolerance"), [(torch.float32, 1e-6), (torch.bfloat16, 8e-3)])
def test_low_precision_stays_near_fp64(make, compare, fast, reference, inputs, dtype, tolerance):
    operands = [make(50, 64, dtype=dtype) for _ in range(inputs)] + [make(64, dtype=torch.float32)]
    compare(fast, reference, operands, tolerance, 2 * tolerance)


def test_zero_rows_stay_finite(make):
    x, weight = torch.zeros(2, 4, requires_grad=True), make(4, dtype=torch.float32)
    y = rms_norm(x, weight)
    assert torch.equal(y, torch.zeros(2, 4))
    assert torch.autograd.grad(y.sum(), x)[0].isfinite().all()


def test_a_gate_or_weight_of_another_shape_is_refused(make):
    x, weight = make(3, 2, 8), make(8)
    with pytest.raises(ValueError, match="gate must have x's shape"):
        gated_norm(x, x[..., :1], weight)
    with pytest.raises(ValueError, match=r"weight must be \[W\] = \[8\]; found \[1\]"):
        rms_norm(x, weight[:1])
