"""Nothing is compiled anew on Hopper when T changes: Triton's own keys of KDA's, norms', convolutions' and experts'.

The launches run on CPU tensors up to the point where a kernel is looked up, in a process without the interpreter.
"""

import json
import os
import subprocess
import sys

import pytest

pytest.importorskip("triton.experimental.gluon", reason="the kernels for Hopper need Triton's Gluon")

KERNELS = {
    "hopper": {"prepare", "invert", "scan_forward", "scan_backward", "gradients"},
    "rest": {"_forward", "_backward"},
    "moe": {"_route", "_spread", "_take", "_mix", "_forward", "_backward"},
    "few": {"_map", "_glu", "_sum", "_wgrad"},
}
SCRIPT = """
import json
import torch
from triton.backends.compiler import GPUTarget
from triton.compiler import make_backend
from triton.runtime.jit import JITFunction, create_function_from_signature
from trivium.kernels.gated_norm.triton_norm import TritonNorm
from trivium.kernels.kda import ChunkPlan, gluon_launch, triton_chunk
from trivium.kernels.moe import triton_few, triton_few_wgrad, triton_glu, triton_rows
from trivium.kernels.moe.few_plan import tile_map
from trivium.kernels.moe.triton_route import route_rows
from trivium.kernels.moe.triton_spread import spread
from trivium.kernels.short_conv.plan import TapPlan
from trivium.kernels.short_conv.triton_conv import TritonShortConv

backend, way, keys = make_backend(GPUTarget("cuda", 90, 32)), "", {}


def look_up(self, *args, grid, warmup, **options):
    bind = create_function_from_signature(self.signature, self.params, backend)
    _, specialisation, options = bind(*args, **options)
    constants = [x for x in specialisation if x[0] == "constexpr"]
    name = f"{way}.{self.__name__} {[str(c) for c in constants]}"
    keys.setdefault(name, set()).add(str((specialisation, options)))


JITFunction.run = look_up
triton_chunk.launcher = lambda x: gluon_launch
H, K = 2, 64
for T in (3072, 777, 1, 5003):
    cu = torch.tensor([0, T])
    x = [torch.zeros(T, H, K, dtype=torch.bfloat16, requires_grad=True) for _ in range(4)]
    x += [torch.zeros(T, H, dtype=torch.bfloat16), torch.zeros(H), torch.zeros(H, K), torch.zeros(1, H, K, K)]
    way = "hopper"
    o, state = triton_chunk.TritonKDA.apply(*x, ChunkPlan.build(cu, T), -5.0, 0.125, True)
    (o.sum() + state.sum()).backward()
    way = "rest"
    TritonNorm.apply(x[0], x[1], torch.ones(K), 1e-5).sum().backward()
    wide = torch.empty(T, 4096, dtype=torch.bfloat16, requires_grad=True)  # one row a tile
    TritonNorm.apply(wide, None, torch.ones(4096), 1e-5).backward(wide.detach())
    TritonShortConv.apply(x[0].flatten(1), torch.zeros(H * K, 4), None, TapPlan.build(cu, T)).sum().backward()
    way = "moe"
    indices, shares, *_ = route_rows(torch.zeros(T, 24), torch.zeros(24), 3, torch.zeros(2).double(), 10, None)
    spread(indices, shares, 24)
    pairs = torch.zeros(3 * T, dtype=torch.int64)
    rows = triton_rows.take_rows(x[0].flatten(1), pairs, 3)
    triton_rows.mix_rows([rows, rows], pairs, 3)
    triton_glu.weighted_glu_backward(rows, rows, shares.flatten(), rows, "situ")
    triton_glu.weighted_glu(rows, rows, shares.flatten(), "situ")
    way, ends, w = "few", torch.zeros(24, dtype=torch.int32), torch.zeros(24, H * K, H * K, dtype=torch.bfloat16)
    tiles = tile_map(ends, 3 * T, 128)
    triton_few.few_glu(x[0].flatten(1), pairs, w, w, shares.flatten(), tiles, "situ")
    triton_few.few_forward(rows, None, w, tiles)
    triton_few.few_dgrad(x[0].flatten(1), pairs, w, None, tiles)
    both = torch.cat([rows, rows], 1)
    triton_few.few_dgrad(both, None, w, w, tiles)
    triton_few_wgrad.few_wgrad(x[0].flatten(1), pairs, rows, None, ends, torch.float32)
    triton_few_wgrad.few_wgrad_two(both, x[0].flatten(1), pairs, ends)
print(json.dumps({name: len(found) for name, found in keys.items()}))
"""


def test_no_kernel_has_a_second_key_for_another_length(tmp_path):
    bare = {key: value for key, value in os.environ.items() if key != "TRITON_INTERPRET"}
    done = subprocess.run(
        [sys.executable, "-c", SCRIPT], capture_output=True, text=True, timeout=200, check=False,
        env=bare | {"TRITON_CACHE_DIR": str(tmp_path)},
    )  # fmt: skip
    assert done.returncode == 0, done.stderr[-2000:]
    keys = json.loads(done.stdout)
    for way, names in KERNELS.items():
        assert {name.split()[0] for name in keys if name.startswith(way)} == {f"{way}.{name}" for name in names}
    assert {name for name, count in keys.items() if count > 1} == set()
    # Two passes of the scan; two norms and the convolution, both ways; no constant is made of T either.
    assert len(keys) == 6 + 6 + 6 + 7
