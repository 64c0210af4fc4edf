"""Newton–Schulz of many blocks: the kernels beside chains of bmm and beside a loop, on this machine's GPU.

    python bench/newton_schulz.py [--milliseconds 100] [--only "base kda heads"] [--json]

The blocks are those that the optimizer makes of each preset's parameters, in its largest batch of each shape. Kernels
stand only where they run, at blocks of at most 128 rows; of larger ones the operator's path is the bmm chain.
Results are compared with the definition in fp64 (a few blocks of each shape) before anything is timed, and there is no
figure for a wrong one. Input and result are fp32, as the optimizer has them; the paths in PyTorch are in bf16. The
operations counted are those of the plain iteration, 5 · (4 M²N + 2 M³) a block, whatever a path does to save some; the
share is of the rate of a large bf16 product. `floor` reads the input and writes the result at the speed of a copy. Exit
code 1 when a result is wrong.
"""

import argparse
import sys
from collections import defaultdict
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import torch
from rich.console import Console
from rich.table import Table
from torch import Tensor

from trivium.console import emit_json, note
from trivium.kernels.bench.measure import Timer, limits, timer
from trivium.kernels.bench.report import Limits
from trivium.kernels.newton_schulz import MOST_ROWS, STEPS, newton_schulz_reference
from trivium.kernels.newton_schulz.torch_newton_schulz import by_torch
from trivium.model.optim.groups import describe_groups
from trivium.model.optim.muon import BATCH_NUMBERS
from trivium.model.presets import preset

MEMBERS = ("tiny", "base", "k3")  # of the family, whose blocks are listed
CHECKED = 3  # blocks of each shape, the first, one amid and the last
WIDTH = 140  # of the table: a log shows all of it
WRONG = 3e-2  # relative error: bf16 leaves 1e-2
Path = Callable[[Tensor, int], Tensor]
Shape = tuple[str, int, int, int]  # what they are, blocks, rows, columns


def by_loop(x_BMN: Tensor, steps: int) -> Tensor:
    """Block after block, as optimizers without batches do."""
    return torch.cat([by_torch(x_BMN[i : i + 1], steps) for i in range(len(x_BMN))])


def by_kernels(x_BMN: Tensor, steps: int) -> Tensor:
    from trivium.kernels.newton_schulz.triton_gram import by_gram

    return by_gram(x_BMN, steps, half=True)


def shapes(member: str) -> list[Shape]:
    """Every shape of a preset's blocks, turned wide, with as many as one batch of the optimizer holds."""
    config = preset(member)
    counts: dict[tuple[int, int], int] = defaultdict(int)
    splits: dict[tuple[int, int], set[str]] = defaultdict(set)
    for group in describe_groups(config.build(device="meta").named_parameters(), config):
        for blocks in group.blocks:
            size = min(blocks.rows, blocks.columns), max(blocks.rows, blocks.columns)
            counts[size] += blocks.count
            splits[size].add(group.split)
    return [
        (f"{member} {' + '.join(sorted(splits[M, N]))}", min(counts[M, N], max(1, BATCH_NUMBERS // (M * N))), M, N)
        for M, N in sorted(counts)
    ]


def error(path: Path, x_BMN: Tensor, chosen: list[int], expected: Tensor) -> float:
    """The largest of the chosen blocks' relative errors; infinite where a result is not finite."""
    found = path(x_BMN, STEPS)[chosen].double()
    if not found.isfinite().all():
        return float("inf")
    away = torch.linalg.vector_norm(found - expected, dim=(1, 2)) / torch.linalg.vector_norm(expected, dim=(1, 2))
    return float(away.max())


def row(shape: Shape, timed: Timer, found: Limits, compiled: Path) -> dict[str, Any]:
    what, B, M, N = shape
    x_BMN = torch.randn(B, M, N, generator=torch.Generator("cuda").manual_seed(B + M + N), device="cuda")
    chosen = sorted({0, B // 2, B - 1})[:CHECKED]
    expected = newton_schulz_reference(x_BMN[chosen].double())
    paths: dict[str, Path] = {"kernels": by_kernels} if M <= MOST_ROWS else {}
    paths |= {"bmm chain": by_torch, "bmm chain, compiled": compiled}
    if B > 1:
        paths["loop"] = by_loop
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
        note(f"{what} {B}×{M}×{N}, {name}: {one}")  # what a run that is cut short has found
    return rows


def _shown(rows: list[dict[str, Any]], found: Limits) -> Table:
    title = (
        f"Newton–Schulz, {torch.cuda.get_device_name()}, a product of 8192³: {found.matmul_flop_s / 1e12:.0f} TFLOP/s"
    )
    table = Table(title=title, title_justify="left")
    for name in ("blocks", "shape", "floor, ms", "path", "error", "ms", "TFLOP/s", "share"):
        table.add_column(name, justify="left" if name in ("blocks", "shape", "path") else "right", no_wrap=True)
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
    parser.add_argument("--only", default="", help="blocks whose name holds this, such as base")
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args(arguments)
    if not torch.cuda.is_available():
        sys.exit("error: no CUDA device; the kernels are tested by `pytest tests/kernels/test_triton_newton_schulz.py`")
    device = torch.device("cuda")
    timed = timer(device, options.milliseconds)
    found = limits(device, timed)
    compiled = torch.compile(by_torch, dynamic=False)
    chosen = [shape for member in MEMBERS for shape in shapes(member) if options.only in shape[0]]
    torch._dynamo.config.recompile_limit = 1 + len(chosen)
    rows = [row(shape, timed, found, compiled) for shape in chosen]
    if options.json:
        emit_json(rows)
    else:
        Console(width=WIDTH).print(_shown(rows, found))
    return int(not all(path["right"] for one in rows for path in one["paths"].values()))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
