"""The adapter to fla-core, against a stand-in of its signature that computes by our definition.

The library itself runs on GPUs only; what can go wrong here is layout: batches, borders, states, names of arguments.
"""

import sys
from types import ModuleType

import pytest
import torch

from trivium.kernels.bench.case import Layout
from trivium.kernels.bench.operators.kda import KDA, _operands
from trivium.kernels.bench.oracle import projections, pull
from trivium.kernels.bench.peers import fla
from trivium.kernels.kda import kda_reference

CPU = torch.device("cpu")
SETTINGS = {
    "use_qk_l2norm_in_kernel": True, "use_gate_in_kernel": True, "use_beta_sigmoid_in_kernel": True, "safe_gate": True,
    "lower_bound": -5.0,
}  # fmt: skip


def chunk_kda(q, k, v, g, beta, *, initial_state, output_final_state, cu_seqlens=None, cu_seqlens_cpu=None,
              disable_recompute, A_log, dt_bias, **settings):  # fmt: skip
    """[B, T, H, K] rows, β [B, T, H], A [H], bias [H·K], states [N, H, K, V] in fp32."""
    assert settings == SETTINGS
    B, T, H, K = q.shape
    assert v.shape == g.shape == (B, T, H, K)
    assert beta.shape == (B, T, H)
    assert dt_bias.shape == (H * K,)
    assert cu_seqlens is None or (B == 1 and torch.equal(cu_seqlens, cu_seqlens_cpu))
    assert initial_state is None or initial_state.dtype == torch.float32
    borders = torch.arange(0, B * T + 1, T) if cu_seqlens is None else cu_seqlens
    rows = (x.flatten(0, 1) for x in (q, k, v, g, beta))
    o, state = kda_reference(*rows, A_log, dt_bias.view(H, K), borders, initial_state=initial_state)
    return o.unflatten(0, (B, T)), state if output_final_state else None


@pytest.fixture(autouse=True)
def stand_in(monkeypatch):
    package, ops, module = ModuleType("fla"), ModuleType("fla.ops"), ModuleType("fla.ops.kda")
    module.chunk_kda = chunk_kda
    for name, value in (("fla", package), ("fla.ops", ops), ("fla.ops.kda", module)):
        monkeypatch.setitem(sys.modules, name, value)


@pytest.mark.parametrize("lengths", [(9,), (4, 4, 4), (5, 0, 3)])
@pytest.mark.parametrize("states", [False, True])
def test_the_peer_sees_our_operands_in_its_layout(lengths, states):
    layout = Layout(lengths=lengths, heads=2, width=8)
    x = _operands(layout, CPU, torch.float32)
    if states:
        x.append(torch.randn(len(lengths), 2, 8, 8))
    call, oracle = fla.binding(disable_recompute=True)(layout, CPU), KDA.exact(layout, CPU)
    weights = projections(oracle(*x))
    for found, expected in zip(pull(call, x, weights), pull(oracle, x, weights), strict=True):
        assert len(found) == len(expected)
        assert all(torch.allclose(a, b, atol=1e-6) for a, b in zip(found, expected, strict=True))


def test_a_cpu_has_no_peer_of_it():
    assert fla.contestants(CPU) == []
