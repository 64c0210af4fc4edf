"""Per-Head Muon with AdamW for what is no hidden matrix, alone or sharded; QK-clip, and the norm of the gradient."""

from trivium.model.optim.clip import clip_grad_norm, qk_clip
from trivium.model.optim.config import OptimizerConfig
from trivium.model.optim.groups import Blocks, Group, describe_groups, group_of
from trivium.model.optim.muon import PerHeadMuon
from trivium.model.optim.newton_schulz import orthogonalize
from trivium.model.optim.owners import Piece, deal
from trivium.model.optim.sharded import ShardedMuon, all_reduce_max

__all__ = [
    "Blocks",
    "Group",
    "OptimizerConfig",
    "PerHeadMuon",
    "Piece",
    "ShardedMuon",
    "all_reduce_max",
    "clip_grad_norm",
    "deal",
    "describe_groups",
    "group_of",
    "orthogonalize",
    "qk_clip",
]
