"""Which path an operator takes, and that it says so once."""

import logging

import pytest
import torch

from trivium.kernels import dispatch
from trivium.kernels.dispatch import use_triton


@pytest.fixture(autouse=True)
def unsaid():
    dispatch.tell_again()


def test_a_cpu_takes_the_pytorch_path_and_says_so_once(caplog):
    caplog.set_level(logging.INFO, "trivium.kernels.dispatch")
    assert not any(use_triton("kda", torch.zeros(1)) for _ in range(3))
    assert [record.message for record in caplog.records] == ["kda takes its PyTorch path (the device is cpu)"]


def test_the_variable_wins_over_everything(monkeypatch, caplog):
    caplog.set_level(logging.INFO, "trivium.kernels.dispatch")
    monkeypatch.setenv("TRIVIUM_KERNELS", "reference")
    assert not use_triton("kda", torch.zeros(1))
    assert "TRIVIUM_KERNELS=reference" in caplog.text


def test_a_misspelt_variable_is_refused(monkeypatch):
    monkeypatch.setenv("TRIVIUM_KERNELS", "torch")
    with pytest.raises(ValueError, match="must be reference or portable, or unset; found 'torch'"):
        use_triton("kda", torch.zeros(1))


class OnAGPU:
    """What dispatch asks of a tensor, for one that this machine can't hold."""

    is_cuda, device, shape = True, torch.device("cuda"), (8, 2, 96)

    def __init__(self, dtype):
        self.dtype = dtype


@pytest.mark.parametrize(
    ("dtype", "fits", "here", "word"),
    [
        (torch.bfloat16, True, True, "Triton"),
        (torch.float64, True, True, "found torch.float64"),
        (torch.bfloat16, False, True, r"no kernel for shape (2, 96)"),
        (torch.bfloat16, True, False, "triton is not installed"),
    ],
)
def test_a_gpu_without_a_fitting_kernel_takes_the_pytorch_path(monkeypatch, caplog, dtype, fits, here, word):
    caplog.set_level(logging.INFO, "trivium.kernels.dispatch")
    monkeypatch.setattr(dispatch, "_triton_is_here", lambda: here)
    assert use_triton("kda", OnAGPU(dtype), fits=fits) is (word == "Triton")
    assert word in caplog.text
