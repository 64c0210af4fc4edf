"""The adapter to liger-kernel, against a stand-in of its signature that computes by our definition.

The library itself runs on GPUs only; what can go wrong here is layout: one matrix of gate and up, indices, gradients.
"""

import sys
from types import ModuleType, SimpleNamespace

import pytest
import torch

from trivium.kernels.bench import measure
from trivium.kernels.bench.case import Contestant
from trivium.kernels.bench.operators.moe import MOE
from trivium.kernels.bench.operators.routed import TINY_EXPERTS
from trivium.kernels.bench.peers import liger
from trivium.kernels.moe import experts_reference

CPU = torch.device("cpu")


class Kernel:
    def __init__(self, name):
        sizes = [{"BLOCK_N": n, "BLOCK_K": k, "BLOCK_H": h, "num_warps": 4, "num_stages": s}
                 for n in (64, 128) for k in (4, 32, 64) for h in (64, 512) for s in (2, 3)]  # fmt: skip
        self.name, self.configs = name, [SimpleNamespace(all_kwargs=lambda size=size: size) for size in sizes]


class Fused:
    @staticmethod
    def apply(x, gate_up_proj, down_proj, top_k_index, top_k_weights):
        assert top_k_index.dtype == torch.int32
        w1, w3 = gate_up_proj.chunk(2, dim=1)
        return experts_reference(x, top_k_index, top_k_weights, w1, w3, down_proj, activation="swiglu")


@pytest.fixture
def module(monkeypatch):
    package, ops, found = ModuleType("liger_kernel"), ModuleType("liger_kernel.ops"), ModuleType("fused_moe")
    found.LigerFusedMoEFunction = Fused
    for name in liger.LIKELY:
        setattr(found, name, Kernel(name))
    ops.fused_moe = found
    for name, value in (("liger_kernel", package), ("liger_kernel.ops", ops)):
        monkeypatch.setitem(sys.modules, name, value)
    return found


def test_the_peer_sees_our_operands_in_its_layout_and_few_configurations(module):
    peer = Contestant(
        name="liger-kernel", bind=liger.bind, peer=True, arrange=liger.arrange, restore=liger.restore,
        takes=lambda shape: shape.activation == "swiglu",
    )  # fmt: skip
    plain, gated = TINY_EXPERTS[1], TINY_EXPERTS[0]
    rows = measure.contest(MOE, plain, [*MOE.contestants(CPU), peer], CPU, lambda f: [(f() and 1.0) or 1.0], 1)
    assert [row.contestant for row in rows] == ["trivium", "definition", "liger-kernel"]
    assert not rows[2].red
    assert list(rows[2].errors) == ["u", "dz", "dprobs", "dw1", "dw3", "dw2"]
    for name in liger.LIKELY:
        assert 0 < len(getattr(module, name).configs) < 12, name
    assert len(measure.contest(MOE, gated, [*MOE.contestants(CPU), peer], CPU, lambda f: [1.0], 1)) == 2  # no SiTU


def test_a_release_without_a_kernel_is_told_and_stops_nobody_else(module):
    del module._moe_bwd_dW1_kernel
    peer = Contestant(name="liger-kernel", bind=liger.bind, peer=True, arrange=liger.arrange, restore=liger.restore)
    rows = measure.contest(MOE, TINY_EXPERTS[1], [MOE.contestants(CPU)[0], peer], CPU, lambda f: [1.0], 1)
    assert [bool(row.red) for row in rows] == [False, True]
    assert "_moe_bwd_dW1_kernel" in rows[1].red


def test_a_release_with_other_configurations_tries_them_all():
    others = [SimpleNamespace(all_kwargs=lambda: {"BLOCK_N": 8}) for _ in range(5)]
    assert liger.likely("_moe_bwd_dW1_kernel", others) == others


def test_a_cpu_has_no_peer_of_it():
    assert liger.contestants(CPU) == []
