"""The family: sizes of K3, of the K2 baseline and of the scaled-down members.

Scaled-down members follow the report's ratios (spec, section 0.4): d/H = 74.67 with heads of 128, latent d/2, expert
hidden 3d/7, shared width twice and dense width eleven times that, q_lora about 0.21 d, layers 1 mod 4 so that the
pattern K K K M ends with one more M. Where they leave them:
- nano: heads of 64 (two of them, as 128 would leave one), kv_lora d/2, extra dims half a head, AttnRes blocks of two
  layers as the CPU study took them;
- tiny, small: vocabularies that fit their size; AttnRes blocks of two layers (the paper finds 2 to 8 sublayers equal);
- towers: 4 × 256, 8 × 384, 12 × 512, 16 × 768 (layers × width), heads of 64, MLP four times the width.
"""

from collections.abc import Mapping, Sequence
from typing import Any

import msgspec
import yaml

from trivium.data.config import from_mapping, to_mapping
from trivium.errors import ConfigError, UsageError
from trivium.model.backbone import Backbone
from trivium.model.joint import JointConfig
from trivium.model.kda import KDA
from trivium.model.mla import MLA
from trivium.model.moe import LatentMoE
from trivium.vision.moonvit import MoonViT

VOCAB = 163840  # Kimi's rank file and specials
MEDIA_PAD = 163605


def _nano() -> JointConfig:
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
    return JointConfig(backbone=backbone, vision=_tower(layers=4, width=256), media_pad=2045)


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


def _tower(*, layers: int, width: int) -> MoonViT.Config:
    return MoonViT.Config(width=width, layers=layers, heads=width // 64, head_dim=64, hidden=4 * width)


def _tiny() -> JointConfig:
    backbone = _scaled(vocab=32768, width=448, heads=6, layers=9, q_lora=96, experts=256)
    return JointConfig(backbone=backbone, vision=_tower(layers=8, width=384), media_pad=32765)


def _small() -> JointConfig:
    backbone = _scaled(vocab=65536, width=896, heads=12, layers=13, q_lora=192, experts=256)
    return JointConfig(backbone=backbone, vision=_tower(layers=12, width=512), media_pad=65533)


def _base() -> JointConfig:
    backbone = _scaled(vocab=VOCAB, width=1792, heads=24, layers=13, q_lora=384, experts=256)
    return JointConfig(backbone=backbone, vision=_tower(layers=16, width=768), media_pad=MEDIA_PAD)


def _k3() -> JointConfig:
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


def _k2() -> JointConfig:
    """Kimi K2, the baseline (spec, section 2.2b): text only, all MLA with RoPE, plain residuals."""
    backbone = Backbone.Config(
        vocab=VOCAB,
        width=7168,
        layers=61,
        mla_every=1,
        kda=KDA.Config(heads=64, head_dim=128),  # no layer uses it
        mla=MLA.Config(heads=64, head_dim=128, extra_dim=64, q_lora=1536, kv_lora=512, gate="none", rope_base=50000.0),
        dense_layers=1,
        dense_hidden=18432,
        moe=LatentMoE.Config(
            experts=384, experts_per_token=8, hidden=2048, latent=None, shared=1, scaling=2.827, balance="sign"
        ),
        residual="plain",
        mtp_layers=0,
        activation="swiglu",
    )
    return JointConfig(backbone=backbone, vision=None, media_pad=MEDIA_PAD)


PRESETS = {"nano": _nano, "tiny": _tiny, "small": _small, "base": _base, "k3": _k3, "k2": _k2}


def preset(name: str) -> JointConfig:
    """Raises UsageError naming the presets that exist."""
    if name not in PRESETS:
        raise UsageError(f"no preset {name!r}; known: {', '.join(PRESETS)}")
    return PRESETS[name]()


def dense(config: JointConfig) -> JointConfig:
    """The same model with the dense feed-forward in every layer, the MTP layer too: nothing is routed."""
    backbone = msgspec.structs.replace(config.backbone, dense_layers=config.backbone.layers + 1)
    return msgspec.structs.replace(config, backbone=backbone)


def configure(raw: Mapping[str, Any], *, name: str, overrides: Sequence[str] = ()) -> JointConfig:
    """A preset with changes: `{preset: nano, backbone: {vocab: 2048}}` and `--set`-like `backbone.layers=9`.

    `name` stands for the file in messages. Raises ConfigError for a wrong key, UsageError for an unknown preset.
    """
    changes = dict(raw)
    chosen = changes.pop("preset", None)
    if not isinstance(chosen, str):
        raise ConfigError(
            f"{name}: model.preset: expected a preset's name, found {chosen!r}; known: {', '.join(PRESETS)}"
        )
    merged = _merge(to_mapping(preset(chosen)), changes)
    for override in overrides:
        key, sign, text = override.partition("=")
        if not sign:
            raise ConfigError(f"--set {override!r}: expected key=value, such as --set backbone.layers=9")
        change: Any = yaml.safe_load(text)
        for part in reversed(key.split(".")):
            change = {part: change}
        merged = _merge(merged, change)
    return from_mapping(merged, JointConfig, name=name)


def _merge(base: Any, changes: Any) -> Any:
    if not isinstance(base, dict) or not isinstance(changes, Mapping):
        return changes
    return {**base, **{key: _merge(base.get(key), change) for key, change in changes.items()}}
