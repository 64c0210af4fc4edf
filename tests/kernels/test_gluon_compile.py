"""The kernels for Hopper, compiled on any machine: for its instructions, within its registers and shared memory.

What they compute is tested where a GPU is (test_triton_kda.py, `-m gpu`). The compiler runs in a process of its own,
since these tests' process has Triton's interpreter, and with an empty cache.
"""

import json
import os
import subprocess
import sys

import pytest

SHARED = 227 * 1024  # bytes that one program may have on Hopper
PROGRAMS = {
    "prepare": 2, "invert": 4, "forward": 1, "replay": 1, "transition": 1, "backward": 1, "entering": 1, "gradients": 1,
}  # a multiprocessor  # fmt: skip
SCRIPT = """
import json
from triton.backends.compiler import GPUTarget
from triton.compiler import compile as compile_for
from triton.experimental.gluon._runtime import GluonASTSource
from trivium.kernels.kda.gluon_gradients import gradients
from trivium.kernels.kda.gluon_launch import REGISTERS
from trivium.kernels.kda.gluon_prepare import invert, prepare
from trivium.kernels.kda.gluon_scan import scan_backward, scan_forward

FP32 = {"A_log", "bias", "opened", "decay", "dots", "dA", "dbias", "initial", "final", "dfinal", "dinitial"}
TYPES = {"chunks": "*i32", "documents": "*i32", "pair": "*i16", "T": "i32", "H": "i32", "lower_bound": "fp32",
         "scale": "fp32"}
STATES = {"HAS_INITIAL": True, "HAS_FINAL": True}
SCAN = {"SAVE": False, "TRANSITION": False}
CASES = {
    "prepare": (prepare, {}, REGISTERS),
    "invert": (invert, {"WARPS": 4}, REGISTERS),
    "forward": (scan_forward, {"OUTPUT": True, **SCAN, "states": None, "deltas": None, **STATES}, None),
    "replay": (scan_forward, {"OUTPUT": False, **SCAN, "SAVE": True, "o": None, **STATES}, None),
    "transition": (scan_forward, {"OUTPUT": False, **SCAN, "TRANSITION": True, "o": None, "states": None,
                                  "deltas": None, "initial": None, "HAS_INITIAL": False, "HAS_FINAL": True}, None),
    "backward": (scan_backward, {"SAVE": True, **STATES}, None),
    "entering": (scan_backward, {"SAVE": False, "deltas": None, "dv": None, "dstates": None, "dots": None,
                                 "dfinal": None, "HAS_FINAL": False, "HAS_INITIAL": True}, None),
    "gradients": (gradients, {}, None),
}


def made(function, special, registers):
    names, values = function.arg_names, {"K": 128, "V": 128, "C": 64, "WARPS": 8, **special}
    opened = {"beta"} if function in (scan_forward, scan_backward) else set()  # β itself, not its logits
    signature = {
        x: "constexpr" if x in values else TYPES.get(x, "*fp32" if x in FP32 | opened else "*bf16") for x in names
    }
    constants = {(i,): values[x] for i, x in enumerate(names) if x in values}
    aligned = {(i,): [["tt.divisibility", 16]] for i, x in enumerate(names) if signature[x][0] == "*" or x == "H"}
    options = {"num_warps": values["WARPS"]} | ({"maxnreg": registers} if registers else {})
    source = GluonASTSource(function, signature, constants, aligned)
    found = compile_for(source, target=GPUTarget("cuda", 90, 32), options=options)
    return {"products": "wgmma.mma_async" in found.asm["ptx"], "shared": found.metadata.shared}


for name, case in CASES.items():
    try:
        found = made(*case)
    except Exception as error:
        found = {"error": str(error)[-2000:]}
    print(json.dumps({"name": name, **found}))
"""


@pytest.fixture(scope="module")
def compiled(tmp_path_factory):
    pytest.importorskip("triton.experimental.gluon", reason="the kernels for Hopper need Triton's Gluon")
    bare = {key: value for key, value in os.environ.items() if key != "TRITON_INTERPRET"}
    done = subprocess.run(
        [sys.executable, "-c", SCRIPT], capture_output=True, text=True, timeout=400, check=False,
        env=bare | {"TRITON_CACHE_DIR": str(tmp_path_factory.mktemp("triton"))},
    )  # fmt: skip
    assert done.returncode == 0, done.stderr[-2000:]
    return {line.pop("name"): line for line in map(json.loads, done.stdout.splitlines())}


@pytest.mark.parametrize("name", PROGRAMS)
def test_it_compiles_for_hopper(compiled, name):
    made = compiled[name]
    assert "error" not in made, made["error"]
    assert made["products"]
    assert made["shared"] * PROGRAMS[name] <= SHARED, "as many programs as waits are meant to overlap"


RINGS = """
import json, pathlib, re, subprocess, tempfile
from triton import knobs
from triton.backends.compiler import GPUTarget
from triton.compiler import compile as compile_for
from triton.experimental.gluon._runtime import GluonASTSource
from trivium.kernels.attnres.gluon_backward import backward
from trivium.kernels.attnres.gluon_forward import forward
from trivium.kernels.attnres.gluon_launch import plan

TYPES = {"y": "*bf16", "dy": "*bf16", "T": "i32", "add": "i32", "eps": "fp32", "norm_eps": "fp32"}


def made(function, N, W, **special):
    ring = plan(W, 132, gradient=function is backward)
    values = {"NORM": True, "N": N, "W": W, "S": ring.slots, "WARPS": ring.warps, "V": ring.numbers, **special}
    names = function.arg_names
    signature = {x: "constexpr" if x in values else TYPES.get(x, "*fp32") for x in names}
    signature |= {x: ("*bf16",) * N for x in names if x.endswith("sources")}
    constants = {(i,): values[x] for i, x in enumerate(names) if x in values}
    aligned = {(i,): [["tt.divisibility", 16]] for i, x in enumerate(names) if signature[x][0] == "*"}
    aligned |= {(i, k): [["tt.divisibility", 16]] for i, x in enumerate(names) if "sources" in x for k in range(N)}
    source = GluonASTSource(function, signature, constants, aligned)
    options = {"num_warps": ring.warps, "maxnreg": ring.registers}
    found = compile_for(source, target=GPUTarget("cuda", 90, 32), options=options)
    programs = ring.programs // 132
    with tempfile.TemporaryDirectory() as place:
        ptx = pathlib.Path(place, "kernel.ptx")
        ptx.write_text(found.asm["ptx"])
        told = subprocess.run([knobs.nvidia.ptxas.path, "-arch=sm_90a", "-v", ptx, "-o", f"{place}/cubin"],
                              capture_output=True, text=True, check=True).stderr
    widths = set(re.findall(r"cp\\.async\\.c[ag]\\.shared\\.global .*, (0x[0-9a-f]+),", found.asm["ptx"]))
    spilled = int(re.search(r"(\\d+) bytes spill stores", told)[1])
    return {"shared": programs * found.metadata.shared, "widths": sorted(widths), "spilled": spilled}


print(json.dumps([made(forward, 9, 7168), made(backward, 9, 7168, ADD=False, KEEP=False), made(forward, 12, 8192)]))
"""


def test_rings_of_rows_fit_hopper(tmp_path):
    pytest.importorskip("triton.experimental.gluon", reason="the kernels for Hopper need Triton's Gluon")
    bare = {key: value for key, value in os.environ.items() if key != "TRITON_INTERPRET"}
    done = subprocess.run(
        [sys.executable, "-c", RINGS], capture_output=True, text=True, timeout=400, check=False,
        env=bare | {"TRITON_CACHE_DIR": str(tmp_path)},
    )  # fmt: skip
    assert done.returncode == 0, done.stderr[-2000:]
    for made in json.loads(done.stdout):
        assert made["shared"] <= SHARED
        assert made["widths"] in (["0x8"], ["0x10"]), "a thread's copies are of 8 or 16 bytes"
        assert made["spilled"] <= 64
