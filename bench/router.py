"""The router with its balance histogram: the kernel's one launch beside PyTorch's, on this machine's GPU.

    python bench/router.py [--milliseconds 200] [--json]

Choices are compared before anything is timed, and there is no figure for a wrong one. `read` is the time that the
logits alone take at the speed of a large copy: no router can be faster. PyTorch compiled is torch.compile of the same
PyTorch path. Exit code 1 when a choice is wrong; without a GPU it only compares.
"""

import argparse
import sys
from collections.abc import Sequence
from functools import partial
from typing import Any

import torch
from rich.table import Table
from torch import Tensor

from trivium.console import emit_json, out
from trivium.kernels.bench.measure import Timer, limits, timer
from trivium.kernels.moe.torch_route import by_kernel, by_torch
from trivium.kernels.quantile import BINS

SHAPES = ((8192, 256, 8), (32768, 256, 8), (8192, 896, 16), (32768, 896, 16))  # tokens, experts, experts a token
ALIKE = 0.999  # of the choices: fp32 sums tip a few over


def alike(one: Tensor, other: Tensor) -> float:
    """Share of the choices that both make, whatever their order."""
    return float((one.sort(1).values == other.sort(1).values).float().mean())


def row(shape: tuple[int, int, int], timed: Timer, read: float) -> dict[str, Any]:
    T, E, k = shape
    generator = torch.Generator().manual_seed(T + E)
    logits_TE = torch.randn(T, E, generator=generator).cuda()
    bias_E = (0.1 * torch.randn(E, generator=generator)).cuda()
    compiled = torch.compile(by_torch)
    paths = {"kernel": by_kernel, "PyTorch": by_torch, "PyTorch compiled": compiled}
    chosen = {name: path(logits_TE, bias_E, k, BINS, None) for name, path in paths.items()}
    share = alike(chosen["kernel"][0], chosen["PyTorch"][0])
    found: dict[str, Any] = {"shape": f"T{T} E{E} k{k}", "alike": share, "read_ms": read}
    loads = [chosen[name][4][:, 0] for name in paths]
    found["right"] = share >= ALIKE and int((loads[0] - loads[1]).abs().sum()) <= 2 * (1 - ALIKE) * T * k
    if found["right"]:
        for name, path in paths.items():
            found[name] = {
                "routed_ms": min(timed(partial(path, logits_TE, bias_E, k, None, None))),
                "counted_ms": min(timed(partial(path, logits_TE, bias_E, k, BINS, None))),
            }
    return found


def _shown(times: dict[str, float] | None, read: float) -> list[str]:
    return ["wrong"] * 2 if times is None else [f"{ms:.3f} ({ms / read:.1f}×)" for ms in times.values()]


def main(arguments: Sequence[str]) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--milliseconds", type=int, default=200, help="of each timing")
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args(arguments)
    if not torch.cuda.is_available():
        sys.exit("error: no CUDA device; the kernel itself is tested by `pytest tests/kernels/test_triton_route.py`")
    device = torch.device("cuda")
    timed = timer(device, options.milliseconds)
    copy = limits(device, timed).copy_bytes_s
    rows = [row(shape, timed, 4e3 * shape[0] * shape[1] / copy) for shape in SHAPES]
    if options.json:
        emit_json(rows)
    else:
        table = Table(title=f"router, {torch.cuda.get_device_name()}, ms (times the reading)", title_justify="left")
        for name in ("shape", "read", "path", "routed", "counted too"):
            table.add_column(name, justify="right" if name in ("read", "routed", "counted too") else "left")
        for one in rows:
            for name in ("kernel", "PyTorch", "PyTorch compiled"):
                times = one.get(name)
                table.add_row(one["shape"], f"{one['read_ms']:.3f}", name, *_shown(times, one["read_ms"]))
        out.print(table)
    return int(not all(one["right"] for one in rows))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
