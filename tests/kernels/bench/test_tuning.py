"""Peers are tuned in full for speed, and hardly for errors."""

import pytest

pytest.importorskip("triton", reason="tunes a Triton kernel")

import triton
import triton.language as tl

from trivium.kernels.bench.peers.tuning import FEW, few_configurations


def test_few_configurations_are_tried_inside_and_all_outside() -> None:
    configurations = [triton.Config({"B": 2**n}) for n in range(4, 10)]

    @triton.autotune(configs=configurations, key=["n"])
    @triton.jit
    def kernel(x, n, B: tl.constexpr):
        tl.store(x + tl.program_id(0), B)

    with few_configurations():
        assert kernel.prune_configs({}) == configurations[:FEW]
    assert kernel.prune_configs({}) == configurations
