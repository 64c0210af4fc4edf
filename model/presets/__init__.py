"""The family by name: K3 and its scaled-down members, the K2 baseline beside each; and changes to them."""

from collections.abc import Mapping, Sequence
from typing import Any

import msgspec
import yaml

from trivium.data.config import from_mapping, to_mapping
from trivium.errors import ConfigError, UsageError
from trivium.model.joint import JointConfig
from trivium.model.optim import OptimizerConfig
from trivium.model.presets import k2, k3

__all__ = ["PRESETS", "changed", "configure", "dense", "optimizer", "preset"]

PRESETS = {
    "nano": k3.nano,
    "tiny": k3.tiny,
    "small": k3.small,
    "base": k3.base,
    "k3": k3.k3,
    "k2-nano": k2.nano,
    "k2-tiny": k2.tiny,
    "k2-small": k2.small,
    "k2-base": k2.base,
    "k2": k2.k2,
}


def preset(name: str) -> JointConfig:
    """Raises UsageError naming the presets that exist."""
    if name not in PRESETS:
        raise UsageError(f"no preset {name!r}; known: {', '.join(PRESETS)}")
    return PRESETS[name]()


def optimizer(name: str) -> OptimizerConfig:
    """What a family is trained with where a run does not say: Muon by head for K3, on whole matrices for K2."""
    return OptimizerConfig(per_head=not name.startswith("k2"))


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
    return _changed(_merge(to_mapping(preset(chosen)), changes), overrides, name)


def changed(config: JointConfig, overrides: Sequence[str], *, name: str) -> JointConfig:
    """A whole configuration with `--set`-like changes. Raises ConfigError."""
    return _changed(to_mapping(config), overrides, name)


def _changed(merged: Any, overrides: Sequence[str], name: str) -> JointConfig:
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
