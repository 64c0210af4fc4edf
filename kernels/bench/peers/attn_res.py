"""Peers of the mixture over depth: fla-core's `fused_attnres`, which takes the norm too, and the definition compiled.

Odd: fla-core has one epsilon for both norms, as we give it here. flash-attn-res 0.1.12 has no call for one query over a
list of sources (its two phases take a batch of queries, without the norm behind), so it is not in the table.
"""

import importlib.util
from collections.abc import Callable
from typing import TYPE_CHECKING

import torch
from torch import Tensor

from trivium.kernels.attnres import attnres_reference
from trivium.kernels.bench.case import Call, Contestant
from trivium.kernels.gated_norm import rms_norm_reference

if TYPE_CHECKING:
    from trivium.kernels.bench.operators.attn_res import DepthShape

__all__ = ["DISTRIBUTION", "EPS", "binding", "compiled", "contestants", "definition"]

DISTRIBUTION = "fla-core"
EPS = 1e-5


def contestants(device: torch.device) -> "list[Contestant[DepthShape]]":
    """None on a CPU; fla-core in both settings of its memory for speed, where it is installed."""
    if device.type != "cuda":
        return []
    found: list[Contestant[DepthShape]] = []
    if importlib.util.find_spec("fla") is not None:
        for name, level in (("fla-core", 1), ("fla-core, mixture kept", 0)):
            found.append(Contestant(name=name, bind=binding(level), peer=True, package=DISTRIBUTION))
    return [*found, Contestant(name="PyTorch compiled", bind=compiled, peer=True)]


def binding(level: int) -> "Callable[[DepthShape, torch.device], Call]":
    """`level` 0 keeps the mixture for the gradient, 1 makes it again."""

    def bind(shape: "DepthShape", device: torch.device) -> Call:
        from fla.ops.attnres import fused_attnres

        def call(query_D: Tensor, gamma_D: Tensor, weight_D: Tensor, *sources_TD: Tensor) -> tuple[Tensor, ...]:
            return (fused_attnres(query_D, sources_TD, gamma_D, weight_D, rms_eps=EPS, checkpoint_level=level),)

        return call

    return bind


def definition(shape: "DepthShape", device: torch.device) -> Call:
    """The sources stacked, mixed and normalised by the formulas, in whatever precision they come."""

    def call(query_D: Tensor, gamma_D: Tensor, weight_D: Tensor, *sources_TD: Tensor) -> tuple[Tensor, ...]:
        return (rms_norm_reference(attnres_reference(sources_TD, query_D, gamma_D, EPS), weight_D, EPS),)

    return call


def compiled(shape: "DepthShape", device: torch.device) -> Call:
    return torch.compile(definition(shape, device))
