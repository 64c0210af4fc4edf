"""The kernels for Hopper, compiled on any machine: for its instructions, within its registers and shared memory.

What they compute is tested where a GPU is (test_triton_kda.py, `-m gpu`).
"""

import pytest

pytest.importorskip("triton.experimental.gluon", reason="the kernels for Hopper need Triton's Gluon")

from triton.backends.compiler import GPUTarget
from triton.compiler import compile as compile_for
from triton.experimental.gluon._runtime import GluonASTSource

from trivium.kernels.kda.gluon_gradients import gradients
from trivium.kernels.kda.gluon_launch import REGISTERS
from trivium.kernels.kda.gluon_prepare import invert, prepare
from trivium.kernels.kda.gluon_scan import scan_backward, scan_forward

HOPPER = GPUTarget("cuda", 90, 32)
SHARED = 227 * 1024  # bytes that one program may have on Hopper
FP32 = {"A_log", "bias", "decay", "dA", "dbias", "initial", "final", "dfinal", "dinitial"}
SCALARS = {"T": "i32", "H": "i32", "lower_bound": "fp32", "scale": "fp32"}
SHAPES = {"K": 128, "V": 128, "C": 64, "WARPS": 8}
STATES = {"HAS_INITIAL": True, "HAS_FINAL": True}
CASES = {
    "prepare": (prepare, {}, REGISTERS, 2),
    "invert": (invert, {"WARPS": 4}, REGISTERS, 4),
    "forward": (scan_forward, {"OUTPUT": True, "SAVE": False, "states": None, "deltas": None, **STATES}, None, 1),
    "replay": (scan_forward, {"OUTPUT": False, "SAVE": True, "o": None, **STATES}, None, 1),
    "backward": (scan_backward, STATES, None, 1),
    "gradients": (gradients, {}, None, 1),
}


@pytest.mark.parametrize("name", CASES)
def test_it_compiles_for_hopper(name):
    function, special, registers, programs = CASES[name]
    names, values = function.arg_names, {**SHAPES, **special}

    def type_of(x):
        if x in values:
            return "constexpr"
        table = {"chunks": "*i32", "documents": "*i32", "pair": "*i16", **SCALARS}
        return table.get(x, "*fp32" if x in FP32 else "*bf16")

    signature = {x: type_of(x) for x in names}
    constants = {(i,): values[x] for i, x in enumerate(names) if x in values}
    aligned = {(i,): [["tt.divisibility", 16]] for i, x in enumerate(names) if signature[x].startswith(("*", "i32"))}
    options = {"num_warps": values["WARPS"]} | ({"maxnreg": registers} if registers else {})
    made = compile_for(GluonASTSource(function, signature, constants, aligned), target=HOPPER, options=options)
    assert "wgmma.mma_async" in made.asm["ptx"]
    assert made.metadata.shared * programs <= SHARED, "as many programs as waits are meant to overlap"
