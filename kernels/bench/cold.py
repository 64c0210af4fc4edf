"""First calls: seconds to the first result both ways with an empty cache, and what compiles anew when T changes.

One fresh process calls one operator after another, as a training step does, so that the start of the compiler and of
its driver is paid once, by the first. `python -m trivium.kernels.bench.cold DEVICE OPERATOR…` is that process; it
prints a JSON object for each. Kernels are counted by the binaries in the cache folder, which every compilation writes.
The clock starts behind the imports of torch and of the operators and behind the device's own start, operands made.
"""

import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import msgspec
import torch

from trivium.kernels.bench.case import Operator, Shape
from trivium.kernels.bench.measure import SEED, dtype_of
from trivium.kernels.bench.operators import chosen
from trivium.kernels.bench.oracle import derive, leaves_of, projections
from trivium.kernels.bench.report import Cold

__all__ = ["binaries", "first_calls"]

LIMIT = 600  # seconds for all operators
BINARIES = ("*.cubin", "*.hsaco")


def first_calls(operators: Sequence[Operator[Any]], device: torch.device) -> list[Cold]:
    """Starts the fresh process; what went wrong there stands in the `problem` of each operator it left out."""
    with tempfile.TemporaryDirectory(prefix="trivium-cold-") as cache:
        names = [operator.name for operator in operators]
        command = [sys.executable, "-m", "trivium.kernels.bench.cold", device.type, *names]
        environment = {**os.environ, "TRITON_CACHE_DIR": cache}
        try:
            done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=LIMIT, check=False)
        except subprocess.TimeoutExpired:
            return [_failed(operator, f"no result after {LIMIT} s") for operator in operators]
    problem = (done.stderr.strip().splitlines() or ["no message"])[-1][:200]
    lines = [line for line in done.stdout.splitlines() if line.startswith("{")]
    found = {entry.op: entry for entry in (msgspec.json.decode(line, type=Cold) for line in lines)}
    return [found.get(operator.name) or _failed(operator, problem) for operator in operators]


def _failed(operator: Operator[Any], problem: str) -> Cold:
    return Cold(op=operator.name, layout=operator.cold[0].name, seconds=0.0, compiled=0, again={}, problem=problem)


def binaries(cache: Path) -> int:
    """Kernels in a cache folder."""
    return sum(1 for pattern in BINARIES for _ in cache.rglob(pattern))


def _measure(operators: Sequence[Operator[Any]], device: torch.device) -> Iterator[Cold]:
    """All first calls one after another, then the other lengths of the row."""
    cache = Path(os.environ["TRITON_CACHE_DIR"])
    first = [_run(operator, operator.cold[0], device, cache) for operator in operators]
    for operator, (seconds, compiled) in zip(operators, first, strict=True):
        again = {layout.name: _run(operator, layout, device, cache)[1] for layout in operator.cold[1:]}
        layout = operator.cold[0].name
        yield Cold(op=operator.name, layout=layout, seconds=round(seconds, 3), compiled=compiled, again=again)


def _run(operator: Operator[Any], layout: Shape, device: torch.device, cache: Path) -> tuple[float, int]:
    """Seconds of one call both ways, and the kernels it compiled."""
    before = binaries(cache)
    torch.manual_seed(SEED)
    ours = next(c for c in operator.contestants(device) if not c.peer)
    operands = operator.operands(layout, device, dtype_of(device))
    leaves = leaves_of(operands)
    if device.type == "cuda":
        torch.cuda.synchronize()
    began = time.perf_counter()
    outputs = ours.bind(layout, device)(*leaves)
    derive(outputs, leaves, projections(outputs))
    if device.type == "cuda":
        torch.cuda.synchronize()
    return time.perf_counter() - began, binaries(cache) - before


if __name__ == "__main__":
    for entry in _measure(chosen(sys.argv[2:]), torch.device(sys.argv[1])):
        print(msgspec.json.encode(entry).decode(), flush=True)
