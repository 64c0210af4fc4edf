"""First calls: seconds to the first result both ways in a fresh process with an empty cache, and what compiles anew.

`python -m trivium.kernels.bench.cold OPERATOR DEVICE` is the fresh process; it prints one JSON object. Kernels are
counted by the binaries in the cache folder, which every compilation writes. The clock starts behind the imports of
torch and of the operator and behind the device's own start, with the operands made.
"""

import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import msgspec
import torch

from trivium.kernels.bench.case import Layout, Operator
from trivium.kernels.bench.measure import SEED, dtype_of
from trivium.kernels.bench.operators import chosen
from trivium.kernels.bench.oracle import projections
from trivium.kernels.bench.report import Cold

__all__ = ["first_call"]

LIMIT = 300  # seconds for one operator
BINARIES = ("*.cubin", "*.hsaco")


def first_call(operator: Operator, device: torch.device) -> Cold:
    """Starts the fresh process; what went wrong there stands in `problem`."""
    with tempfile.TemporaryDirectory(prefix="trivium-cold-") as cache:
        command = [sys.executable, "-m", "trivium.kernels.bench.cold", operator.name, device.type]
        environment = {**os.environ, "TRITON_CACHE_DIR": cache}
        try:
            done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=LIMIT, check=False)
        except subprocess.TimeoutExpired:
            return _failed(operator, f"no result after {LIMIT} s")
    if done.returncode:
        return _failed(operator, (done.stderr.strip().splitlines() or ["no message"])[-1][:200])
    return msgspec.json.decode(done.stdout.splitlines()[-1], type=Cold)


def _failed(operator: Operator, problem: str) -> Cold:
    return Cold(op=operator.name, layout=operator.cold[0].name, seconds=0.0, compiled=0, again={}, problem=problem)


def _binaries(cache: Path) -> int:
    return sum(1 for pattern in BINARIES for _ in cache.rglob(pattern))


def _measure(operator: Operator, device: torch.device) -> Cold:
    cache = Path(os.environ["TRITON_CACHE_DIR"])
    first, *others = operator.cold
    seconds = _run(operator, first, device)
    compiled = _binaries(cache)
    again = {}
    for layout in others:
        before = _binaries(cache)
        _run(operator, layout, device)
        again[layout.name] = _binaries(cache) - before
    return Cold(op=operator.name, layout=first.name, seconds=round(seconds, 3), compiled=compiled, again=again)


def _run(operator: Operator, layout: Layout, device: torch.device) -> float:
    """Seconds of one call both ways."""
    torch.manual_seed(SEED)
    ours = next(c for c in operator.contestants(device) if not c.peer)
    operands = operator.operands(layout, device, dtype_of(device))
    leaves = [x.requires_grad_() for x in operands]
    if device.type == "cuda":
        torch.cuda.synchronize()
    began = time.perf_counter()
    outputs = ours.bind(layout, device)(*leaves)
    torch.autograd.grad(outputs, leaves, [w.to(y.dtype) for w, y in zip(projections(outputs), outputs, strict=True)])
    if device.type == "cuda":
        torch.cuda.synchronize()
    return time.perf_counter() - began


if __name__ == "__main__":
    print(msgspec.json.encode(_measure(chosen([sys.argv[1]])[0], torch.device(sys.argv[2]))).decode())
