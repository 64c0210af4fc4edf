"""Newton–Schulz of many blocks: the kernels beside a loop and beside chains of bmm, on this machine's GPU.

    python bench/newton_schulz.py [--milliseconds 100] [--only per-head] [--json]

Results are compared with the definition in fp64 (a few blocks of each shape) before anything is timed, and there is no
figure for a wrong one. Input and result are fp32, as the optimizer has them; the paths in PyTorch are in bf16. The
operations counted are those of the plain iteration, 5 · (4 M²N + 2 M³) a block, whatever a path does to save some; the
share is of the rate of a large bf16 product. `floor` reads the input and writes the result at the speed of a copy. Exit
code 1 when a result is wrong.
"""

import argparse
import sys
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import torch
from rich.table import Table
from torch import Tensor

from trivium.console import emit_json, out
from trivium.kernels.bench.measure import Timer, limits, timer
from trivium.kernels.bench.report import Limits
from trivium.kernels.newton_schulz import STEPS, newton_schulz_reference
from trivium.kernels.newton_schulz.torch_newton_schulz import by_torch
from trivium.kernels.newton_schulz.triton_gram import MOST_ROWS
from trivium.kernels.newton_schulz.triton_newton_schulz import by_kernels
from trivium.kernels.newton_schulz.triton_plain import plain

SHAPES = (  # what they are, blocks, rows, columns
    ("per-head, base KDA", 96, 128, 1024),
    ("per-head, many layers", 512, 128, 1024),
    ("per-head, K3 KDA", 96, 128, 7168),
    ("per-head, K3 kv_b", 192, 128, 512),
    ("per-head, K3 q_b", 96, 192, 1536),
    ("per-expert, small", 128, 256, 512),
    ("per-expert, 36 at once", 36, 1024, 3584),
    ("per-expert, K3", 12, 3072, 3584),
    ("whole, base", 4, 1024, 1024),
)
CHECKED = 3  # blocks of each shape, the first, one amid and the last
WRONG = 3e-2  # relative error: bf16 leaves 1e-2
Path = Callable[[Tensor, int], Tensor]


def by_loop(x_BMN: Tensor, steps: int) -> Tensor:
    """Block after block, as optimizers without batches do."""
    return torch.cat([by_torch(x_BMN[i : i + 1], steps) for i in range(len(x_BMN))])


def by_plain(x_BMN: Tensor, steps: int) -> Tensor:
    """The kernels of the large blocks for small ones: what the chain on Gram matrices has to beat."""
    out_BMN = torch.empty_like(x_BMN)
    plain(x_BMN, out_BMN, steps, torch.bfloat16)
    return out_BMN


def error(path: Path, x_BMN: Tensor, chosen: list[int], expected: Tensor) -> float:
    """The largest of the chosen blocks' relative errors; infinite where a result is not finite."""
    found = path(x_BMN, STEPS)[chosen].double()
    if not found.isfinite().all():
        return float("inf")
    away = torch.linalg.vector_norm(found - expected, dim=(1, 2)) / torch.linalg.vector_norm(expected, dim=(1, 2))
    return float(away.max())


def row(shape: tuple[str, int, int, int], timed: Timer, found: Limits, compiled: Path) -> dict[str, Any]:
    what, B, M, N = shape
    x_BMN = torch.randn(B, M, N, generator=torch.Generator("cuda").manual_seed(B + M + N), device="cuda")
    chosen = sorted({0, B // 2, B - 1})[:CHECKED]
    expected = newton_schulz_reference(x_BMN[chosen].double())
    paths: dict[str, Path] = {"kernels": by_kernels}
    if M <= MOST_ROWS:
        paths["kernels, plain form"] = by_plain
    paths |= {"bmm chain": by_torch, "bmm chain, compiled": compiled, "loop": by_loop}
    flops = B * STEPS * (4 * M * M * N + 2 * M**3)
    rows: dict[str, Any] = {"what": what, "shape": [B, M, N], "floor_ms": 8e3 * B * M * N / found.copy_bytes_s}
    rows["paths"] = {}
    for name, path in paths.items():
        away = error(path, x_BMN, chosen, expected)
        one: dict[str, Any] = {"error": away if away < float("inf") else None, "right": away < WRONG}
        if one["right"]:
            ms = sorted(timed(partial(path, x_BMN, STEPS)))
            one["ms"] = ms[len(ms) // 2]
            one["tflop_s"] = flops / one["ms"] / 1e9
            one["share"] = flops / one["ms"] * 1e3 / found.matmul_flop_s
        rows["paths"][name] = one
    return rows


def _shown(rows: list[dict[str, Any]], found: Limits) -> Table:
    title = (
        f"Newton–Schulz, {torch.cuda.get_device_name()}, a product of 8192³: {found.matmul_flop_s / 1e12:.0f} TFLOP/s"
    )
    table = Table(title=title, title_justify="left")
    for name in ("blocks", "shape", "floor, ms", "path", "error", "ms", "TFLOP/s", "share"):
        table.add_column(name, justify="left" if name in ("blocks", "shape", "path") else "right")
    for one in rows:
        for name, path in one["paths"].items():
            away = "not finite" if path["error"] is None else f"{path['error']:.1e}"
            figures = ["wrong", "", ""]
            if path["right"]:
                figures = [f"{path['ms']:.3f}", f"{path['tflop_s']:.0f}", f"{path['share']:.0%}"]
            shape = "×".join(map(str, one["shape"]))
            table.add_row(one["what"], shape, f"{one['floor_ms']:.3f}", name, away, *figures)
    return table


def main(arguments: Sequence[str]) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--milliseconds", type=int, default=100, help="of each timing")
    parser.add_argument("--only", default="", help="shapes whose name holds this")
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args(arguments)
    if not torch.cuda.is_available():
        sys.exit("error: no CUDA device; the kernels are tested by `pytest tests/kernels/test_triton_newton_schulz.py`")
    device = torch.device("cuda")
    timed = timer(device, options.milliseconds)
    found = limits(device, timed)
    compiled = torch.compile(by_torch, dynamic=False)
    torch._dynamo.config.recompile_limit = 2 * len(SHAPES)
    rows = [row(shape, timed, found, compiled) for shape in SHAPES if options.only in shape[0]]
    if options.json:
        emit_json(rows)
    else:
        out.print(_shown(rows, found))
    return int(not all(path["right"] for one in rows for path in one["paths"].values()))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
