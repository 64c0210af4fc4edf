"""Initial weights, one rule for each kind of parameter (spec: K3 config, AttnRes paper, FLA for the decay bias).

Odd: rules go by the parameter's name, so a model built on the meta device can be filled after `to_empty`. Only the
decay scale's start depends on a switch, since without a bound it is Kimi Linear's.
"""

import math

import torch
from torch import Tensor, nn

from trivium.model.kda import KDA

STD = 0.02  # initializer_range of the released configuration
DECAY_STEP = (1e-3, 1e-1)  # dt range of Mamba-2 and Gated DeltaNet
DECAY_STEP_FLOOR = 1e-4
UNBOUNDED_SCALE = (1.0, 16.0)  # e^A of a decay without a bound (Kimi Linear; FLA)


@torch.no_grad()
def init_weights(module: nn.Module, *, std: float = STD, seed: int = 0) -> None:
    """Fills every parameter in name order from one seeded CPU generator: the same seed gives the same model."""
    generator = torch.Generator().manual_seed(seed)
    unbounded = {f"{name}.A_log" for name, part in module.named_modules() if _is_unbounded(part)}
    for name, parameter in sorted(module.named_parameters()):
        if name in unbounded:
            low, high = UNBOUNDED_SCALE
            parameter.copy_(torch.log(torch.rand(parameter.shape, generator=generator) * (high - low) + low))
        else:
            parameter.copy_(_draw(name, parameter, std, generator))


def _is_unbounded(part: nn.Module) -> bool:
    return isinstance(part, KDA) and part.config.decay_bound is None


def _draw(name: str, parameter: Tensor, std: float, generator: torch.Generator) -> Tensor:
    shape = parameter.shape
    if name.endswith((".query", ".A_log")):
        # Zero queries make AttnRes a plain mean of its sources; A = 0 is the report's start for the decay scale.
        return torch.zeros(shape)
    if name.endswith((".gamma", "norm.weight", "norm1.weight", "norm2.weight")):
        return torch.ones(shape)
    if name.endswith(".dt_bias"):
        return decay_bias(torch.rand(shape, generator=generator))
    if name.endswith("_conv.weight"):
        return _uniform(shape, 1 / math.sqrt(shape[-1]), generator)
    if name.endswith(".router.weight"):
        return _uniform(shape, 1 / math.sqrt(shape[-1]), generator)
    if name.endswith("patch_embed.weight"):
        return torch.randn(shape, generator=generator) / math.sqrt(shape[-1])
    return torch.randn(shape, generator=generator) * std


def decay_bias(uniform: Tensor) -> Tensor:
    """Inverse softplus of a log-uniform step size: alpha starts between 0.62 and 0.995 (FLA; Mamba-2)."""
    low, high = (math.log(step) for step in DECAY_STEP)
    step = torch.exp(uniform * (high - low) + low).clamp(min=DECAY_STEP_FLOOR)
    return step + torch.log(-torch.expm1(-step))


def _uniform(shape: torch.Size, bound: float, generator: torch.Generator) -> Tensor:
    return (torch.rand(shape, generator=generator) * 2 - 1) * bound
