"""The portable scan backwards, compiled for Hopper on any machine: what it holds stays well inside its registers.

A kernel with products that filled all registers of four warps read outside shared memory (Triton 3.6;
kernels/README.md). The compiler runs in a process without Triton's interpreter and with an empty cache.
"""

import json
import os
import subprocess
import sys

import pytest

SCRIPT = """
import json, re, subprocess, sys, tempfile
from pathlib import Path
import torch, triton
import triton.language as tl
from triton.backends.compiler import GPUTarget
from triton.compiler import ASTSource
from trivium.kernels.kda.triton_launch import _scan
from trivium.kernels.kda.triton_scan import scan_backward

FP32 = {"beta", "decay", "dots", "dfinal", "dinitial"}
OWN = {"documents": "*i32", "T": "i32", "H": "i32"}
tools = Path(triton.__file__).parent / "backends" / "nvidia" / "bin"
found = {}
for heads in (8, 60, 200):
    config = _scan(torch.empty(1, heads, 128, dtype=torch.bfloat16, device="meta"), 1, save=True, stages=1)
    warps = config.pop("num_warps")
    values = {"K": 128, "V": 128, "C": 64, "dtype": tl.bfloat16, "PRECISION": "tf32x3", "SAVE": True,
              "HAS_FINAL": True, "HAS_INITIAL": True, **config}
    key = f"{config['B']} columns, {warps} warps"
    if key in found:
        continue
    names = scan_backward.arg_names
    types = {x: "constexpr" if x in values else OWN.get(x, "*fp32" if x in FP32 else "*bf16") for x in names}
    aligned = {(i,): [["tt.divisibility", 16]] for i, x in enumerate(names) if types[x][0] == "*" or x == "H"}
    source = ASTSource(scan_backward, types, {(i,): values[x] for i, x in enumerate(names) if x in values}, aligned)
    made = triton.compile(source, target=GPUTarget("cuda", 90, 32), options={"num_warps": warps})
    with tempfile.NamedTemporaryFile(suffix=".cubin") as file:
        file.write(made.asm["cubin"])
        file.flush()
        usage = subprocess.run([tools / "cuobjdump", "-res-usage", file.name], capture_output=True, text=True).stdout
    found[key] = {"registers": int(re.search(r"REG:(\\d+)", usage)[1]), "shared": made.metadata.shared}
print(json.dumps(found))
"""


def test_the_backward_scan_keeps_to_its_registers(tmp_path) -> None:
    pytest.importorskip("triton", reason="compiles Triton kernels")
    bare = {key: value for key, value in os.environ.items() if key != "TRITON_INTERPRET"}
    done = subprocess.run(
        [sys.executable, "-c", SCRIPT], capture_output=True, text=True, timeout=200, check=False,
        env=bare | {"TRITON_CACHE_DIR": str(tmp_path)},
    )  # fmt: skip
    assert done.returncode == 0, done.stderr[-2000:]
    made = json.loads(done.stdout)
    assert len(made) == 2
    assert max(use["registers"] for use in made.values()) < 240, "255 is all there are"
    assert all(2 * use["shared"] <= 227 * 1024 for use in made.values()), "two programs a multiprocessor"
