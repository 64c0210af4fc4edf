"""Whole models of another program, loaded from our files by its own loader, against ours: each layer, and gradients.

Kimi Linear has K3's KDA (older gate), MLA without positions and router; DeepSeek-V3's class is K2's. Both run in fp32.
"""

import json
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor, nn

from trivium.model.batch import Batch, Sample, collate
from trivium.model.interop import export_model, layout_of
from trivium.model.joint import JointConfig, JointModel
from trivium.model.presets import configure

TOKENS = 90  # more than one chunk of KDA, no multiple of it
BOUND = 1e-5  # of the largest number; measured: layers 2.4e-6, logits 2.3e-6, gradients 4.8e-6
BASE = {"vision": None, "media_pad": 157}
BACKBONE = {"vocab": 160, "init_std": 0.1, "norm_eps": 1e-6, "mtp_layers": 0}
LINEAR = {
    "preset": "nano",
    "backbone": {
        **BACKBONE,
        "residual": "plain",
        "activation": "swiglu",
        "kda": {"gate": "low_rank", "decay_bound": None},
        "mla": {"gate": "none"},
        "moe": {"latent": None, "scaling": 2.446},
    },
    **BASE,
}
K2 = {"preset": "k2-nano", "backbone": BACKBONE, **BASE}


def batch() -> tuple[Batch, Tensor]:
    ids = np.random.default_rng(0).integers(0, 150, TOKENS)
    return collate([Sample(ids, np.ones(TOKENS, bool), [], [])], 157), torch.from_numpy(ids)


def outputs_of(layers: nn.ModuleList) -> list[Tensor]:
    """Filled by the next forward pass with what each layer hands on, as [T, D]."""
    found: list[Tensor] = []

    def keep(_module: nn.Module, _inputs: object, output: Any) -> None:
        tensor = output if isinstance(output, Tensor) else output[0]
        found.append(tensor.reshape(-1, tensor.shape[-1]))

    for layer in layers:
        layer.register_forward_hook(keep)
    return found


def loaded(kind: Any, folder: Path, **options: Any) -> nn.Module:
    theirs, report = kind.from_pretrained(
        folder, dtype=torch.float32, attn_implementation="eager", output_loading_info=True, **options
    )
    assert not any(report[what] for what in ("missing_keys", "unexpected_keys", "mismatched_keys"))
    return theirs.eval()


def compare(ours: JointModel, theirs: nn.Module, gap: Callable[[Tensor, Tensor], float]) -> None:
    rows, ids = batch()
    mine, others = outputs_of(ours.backbone.layers), outputs_of(theirs.model.layers)
    found, expected = ours.logits(rows), theirs(ids[None]).logits[0]
    assert len(mine) == len(others) == ours.config.backbone.layers
    for layer, pair in enumerate(zip(mine, others, strict=True)):
        assert gap(*pair) < BOUND, layer
    assert gap(found, expected) < BOUND
    weight = torch.randn(expected.shape, generator=torch.Generator().manual_seed(1))
    (found * weight).sum().backward()
    (expected * weight).sum().backward()
    ends = [(ours.backbone.embed, theirs.model.embed_tokens), (ours.backbone.head, theirs.lm_head)]
    for layer, other in zip(ours.backbone.layers, theirs.model.layers, strict=True):
        ends += [(layer.input_norm, other.input_layernorm), (layer.attn.o_proj, other.self_attn.o_proj)]
        if hasattr(layer.mlp, "router"):
            ends.append((layer.mlp.router, other.mlp.gate))
    for one, other in ends:
        assert gap(one.weight.grad, other.weight.grad) < 2 * BOUND


def test_kimi_linear(
    peer: Callable[[str], ModuleType], source: type, awake: Callable[..., JointModel], gap: Callable, tmp_path: Path
) -> None:
    module = peer("transformers.models.kimi_linear.modeling_kimi_linear")
    config = configure(LINEAR, name="linear")
    assert layout_of(config) == "linear"
    ours = awake(config, torch.float32).eval()
    export_model(source(ours), tmp_path / "out", dtype="fp32", shard_bytes=10**6)
    compare(ours, loaded(module.KimiLinearForCausalLM, tmp_path / "out"), gap)


def test_k2(
    peer: Callable[[str], ModuleType], source: type, awake: Callable[..., JointModel], gap: Callable, tmp_path: Path
) -> None:
    module = peer("transformers.models.deepseek_v3.modeling_deepseek_v3")
    config: JointConfig = configure(K2, name="k2")
    assert layout_of(config) == "k2"
    ours = awake(config, torch.float32).eval()
    export_model(source(ours), tmp_path / "out", dtype="fp32", shard_bytes=10**6)
    settings = json.loads((tmp_path / "out/config.json").read_text())
    settings = {key: value for key, value in settings.items() if key not in ("model_type", "trivium")}
    theirs = module.DeepseekV3ForCausalLM
    compare(ours, loaded(theirs, tmp_path / "out", config=theirs.config_class(**settings)), gap)


@pytest.fixture(autouse=True)
def fixture_offline(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing here is fetched; a loader that tries to fails at once."""
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
