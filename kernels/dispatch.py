"""Which path an operator takes: its Triton kernels on a CUDA device, plain PyTorch anywhere else.

`TRIVIUM_KERNELS=reference` keeps every operator on the PyTorch path; `TRIVIUM_KERNELS=portable` keeps operators that
have kernels for one architecture to those that run on any. Each operator logs its path once.
"""

import functools
import importlib.util
import logging
import os

import torch
from torch import Tensor

__all__ = ["KERNELS_VARIABLE", "takes_gluon", "tell_again", "use_triton"]

KERNELS_VARIABLE = "TRIVIUM_KERNELS"
_LOG = logging.getLogger(__name__)
_DTYPES = (torch.float32, torch.bfloat16)


@functools.cache
def _triton_is_here() -> bool:
    return importlib.util.find_spec("triton") is not None


@functools.cache
def _is_hopper(device: torch.device) -> bool:
    if device.type != "cuda" or torch.cuda.get_device_capability(device)[0] != 9:
        return False
    return importlib.util.find_spec("triton.experimental.gluon") is not None


def takes_gluon(device: torch.device) -> bool:
    """Whether kernels for Hopper run: this is one, this Triton has Gluon, and not `TRIVIUM_KERNELS=portable`."""
    return os.environ.get(KERNELS_VARIABLE) != "portable" and _is_hopper(device)


@functools.cache
def _log_once(operator: str, path: str, reason: str) -> None:
    _LOG.info("%s takes its %s path (%s)", operator, path, reason)


def tell_again() -> None:
    """Lets every operator log its path once more, for who compares paths in one process."""
    _log_once.cache_clear()


def _obstacle(x: Tensor, dtypes: tuple[torch.dtype, ...], fits: bool) -> str | None:
    """Why `x` can't go to a Triton kernel, or None."""
    wish = os.environ.get(KERNELS_VARIABLE, "")
    if wish not in ("", "portable", "reference"):
        raise ValueError(f"{KERNELS_VARIABLE} must be reference or portable, or unset; found {wish!r}")
    if wish == "reference":
        return f"{KERNELS_VARIABLE}=reference"
    if not x.is_cuda:
        return f"the device is {x.device.type}"
    if not _triton_is_here():
        return "triton is not installed"
    if x.dtype not in dtypes:
        return f"the kernels take {' and '.join(str(d).removeprefix('torch.') for d in dtypes)}, found {x.dtype}"
    return None if fits else f"no kernel for shape {tuple(x.shape[1:])}"


def use_triton(operator: str, x: Tensor, *, dtypes: tuple[torch.dtype, ...] = _DTYPES, fits: bool = True) -> bool:
    """Whether `operator` runs its Triton kernels on `x`; `fits` is the operator's own word on the shapes."""
    obstacle = _obstacle(x, dtypes, fits)
    _log_once(operator, "PyTorch" if obstacle else "Triton", obstacle or str(x.dtype))
    return obstacle is None
