"""The K3 family: the released shape and its scaled-down members.

Scaled-down members follow the report's ratios (spec, section 0.4): d/H = 74.67 with heads of 128, latent d/2, expert
hidden 3d/7, shared width twice and dense width eleven times that, q_lora about 0.21 d, layers 1 mod 4 so that the
pattern K K K M ends with one more M. Where they leave them:
- nano: heads of 64 (two of them, as 128 would leave one), kv_lora d/2, extra dims half a head, AttnRes blocks of two
  layers as the CPU study took them;
- tiny, small: vocabularies that fit their size; AttnRes blocks of two layers (the paper finds 2 to 8 sublayers equal);
- towers: 4 × 256, 8 × 384, 12 × 512, 16 × 768 (layers × width), heads of 64, MLP four times the width.
"""

from trivium.model.backbone import Backbone
from trivium.model.joint import JointConfig
from trivium.model.kda import KDA
from trivium.model.mla import MLA
from trivium.model.moe import LatentMoE
from trivium.vision.moonvit import MoonViT

VOCAB = 163840  # Kimi's rank file and specials
MEDIA_PAD = 163605


def tower(*, layers: int, width: int) -> MoonViT.Config:
    """A scaled-down tower; both families share it, so that joint runs compare their backbones alone."""
    return MoonViT.Config(width=width, layers=layers, heads=width // 64, head_dim=64, hidden=4 * width)


def nano() -> JointConfig:
    """For CPU tests and the demo."""
    backbone = Backbone.Config(
        vocab=2048,
        width=128,
        layers=5,
        mla_every=4,
        kda=KDA.Config(heads=2, head_dim=64),
        mla=MLA.Config(heads=2, head_dim=64, extra_dim=32, q_lora=32, kv_lora=64),
        dense_layers=1,
        dense_hidden=616,
        moe=LatentMoE.Config(experts=16, experts_per_token=4, hidden=56, latent=64, shared=2),
        attn_res_block=2,
    )
    return JointConfig(backbone=backbone, vision=tower(layers=4, width=256), media_pad=2045)


def _scaled(*, vocab: int, width: int, heads: int, layers: int, q_lora: int, experts: int) -> Backbone.Config:
    hidden = 3 * width // 7
    return Backbone.Config(
        vocab=vocab,
        width=width,
        layers=layers,
        mla_every=4,
        kda=KDA.Config(heads=heads, head_dim=128),
        mla=MLA.Config(heads=heads, head_dim=128, extra_dim=64, q_lora=q_lora, kv_lora=512),
        dense_layers=1,
        dense_hidden=11 * hidden,
        moe=LatentMoE.Config(experts=experts, experts_per_token=8, hidden=hidden, latent=width // 2, shared=2),
        attn_res_block=2,
    )


def tiny() -> JointConfig:
    """About 50 M activated."""
    backbone = _scaled(vocab=32768, width=448, heads=6, layers=9, q_lora=96, experts=256)
    return JointConfig(backbone=backbone, vision=tower(layers=8, width=384), media_pad=32765)


def small() -> JointConfig:
    """About 250 M activated."""
    backbone = _scaled(vocab=65536, width=896, heads=12, layers=13, q_lora=192, experts=256)
    return JointConfig(backbone=backbone, vision=tower(layers=12, width=512), media_pad=65533)


def base() -> JointConfig:
    """About 1.0 B activated of 7.6 B."""
    backbone = _scaled(vocab=VOCAB, width=1792, heads=24, layers=13, q_lora=384, experts=256)
    return JointConfig(backbone=backbone, vision=tower(layers=16, width=768), media_pad=MEDIA_PAD)


def k3() -> JointConfig:
    """The released configuration (spec, section 0.1)."""
    backbone = Backbone.Config(
        vocab=VOCAB,
        width=7168,
        layers=93,
        mla_every=4,
        kda=KDA.Config(heads=96, head_dim=128, stored_decay_scales=128),
        mla=MLA.Config(heads=96, head_dim=128, extra_dim=64, q_lora=1536, kv_lora=512),
        dense_layers=1,
        dense_hidden=33792,
        moe=LatentMoE.Config(experts=896, experts_per_token=16, hidden=3072, latent=3584, shared=2),
        attn_res_block=12,
    )
    vision = MoonViT.Config(width=1024, layers=27, heads=12, head_dim=128, hidden=4096)
    return JointConfig(backbone=backbone, vision=vision, media_pad=MEDIA_PAD)
