"""The K2 baseline (spec, section 2.2b; K3 report, Table 1): the published shape and a member beside each of K3's.

Its mechanisms: MLA with RoPE in every layer and no output gate, SwiGLU, experts at full width mixed with a scaling
factor, sign-step balance, plain residuals, one MTP layer (Table 1 gives one to both), Muon on whole matrices (the
optimizer's part: `trivium.model.presets.optimizer`).

A member has the vocabulary, the tower, the MTP layer, and within 2 % the total and the activated parameters of the K3
member of its size. Kept of K2's ratios: d/H = 112 with heads of 128, expert hidden 2d/7, one shared expert, dense width
18d/7, q_lora 3d/14, kv_lora 512, top-8. Both families have one width at full size and K2 has 61 layers to 93: so d/L is
1.525 times K3's, which chose width and layers at each size (76, 105, 210 wanted; 70, 93, 214 taken). Bent to meet
both totals:
- experts: 136 to 140 instead of 384. An expert of full width weighs 4/3 of a latent one, so an equal total holds fewer;
- tiny: dense width 16d/7;
- nano: heads of 64 (two: d/H = 80), kv_lora 64 and extra dims 32 as K3's nano, hidden 48 and dense width 472 in steps
  of 8, 4 of 8 experts, d/L of 32.
"""

from trivium.model.backbone import Backbone
from trivium.model.joint import JointConfig
from trivium.model.kda import KDA
from trivium.model.mla import MLA
from trivium.model.moe import LatentMoE
from trivium.model.presets.k3 import MEDIA_PAD, VOCAB, tower

ROPE_BASE = 50000.0
SCALING = 2.827


def nano() -> JointConfig:
    backbone = Backbone.Config(
        vocab=2048,
        width=160,
        layers=5,
        mla_every=1,
        kda=KDA.Config(heads=2, head_dim=64),  # no layer uses it until mla_every says so
        mla=MLA.Config(heads=2, head_dim=64, extra_dim=32, q_lora=40, kv_lora=64, gate="none", rope_base=ROPE_BASE),
        dense_layers=1,
        dense_hidden=472,
        moe=LatentMoE.Config(
            experts=8, experts_per_token=4, hidden=48, latent=None, shared=1, scaling=SCALING, balance="sign"
        ),
        residual="plain",
        attn_res_block=2,
        activation="swiglu",
    )
    return JointConfig(backbone=backbone, vision=tower(layers=4, width=256), media_pad=2045)


def _scaled(
    *, vocab: int, width: int, layers: int, experts: int, dense_hidden: int | None = None, attn_res_block: int = 2
) -> Backbone.Config:
    heads = width // 112
    return Backbone.Config(
        vocab=vocab,
        width=width,
        layers=layers,
        mla_every=1,
        kda=KDA.Config(heads=heads, head_dim=128),  # no layer uses it until mla_every says so
        mla=MLA.Config(
            heads=heads,
            head_dim=128,
            extra_dim=64,
            q_lora=3 * width // 14,
            kv_lora=512,
            gate="none",
            rope_base=ROPE_BASE,
        ),
        dense_layers=1,
        dense_hidden=18 * width // 7 if dense_hidden is None else dense_hidden,
        moe=LatentMoE.Config(
            experts=experts,
            experts_per_token=8,
            hidden=2 * width // 7,
            latent=None,
            shared=1,
            scaling=SCALING,
            balance="sign",
        ),
        residual="plain",
        attn_res_block=attn_res_block,
        activation="swiglu",
    )


def tiny() -> JointConfig:
    backbone = _scaled(vocab=32768, width=560, layers=8, experts=140, dense_hidden=1280)
    return JointConfig(backbone=backbone, vision=tower(layers=8, width=384), media_pad=32765)


def small() -> JointConfig:
    backbone = _scaled(vocab=65536, width=1120, layers=12, experts=136)
    return JointConfig(backbone=backbone, vision=tower(layers=12, width=512), media_pad=65533)


def base() -> JointConfig:
    backbone = _scaled(vocab=VOCAB, width=2352, layers=11, experts=136)
    return JointConfig(backbone=backbone, vision=tower(layers=16, width=768), media_pad=MEDIA_PAD)


def k2() -> JointConfig:
    """Kimi K2 as published, text only."""
    backbone = _scaled(vocab=VOCAB, width=7168, layers=61, experts=384, attn_res_block=12)
    return JointConfig(backbone=backbone, vision=None, media_pad=MEDIA_PAD)
