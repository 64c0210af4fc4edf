"""What exporting needs of a model, and the independent implementations (the extra `interop`), kept on plain PyTorch."""

import importlib
import importlib.util
import sys
import warnings
from collections.abc import Callable, Iterator
from types import ModuleType

import pytest
import torch
from torch import Tensor

from trivium.model.joint import JointModel


class ModelSource:
    """A model's own tensors as a source of an export."""

    def __init__(self, model: JointModel) -> None:
        self.config = model.config
        self._state = model.state_dict()
        self.shapes = {name: tuple(tensor.shape) for name, tensor in self._state.items()}

    def load(self, name: str) -> Tensor:
        return self._state[name]


@pytest.fixture(scope="session", name="source")
def fixture_source() -> type[ModelSource]:
    return ModelSource


@pytest.fixture(scope="session", name="peer")
def fixture_peer() -> Iterator[Callable[[str], ModuleType]]:
    """`peer("fla.ops.kda.naive")`: a module of an independent implementation; skips where it is not installed."""
    # Our folder kernels/ lies on the path of `python -m pytest`, and transformers would take it for a package.
    sys.modules["kernels"] = None  # type: ignore[assignment]
    yield _peer
    del sys.modules["kernels"]


def _peer(name: str) -> ModuleType:
    package = name.partition(".")[0]
    if importlib.util.find_spec(package) is None:
        pytest.skip(f"{package} is not installed: pip install -c constraints.txt -e .[interop]")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # fla says that this machine has no GPU
        module = importlib.import_module(name)
    if name.endswith("modeling_kimi_linear"):
        # Where fla is installed too, these would be its Triton kernels, which need a GPU.
        for function in ("chunk_kimi_delta_attention", "causal_conv1d_fn"):
            setattr(module, function, _plain(getattr(module, function)))
    return module


def _plain(function: Callable[..., Tensor]) -> Callable[..., Tensor]:
    while hasattr(function, "__wrapped__"):
        function = function.__wrapped__
    return function


def gap(found: Tensor, expected: Tensor) -> float:
    """The largest difference in units of the largest number."""
    assert found.shape == expected.shape
    return ((found - expected).abs().max() / expected.abs().max().clamp(min=torch.finfo(torch.float32).tiny)).item()


@pytest.fixture(scope="session", name="gap")
def fixture_gap() -> Callable[[Tensor, Tensor], float]:
    return gap
