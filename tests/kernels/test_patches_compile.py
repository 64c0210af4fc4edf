"""The launches of the attention of patches, compiled for Hopper on any machine: what the interpreter lets pass, too.

The launches run on CPU tensors up to the point where a kernel is looked up, in a process without the interpreter and
with an empty cache.
"""

import json
import os
import subprocess
import sys

import pytest

pytest.importorskip("triton", reason="the kernels need triton (constraints.txt)")

SHARED = 227 * 1024  # bytes that one program may have on Hopper
KERNELS = {"forward", "output_gradients", "query_gradients", "key_gradients"}
SCRIPT = """
import json
import torch
from triton.backends.compiler import GPUTarget
from triton.compiler import ASTSource, make_backend
from triton.compiler import compile as compile_for
from triton.runtime.jit import JITFunction, create_function_from_signature
from trivium.kernels.patches import PatchPlan
from trivium.kernels.patches.triton_patches import TritonPatchAttention

TARGET = GPUTarget("cuda", 90, 32)
backend = make_backend(TARGET)


def compile_here(self, *args, grid, warmup, **options):
    bind = create_function_from_signature(self.signature, self.params, backend)
    bound, specialisation, given = bind(*args, **options)
    parsed, signature, constants, attributes = self._pack_args(backend, options, bound, specialisation, given)
    made = compile_for(ASTSource(self, signature, constants, attributes), target=TARGET, options=parsed.__dict__)
    line = {"name": self.__name__, "shared": made.metadata.shared, "products": "wgmma.mma_async" in made.asm["ptx"]}
    print(json.dumps({"width": D} | line))


JITFunction.run = compile_here
for D in (64, 128):
    q, k, v = torch.zeros(300, 3, 16, D, dtype=torch.bfloat16, requires_grad=True).unbind(1)
    o = TritonPatchAttention.apply(q, k, v, PatchPlan.build([0, 100, 300], 300))
    o.backward(torch.zeros_like(o))
"""


@pytest.fixture(scope="module")
def compiled(tmp_path_factory):
    bare = {key: value for key, value in os.environ.items() if key != "TRITON_INTERPRET"}
    done = subprocess.run(
        [sys.executable, "-c", SCRIPT], capture_output=True, text=True, timeout=400, check=False,
        env=bare | {"TRITON_CACHE_DIR": str(tmp_path_factory.mktemp("triton"))},
    )  # fmt: skip
    assert done.returncode == 0, done.stderr[-2000:]
    return [json.loads(line) for line in done.stdout.splitlines()]


@pytest.mark.parametrize("width", [64, 128])
def test_all_passes_compile_for_hopper_and_fit(compiled, width):
    made = {line["name"]: line for line in compiled if line["width"] == width}
    assert set(made) == KERNELS
    assert all(line["products"] for name, line in made.items() if name != "output_gradients")
    assert all(line["shared"] <= SHARED for line in made.values())
