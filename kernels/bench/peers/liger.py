"""liger-kernel's fused MoE behind our operands (0.8.5: SwiGLU, gate and up in one matrix, indices in int32).

Odd: it tunes seven kernels, eight times in a pass both ways, with 16 to 40 configurations each: minutes. Eight are left
in (four of the sums), those with the deeper tiles and pipelines. Its known figure in `targets` shows whether that is
fair; all of them compile for Hopper within its shared memory.
"""

import importlib.util
from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor

from trivium.kernels.bench.case import Call, Contestant
from trivium.kernels.bench.operators.routed import ExpertsShape

__all__ = ["DISTRIBUTION", "LIKELY", "arrange", "bind", "contestants", "likely", "restore"]

DISTRIBUTION = "liger-kernel"
_PRODUCT = {"BLOCK_N": (64, 128), "BLOCK_K": (64,), "num_stages": (3, 4)}
_GRADIENT = {"BLOCK_K": (32,)}
LIKELY: dict[str, dict[str, tuple[int, ...]]] = {
    "_fused_up_proj_swiglu_kernel": _PRODUCT,
    "_fused_down_proj_kernel": _PRODUCT,
    "_moe_bwd_down_proj_kernel": _PRODUCT,
    "_moe_bwd_dX_expanded_kernel": _PRODUCT,
    "_moe_bwd_dW1_kernel": _GRADIENT,
    "_moe_bwd_dW2_kernel": _GRADIENT,
    "_token_gather_weighted_sum_kernel": {"BLOCK_H": (256, 512), "BLOCK_K": (4, 8), "num_warps": (4,)},
}


def contestants(device: torch.device) -> list[Contestant[ExpertsShape]]:
    """None where it is not installed or the device is no GPU; it has no SiTU."""
    if device.type != "cuda" or importlib.util.find_spec("liger_kernel") is None:
        return []
    return [
        Contestant(
            name="liger-kernel", bind=bind, peer=True, package=DISTRIBUTION, arrange=arrange, restore=restore,
            takes=lambda shape: shape.activation == "swiglu",
        )
    ]  # fmt: skip


def likely(name: str, configurations: Sequence[Any]) -> list[Any]:
    """Those of a kernel's configurations that are tried; all where a release has none of these."""
    wanted = LIKELY[name]
    return [
        one for one in configurations if all(one.all_kwargs().get(key) in values for key, values in wanted.items())
    ] or list(configurations)


def bind(shape: ExpertsShape, device: torch.device) -> Call:
    from liger_kernel.ops import fused_moe

    for name in LIKELY:
        kernel = getattr(fused_moe, name)
        kernel.configs = likely(name, kernel.configs)

    def call(
        x_TL: Tensor, indices_TK: Tensor, probs_TK: Tensor, w13_E2FL: Tensor, w2_ELF: Tensor
    ) -> tuple[Tensor, ...]:
        return (fused_moe.LigerFusedMoEFunction.apply(x_TL, w13_E2FL, w2_ELF, indices_TK, probs_TK),)

    return call


def arrange(operands: Sequence[Tensor]) -> list[Tensor]:
    z_TL, indices_TK, probs_TK, w1_EFL, w3_EFL, w2_ELF = operands
    return [z_TL, indices_TK.int(), probs_TK, torch.cat([w1_EFL, w3_EFL], 1), w2_ELF]


def restore(gradients: Sequence[Tensor]) -> list[Tensor]:
    dz_TL, dprobs_TK, dw13_E2FL, dw2_ELF = gradients
    return [dz_TL, dprobs_TK, *dw13_E2FL.chunk(2, dim=1), dw2_ELF]
