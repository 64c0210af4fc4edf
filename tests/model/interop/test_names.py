"""Names and shapes of the published checkpoints, against the release's own headers and DeepSeek-V3's class."""

import re
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import pytest

from trivium.model.interop import Placed, layout_of, placed, published_settings
from trivium.model.interop.names import mtp_prefix
from trivium.model.interop.page import page
from trivium.model.joint import JointConfig
from trivium.model.presets import PRESETS, preset

RELEASE = Path(__file__).with_name("release.txt")
TOTAL, TOWER, PROJECTOR, EXPERTS, F32 = 2_779_931_837_184, 401_214_464, 46_144_512, 2_722_740_830_208, 11_122_432
NUMBER = re.compile(r"(?<=layers\.)\d+|(?<=experts\.)\d+|(?<=blocks\.)\d+")


def released() -> dict[str, tuple[int, tuple[int, ...], bool]]:
    """Name pattern: tensors, shape, whether fp32; packed experts as what they unpack to."""
    kinds = {}
    for line in RELEASE.read_text().splitlines()[1:]:
        name, count, shape, dtype = line.split()
        sides = tuple(map(int, shape.split(",")))
        if name.endswith("_scale"):
            continue
        if name.endswith("_packed"):
            name, sides = name.removesuffix("_packed"), (sides[0], 2 * sides[1])
        kinds[name] = (int(count), sides, dtype == "F32")
    return kinds


@pytest.fixture(scope="module", name="k3")
def fixture_k3() -> list[Placed]:
    """K3's tensors without the MTP layer."""
    config = preset("k3")
    return [one for one in placed(config) if not one.names[0].startswith(mtp_prefix(config))]


def test_k3_has_the_names_shapes_and_fp32_tensors_of_the_release(k3: list[Placed]) -> None:
    counts: Counter[str] = Counter()
    for one in k3:
        counts[NUMBER.sub("*", one.names[0])] += len(one.names)
    kinds = {NUMBER.sub("*", one.names[0]): (one.shape, one.rule.fp32) for one in k3}
    assert {name: (counts[name], *kind) for name, kind in kinds.items()} == released()


def test_k3_counts_to_the_unit(k3: list[Placed]) -> None:
    def total(mark: str) -> int:
        return sum(one.numel for one in k3 if mark in one.names[0])

    assert (total(""), total("vision_tower."), total("mm_projector.")) == (TOTAL, TOWER, PROJECTOR)
    assert total(".experts.") == EXPERTS
    assert sum(one.numel for one in k3 if one.rule.fp32) == F32
    assert sum(len(one.names) for one in k3 if one.rule.fp32) == 506


@pytest.mark.parametrize("name", sorted(set(PRESETS) - {"k3"}))
def test_every_tensor_of_every_preset_has_a_name_of_its_own(name: str) -> None:
    names = [published for one in placed(preset(name)) for published in one.names]
    assert len(set(names)) == len(names)


@pytest.mark.parametrize(
    ("change_to", "expected", "absent"),
    [
        (["vision=null"], "model.layers.0.self_attention_res_proj.weight", "language_model."),
        (["backbone.residual=plain"], "mlp.gate_proj.weight", "_res_"),
        (["backbone.kda.gate=low_rank"], "self_attn.g_b_proj.weight", "layers.0.self_attn.g_proj.weight"),
        (["backbone.moe.latent=null"], "block_sparse_moe.experts.15.w2.weight", "routed_expert"),
        (["backbone.mtp_layers=0"], "lm_head.weight", "eh_proj"),
        ([], "model.layers.5.eh_proj.weight", "model.layers.6."),
    ],
)
def test_a_switch_changes_the_tensors_that_it_is_about(
    change: Callable[..., JointConfig], change_to: list[str], expected: str, absent: str
) -> None:
    names = [name for one in placed(change(*change_to)) for name in one.names]
    assert any(name.endswith(expected) for name in names)
    assert not any(absent in name for name in names)


def test_k2_stands_under_deepseeks_names_and_fields() -> None:
    config = preset("k2")
    names = {name for one in placed(config) for name in one.names}
    assert layout_of(config) == "k2"
    assert {
        "model.embed_tokens.weight",
        "model.layers.0.mlp.gate_proj.weight",
        "model.layers.60.mlp.experts.383.down_proj.weight",
        "model.layers.60.mlp.gate.e_score_correction_bias",
        "model.layers.60.self_attn.kv_a_proj_with_mqa.weight",
        "lm_head.weight",
    } <= names
    settings = published_settings(config, "bfloat16")
    assert (settings["model_type"], settings["n_routed_experts"], settings["rope_theta"]) == ("kimi_k2", 384, 50000.0)


def test_k3_settings_are_the_released_ones() -> None:
    text = published_settings(preset("k3"), "bfloat16")["text_config"]
    full = [*range(4, 93, 4), 93]
    assert text["linear_attn_config"] == {
        "full_attn_layers": full,
        "gate_lower_bound": -5.0,
        "head_dim": 128,
        "kda_layers": [layer for layer in range(1, 94) if layer not in full],
        "num_heads": 96,
        "short_conv_kernel_size": 4,
        "use_full_rank_gate": True,
    }
    released = {
        "activation_situ_beta": 4.0,
        "activation_situ_linear_beta": 25.0,
        "attn_res_block_size": 12,
        "first_k_dense_replace": 1,
        "hidden_act": "situ",
        "hidden_size": 7168,
        "intermediate_size": 33792,
        "latent_moe_use_norm": True,
        "mla_use_nope": True,
        "mla_use_output_gate": True,
        "model_type": "kimi_linear",
        "moe_intermediate_size": 3072,
        "num_experts": 896,
        "num_experts_per_token": 16,
        "num_shared_experts": 2,
        "q_lora_rank": 1536,
        "rms_norm_eps": 1e-5,
        "routed_expert_hidden_size": 3584,
        "routed_scaling_factor": 1.0,
        "vocab_size": 163840,
    }
    assert {key: text[key] for key in released} == released


def test_the_page_says_what_the_rules_say() -> None:
    found = Path(__file__).parents[3].joinpath("docs/tensors.md").read_text(encoding="utf-8")
    assert found == page(), "python -m trivium.model.interop.page > docs/tensors.md"
