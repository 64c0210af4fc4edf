"""The mixture over depth in the table: bytes, wrong results, and fla-core against a stand-in of its signature.

The library itself runs on GPUs only; what can go wrong here is which vector goes where.
"""

import sys
from types import ModuleType

import pytest
import torch

from trivium.kernels.attnres import attnres_reference
from trivium.kernels.bench import measure
from trivium.kernels.bench.case import Contestant
from trivium.kernels.bench.operators.attn_res import ATTN_RES, TARGET, TINY, _operands
from trivium.kernels.bench.oracle import projections, pull
from trivium.kernels.bench.peers import attn_res as peers
from trivium.kernels.gated_norm import rms_norm_reference

CPU = torch.device("cpu")


def once(function):
    function()
    return [1.0]


def contest(shape, *calls):
    contestants = [Contestant(name=str(n), bind=lambda shape, device, call=call: call) for n, call in enumerate(calls)]
    return measure.contest(ATTN_RES, shape, contestants, CPU, once, 1)


def fused_attnres(query, residuals, rms_weight, output_rms_weight, *, rms_eps, checkpoint_level):
    assert checkpoint_level in (0, 1)
    assert all(v.shape == residuals[0].shape for v in residuals)
    return rms_norm_reference(attnres_reference(residuals, query, rms_weight, rms_eps), output_rms_weight, rms_eps)


@pytest.mark.parametrize("level", [0, 1])
def test_the_peer_sees_our_operands_in_its_order(monkeypatch, level):
    package, ops, module = ModuleType("fla"), ModuleType("fla.ops"), ModuleType("fla.ops.attnres")
    module.fused_attnres = fused_attnres
    for name, value in (("fla", package), ("fla.ops", ops), ("fla.ops.attnres", module)):
        monkeypatch.setitem(sys.modules, name, value)
    x = _operands(TINY[0], CPU, torch.float64)
    call, oracle = peers.binding(level)(TINY[0], CPU), ATTN_RES.oracle(TINY[0], CPU)
    weights = projections(oracle(*x))
    for found, expected in zip(pull(call, x, weights), pull(oracle, x, weights), strict=True):
        assert len(found) == len(expected)
        assert all(torch.allclose(a, b, atol=1e-12) for a, b in zip(found, expected, strict=True))


def test_a_cpu_has_no_peer_of_it():
    assert peers.contestants(CPU) == []


@pytest.mark.parametrize("shape", TINY, ids=lambda shape: shape.name)
def test_ours_is_the_definition(shape):
    (row,) = contest(shape, ATTN_RES.contestants(CPU)[0].bind(shape, CPU))
    assert row.red == ""
    assert list(row.errors) == ["y", "dquery", "dgamma", "dweight", *(f"dv{i}" for i in range(shape.sources))]


@pytest.mark.parametrize("wrong", [0, 1, 2, 3, 5])
def test_a_wrong_gradient_gets_no_figure(wrong):
    ours = ATTN_RES.contestants(CPU)[0].bind(TINY[0], CPU)

    def call(*x):
        x = list(x)
        x[wrong] = x[wrong].detach() + 1.5 * (x[wrong] - x[wrong].detach())
        return ours(*x)

    (row,) = contest(TINY[0], call)
    assert row.red.startswith(f"d{ATTN_RES.inputs[wrong]} is ")


def test_the_bytes_are_those_of_the_target():
    forward, both = ATTN_RES.work(TARGET)
    rows = 8192 * 7168 * 2
    assert forward.bytes == 10 * rows
    assert both.bytes == 29 * rows  # nine sources and dy read, nine gradients written
