"""Times and memory: contestants take turns on the same tensors, and a wrong result gets no figure.

Odd: a contestant may keep parameters in its own layout; its copy is made before anything is measured.
"""

import math
import time
from collections.abc import Callable, Sequence
from typing import Any

import msgspec
import torch
from torch import Tensor

from trivium.console import note
from trivium.kernels.bench.case import Call, Contestant, Expected, Operator, Shape
from trivium.kernels.bench.launches import launches, waits
from trivium.kernels.bench.oracle import compare, derive, expect, leaves_of, projections, pull, verdict
from trivium.kernels.bench.report import Figure, Limits, Row

__all__ = ["Timer", "contest", "limits", "timer"]

Timer = Callable[[Callable[[], object]], list[float]]  # ms of each run
SEED = 20260


def timer(device: torch.device, milliseconds: int) -> Timer:
    """`triton.testing.do_bench` (it clears the L2 cache between runs); a plain clock, three runs, on a CPU."""
    if device.type == "cuda":
        from triton.testing import do_bench

        return lambda function: do_bench(function, warmup=10, rep=milliseconds, return_mode="all")
    return _clock


def _clock(function: Callable[[], object]) -> list[float]:
    samples = []
    for _ in range(3):
        began = time.perf_counter()
        function()
        samples.append((time.perf_counter() - began) * 1e3)
    return samples


def limits(device: torch.device, timed: Timer) -> Limits:
    """A copy of 1 GiB and a bf16 product of 8192³, or small ones on a CPU."""
    large = device.type == "cuda"
    size, width = (1 << 30, 8192) if large else (1 << 22, 256)
    source = torch.empty(size, dtype=torch.uint8, device=device).fill_(1)
    target = torch.empty_like(source)
    copy = min(timed(lambda: target.copy_(source)))
    a, b = (torch.randn(width, width, device=device).to(torch.bfloat16 if large else torch.float32) for _ in range(2))
    product = min(timed(lambda: a @ b))
    return Limits(copy_bytes_s=2 * size / copy * 1e3, matmul_flop_s=2 * width**3 / product * 1e3)


def dtype_of(device: torch.device) -> torch.dtype:
    return torch.bfloat16 if device.type == "cuda" else torch.float32


class Side:
    """A contestant before a shape: its call, and the operands as it wants them."""

    def __init__(
        self, contestant: Contestant[Any], shape: Shape, operands: Sequence[Tensor], device: torch.device
    ) -> None:
        self.contestant, self.operands = contestant, operands
        try:
            self.call = contestant.bind(shape, device)
            self.operands = contestant.arrange(operands)
        except Exception as error:  # a library that is not as we know it: its result on this shape, as any other
            self.call = _raising(error)

    def both(self, weights: Sequence[Tensor]) -> Callable[[], list[Tensor]]:
        """A pass both ways on leaves made once; weights have the outputs' dtype before the clock runs."""
        leaves = leaves_of(self.operands)
        with torch.no_grad():
            kinds = [y.dtype for y in self.call(*leaves)]
        fitting = [w.to(kind) for w, kind in zip(weights, kinds, strict=True)]
        return lambda: derive(self.call(*leaves), leaves, fitting)

    def forward(self) -> Callable[[], object]:
        leaves = leaves_of(self.operands)
        return lambda: self.call(*leaves)


def _raising(error: Exception) -> Call:
    def call(*_: Tensor) -> tuple[Tensor, ...]:
        raise error

    return call


def contest(
    operator: Operator[Any],
    shape: Shape,
    contestants: Sequence[Contestant[Any]],
    device: torch.device,
    timed: Timer,
    rounds: int,
) -> list[Row]:
    """A row for each contestant that takes the shape. Errors first, the definition's own tensors are freed before
    anything is timed; kernels are counted last, since a profiler may leave something behind.
    """
    torch.manual_seed(SEED)
    operands = operator.operands(shape, device, dtype_of(device))
    sides = [Side(c, shape, operands, device) for c in contestants if c.takes(shape)]
    with torch.no_grad():
        weights = projections(sides[0].call(*sides[0].operands))
    expected = expect(operator, shape, operands, weights)
    rows = [_judge(operator, shape, side, weights, expected) for side in sides]
    del expected
    green = [side for side, row in zip(sides, rows, strict=True) if not row.red]
    peaks = {side.contestant.name: _peak(side, weights) for side in green}
    samples = _take_turns(green, weights, timed, rounds)
    forward, both = operator.work(shape)
    finished = []
    for side, row in zip(sides, rows, strict=True):
        if not row.red:
            figures = {
                way: Figure(samples_ms=samples[row.contestant, way], bytes=work.bytes, flops=work.flops)
                for way, work in (("forward", forward), ("both", both))
            }
            row = msgspec.structs.replace(
                row, peak_bytes=peaks[row.contestant], **figures, **_counts(operator, shape, side, weights)
            )
        finished.append(row)
    return finished


def _judge(operator: Operator[Any], shape: Shape, side: Side, weights: Sequence[Tensor], expected: Expected) -> Row:
    contestant, path = side.contestant, "none"
    errors: dict[str, float] = {}
    try:
        path = _path(side)
        outputs, gradients = pull(side.call, side.operands, weights)
        errors = compare(operator, shape, outputs, contestant.restore(gradients), expected)
        red = verdict(operator, errors, side.operands[0].dtype)
    except Exception as error:  # whatever another library raises is its result on this case
        red = f"{type(error).__name__}: {str(error).splitlines()[0][:200] if str(error) else ''}"
    return Row(
        op=operator.name, layout=shape.name, contestant=contestant.name, peer=contestant.peer, path=path,
        errors=finite(errors), red=red,
    )  # fmt: skip


def finite(errors: dict[str, float]) -> dict[str, float | None]:
    """JSON knows no infinity."""
    return {name: error if math.isfinite(error) else None for name, error in errors.items()}


def _path(side: Side) -> str:
    """The autograd function behind the first output that has one, seen through views."""
    node = next((y.grad_fn for y in side.call(*leaves_of(side.operands)) if y.grad_fn is not None), None)
    while node is not None and type(node).__name__.startswith(("View", "Unsafe", "Reshape", "Squeeze", "Select")):
        node = node.next_functions[0][0]
    return "none" if node is None else type(node).__name__.removesuffix("Backward")


def _peak(side: Side, weights: Sequence[Tensor]) -> int | None:
    """Bytes beyond the operands at the peak of a pass both ways, its fresh gradients among them."""
    if side.operands[0].device.type != "cuda":
        return None
    run = side.both(weights)
    run()
    torch.cuda.synchronize()
    torch.cuda.empty_cache()
    before = torch.cuda.memory_allocated()
    torch.cuda.reset_peak_memory_stats()
    run()
    torch.cuda.synchronize()
    return torch.cuda.max_memory_allocated() - before


def _take_turns(
    sides: Sequence[Side], weights: Sequence[Tensor], timed: Timer, rounds: int
) -> dict[tuple[str, str], list[float]]:
    """Samples by contestant and way; each round begins with another contestant, so that none has the cooler chip."""
    samples: dict[tuple[str, str], list[float]] = {}
    ways = [(side.contestant.name, side.forward(), side.both(weights)) for side in sides]
    for turn in range(rounds):
        first = turn % len(ways) if ways else 0
        for name, forward, both in ways[first:] + ways[:first]:
            for way, run in (("forward", forward), ("both", both)):
                samples.setdefault((name, way), []).extend(round(ms, 4) for ms in timed(run))
    return samples


def _counts(operator: Operator[Any], shape: Shape, side: Side, weights: Sequence[Tensor]) -> dict[str, Any]:
    """Fields of a row that hold numbers of launches, waits and rows, where the operator asks for them."""
    found: dict[str, Any] = {}
    if operator.counted and side.operands[0].device.type == "cuda":
        runs = {"forward": side.forward(), "both": side.both(weights)}
        try:
            found["waits"] = waits(runs["both"])
            found["launches"] = {way: seen for way, run in runs.items() if (seen := launches(run)) is not None}
        except Exception as error:  # a profiler may not be allowed here; the figures of time are there already
            note(f"{operator.name}, {side.contestant.name}: not counted ({error})")
    if operator.waste is not None and not side.contestant.peer:
        leaves = leaves_of(side.operands)
        found["waste"] = operator.waste(shape, leaves, side.call(*leaves))
    return found
