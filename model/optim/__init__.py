"""Per-Head Muon with AdamW for what is no hidden matrix, QK-clip, and the norm of the gradient."""

from trivium.model.optim.clip import clip_grad_norm, qk_clip
from trivium.model.optim.config import OptimizerConfig
from trivium.model.optim.groups import Blocks, Group, describe_groups, group_of
from trivium.model.optim.muon import PerHeadMuon
from trivium.model.optim.newton_schulz import orthogonalize

__all__ = [
    "Blocks",
    "Group",
    "OptimizerConfig",
    "PerHeadMuon",
    "clip_grad_norm",
    "describe_groups",
    "group_of",
    "orthogonalize",
    "qk_clip",
]
