"""Shared by the operators' tests: poisoned buffers, seeded operands, relative errors of outputs and gradients."""

import importlib.util
import multiprocessing
import os
import runpy
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor

Make = Callable[..., Tensor]
Compare = Callable[..., None]
InRanks = Callable[..., list[Any]]
Waits = Callable[[str], AbstractContextManager[None]]
DRAWS = torch.Generator()


def pytest_runtest_setup() -> None:
    """Each test draws from the beginning: what it sees does not depend on the tests before it."""
    DRAWS.manual_seed(20260)


if os.environ.get("TRITON_INTERPRET") == "1" and importlib.util.find_spec("triton"):
    import triton.runtime.interpreter as interpreter

    _patch = interpreter._patch_lang_tensor

    def _patch_with_index(tensor: type, scope: interpreter._LangPatchScope) -> None:
        """Triton 3.6's loops take int() of arrays of one element, which NumPy 2.4 refuses."""
        _patch(tensor, scope)
        scope.set_attr(tensor, "__index__", lambda self: self.handle.data.item())

    interpreter._patch_lang_tensor = _patch_with_index


@pytest.fixture(scope="module", autouse=True)
def poisoned() -> Iterator[None]:
    """Fill every uninitialised buffer with NaN, and refuse operators that aren't deterministic."""
    before = torch.get_deterministic_debug_mode(), torch.utils.deterministic.fill_uninitialized_memory
    torch.set_deterministic_debug_mode("error")
    torch.utils.deterministic.fill_uninitialized_memory = True
    assert torch.empty(3).isnan().all()
    yield
    torch.set_deterministic_debug_mode(before[0])
    torch.utils.deterministic.fill_uninitialized_memory = before[1]


@pytest.fixture
def in_ranks(tmp_path: Path) -> InRanks:
    """in_ranks(script, ranks, row): what each rank left in `RANK.pt`, by its own process over the folder's `row.pt`.

    The script, beside this file, finds (rank, `told`, the folder) in ARGUMENTS; `told` is the number of ranks.
    """

    def run(script: str, ranks: int, row: dict[str, Any], told: object = None) -> list[Any]:
        torch.save(row, tmp_path / "row.pt")
        path, context = str(Path(__file__).with_name(script)), multiprocessing.get_context("forkserver")
        processes = []
        for rank in range(ranks):
            arguments = {"ARGUMENTS": (rank, told or ranks, str(tmp_path))}
            processes.append(context.Process(target=runpy.run_path, args=(path, arguments), daemon=True))
        for process in processes:
            process.start()
        for process in processes:
            process.join(120)
            assert process.exitcode == 0
        return [torch.load(tmp_path / f"{rank}.pt") for rank in range(ranks)]

    return run


@pytest.fixture(scope="session")
def waits() -> Waits:
    """waits("error"): inside, torch raises where the host waits for the GPU; waits("default") lets it."""

    @contextmanager
    def mode(name: str) -> Iterator[None]:
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", "Synchronization debug mode is a prototype", UserWarning)
            torch.cuda.set_sync_debug_mode(name)
        try:
            yield
        finally:
            torch.cuda.set_sync_debug_mode("default")

    return mode


@pytest.fixture(scope="session")
def make() -> Make:
    """make(*shape, dtype=float64, scale=1, shift=0): normal values in a leaf that requires a gradient."""

    def normal(*shape: int, dtype: torch.dtype = torch.float64, scale: float = 1.0, shift: float = 0.0) -> Tensor:
        values = torch.randn(*shape, generator=DRAWS, dtype=torch.float64) * scale + shift
        return values.to(dtype).requires_grad_()

    return normal


def as_tuple(value: Tensor | Sequence[Tensor]) -> tuple[Tensor, ...]:
    return (value,) if isinstance(value, Tensor) else tuple(value)


def results(function: Callable[..., object], operands: Sequence[Tensor]) -> tuple[list[Tensor], list[Tensor]]:
    """Outputs and the gradients of a fixed random projection of the differentiable ones."""
    leaves = [x.detach().clone().requires_grad_(x.is_floating_point()) for x in operands]
    outputs = as_tuple(function(*leaves))
    generator = torch.Generator().manual_seed(7)
    total = torch.zeros((), dtype=torch.float64)
    for output in outputs:
        if output.requires_grad:
            weight = torch.randn(output.shape, generator=generator, dtype=torch.float64)
            total = total + (output.double() * weight).sum()
    wanted = [leaf for leaf in leaves if leaf.requires_grad]
    gradients = torch.autograd.grad(total, wanted, allow_unused=True)
    return [o.detach() for o in outputs], [
        torch.zeros_like(x) if g is None else g for g, x in zip(gradients, wanted, strict=True)
    ]


def relative(found: Tensor, expected: Tensor) -> float:
    assert found.shape == expected.shape
    if torch.equal(found.double(), expected.double()):
        return 0.0
    difference = (found.double() - expected.double()).norm()
    # Below the floor lies rounding alone: a saturated sigmoid's 1 − σ is 0 or 1e-16, as the library's threads round.
    return float(difference / expected.double().norm().clamp(min=1e-6))


@pytest.fixture(scope="session")
def compare() -> Compare:
    """compare(fast, reference, operands, tolerance, gradient_tolerance): the reference runs in fp64 on equal values."""

    def check(
        fast: Callable[..., object], reference: Callable[..., object], operands: Sequence[Tensor],
        tolerance: float = 1e-12, gradient_tolerance: float = 1e-11,
    ) -> None:  # fmt: skip
        found, found_gradients = results(fast, operands)
        precise = [x.double() if x.is_floating_point() else x for x in operands]
        expected, expected_gradients = results(reference, precise)
        for i, (a, b) in enumerate(zip(found, expected, strict=True)):
            assert relative(a, b) <= tolerance, f"output {i}: relative error {relative(a, b):.2e}"
        for i, (a, b) in enumerate(zip(found_gradients, expected_gradients, strict=True)):
            assert torch.isfinite(a).all(), f"gradient {i} is not finite"
            assert relative(a, b) <= gradient_tolerance, f"gradient {i}: relative error {relative(a, b):.2e}"

    return check


@pytest.fixture(scope="session")
def borders() -> Callable[[Sequence[int]], Tensor]:
    """borders(lengths) → cu_seqlens."""
    return lambda lengths: torch.tensor([0, *lengths]).cumsum(0)
