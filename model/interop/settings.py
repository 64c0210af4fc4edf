"""config.json: the published field names for our configuration, and whether a config.json found says the same.

Odd: our own configuration stands beside them under `trivium`, since the published fields can't say all of it (balancing
rule, AttnRes off in one place). What decides no number (class names, lengths) is written and never compared. Sources:
the released config.json and sgl-project/sglang python/sglang/srt/configs/kimi_k3.py @0d7ff714 for K3, transformers
5.24.0 models/deepseek_v3 for K2.
"""

from collections.abc import Iterator, Mapping
from typing import Any

from trivium.data.config import to_mapping
from trivium.data.patches import MERGE, PATCH
from trivium.data.tokenizers import special
from trivium.kernels.moe import BETA_GATE, BETA_UP
from trivium.model.backbone import Backbone
from trivium.model.interop.names import layout_of
from trivium.model.joint import JointConfig
from trivium.model.kda import CONV_TAPS
from trivium.vision.moonvit import MoonViT

OURS = "trivium"
_TOKENS = {"bos_token_id": special.BOS, "eos_token_id": special.EOS, "pad_token_id": special.PAD}
_IDLE = {
    "architectures",
    "dtype",
    "initializer_range",
    "media_placeholder_token_id",
    "num_nextn_predict_layers",
    OURS,
    *_TOKENS,
}


def published_settings(config: JointConfig, dtype: str) -> dict[str, Any]:
    """config.json of an export; `dtype` is `bfloat16` or `float32`."""
    backbone = config.backbone
    ids = _token_ids(config)
    text = {
        **ids,
        **_common(backbone),
        **(_k2(backbone) if layout_of(config) == "k2" else _k3(backbone)),
        "dtype": dtype,
    }
    ours = {OURS: {"model": to_mapping(config)}}
    if config.vision is None:
        return {**text, **ours}
    whole = "K25" if layout_of(config) == "k2" else "K3"
    return {
        "architectures": [f"Kimi{whole}ForConditionalGeneration"],
        **ids,
        "dtype": dtype,
        "media_placeholder_token_id": config.media_pad,
        "model_type": f"kimi_{whole.lower()}",
        "text_config": text,
        "tie_word_embeddings": False,
        "vision_config": _vision(config.vision, config),
        **ours,
    }


def _token_ids(config: JointConfig) -> dict[str, int | None]:
    """Where the specials lie, told from the media id: as in Kimi's ranks, or as our tokenizers have them; else null.

    The release ends at <|end_of_msg|>, a chat's end; a model that was only pre-trained ends at [EOS].
    """
    vocab, known = config.backbone.vocab, special.SPECIALS
    ours = {name: vocab - len(known) + place for place, name in enumerate(known)}
    kimi = {name: vocab - special.RESERVED + place - special.KIMI_RANKS for name, place in special.KIMI_PLACES.items()}
    for places in (kimi, ours):
        if places[special.MEDIA_PAD] == config.media_pad:
            return {field: places[name] for field, name in _TOKENS.items()}
    return dict.fromkeys(_TOKENS)


def _common(backbone: Backbone.Config) -> dict[str, Any]:
    mla = backbone.mla
    return {
        "first_k_dense_replace": min(backbone.dense_layers, backbone.layers),
        "hidden_size": backbone.width,
        "initializer_range": backbone.init_std,
        "intermediate_size": backbone.dense_hidden,
        "kv_lora_rank": mla.kv_lora,
        "moe_intermediate_size": backbone.moe.hidden,
        "moe_layer_freq": 1,
        "num_attention_heads": mla.heads,
        "num_hidden_layers": backbone.layers,
        "num_key_value_heads": mla.heads,
        "num_nextn_predict_layers": backbone.mtp_layers,
        "q_lora_rank": mla.q_lora,
        "qk_nope_head_dim": mla.head_dim,
        "qk_rope_head_dim": mla.extra_dim,
        "rms_norm_eps": backbone.norm_eps,
        "routed_scaling_factor": backbone.moe.scaling,
        "tie_word_embeddings": False,
        "topk_group": 1,
        "topk_method": "noaux_tc",
        "v_head_dim": mla.head_dim,
        "vocab_size": backbone.vocab,
    }


def _k3(backbone: Backbone.Config) -> dict[str, Any]:
    """`text_config` of K3; Kimi Linear's class, whose layer numbers begin at 1."""
    kda, mla, moe = backbone.kda, backbone.mla, backbone.moe
    fields: dict[str, Any] = {
        "architectures": ["KimiLinearForCausalLM"],
        "attn_res_block_size": backbone.attn_res_block if backbone.residual == "attn_res" else None,
        "hidden_act": "situ" if backbone.activation == "situ" else "silu",
        "linear_attn_config": {
            "full_attn_layers": [i + 1 for i in range(backbone.layers) if backbone.is_mla(i)],
            "gate_lower_bound": kda.decay_bound,
            "head_dim": kda.head_dim,
            "kda_layers": [i + 1 for i in range(backbone.layers) if not backbone.is_mla(i)],
            "num_heads": kda.heads,
            "short_conv_kernel_size": CONV_TAPS,
            "use_full_rank_gate": kda.gate == "full_rank",
        },
        "mla_use_nope": mla.rope_base is None,
        "mla_use_output_gate": mla.gate == "full_rank",
        "model_type": "kimi_linear",
        "moe_renormalize": True,
        "moe_router_activation_func": "sigmoid",
        "num_expert_group": 1,
        "num_experts": moe.experts,
        "num_experts_per_token": moe.experts_per_token,
        "num_shared_experts": moe.shared,
        "use_grouped_topk": True,
    }
    if backbone.activation == "situ":
        fields |= {"activation_situ_beta": BETA_GATE, "activation_situ_linear_beta": BETA_UP}
    if moe.latent is not None:
        fields |= {"latent_moe_use_norm": True, "routed_expert_hidden_size": moe.latent}
    if mla.rope_base is not None:
        fields["rope_theta"] = mla.rope_base
    return fields


def _k2(backbone: Backbone.Config) -> dict[str, Any]:
    """K2's fields, which are DeepSeek-V3's; rotation in neighbouring pairs, as ours."""
    moe = backbone.moe
    return {
        "architectures": ["DeepseekV3ForCausalLM"],
        "hidden_act": "silu",
        "model_type": "kimi_k2",
        "n_group": 1,
        "n_routed_experts": moe.experts,
        "n_shared_experts": moe.shared,
        "norm_topk_prob": True,
        "num_experts_per_tok": moe.experts_per_token,
        "rope_theta": backbone.mla.rope_base,
        "scoring_func": "sigmoid",
    }


def _vision(vision: MoonViT.Config, config: JointConfig) -> dict[str, Any]:
    return {
        "activation_func": "gelu_pytorch_tanh",
        "attn_bias": False,
        "init_pos_emb_height": vision.table,
        "init_pos_emb_time": vision.frames,
        "init_pos_emb_width": vision.table,
        "linear_bias": False,
        "merge_kernel_size": [MERGE, MERGE],
        "merge_type": "sd2_tpool",
        "mlp_type": "mlp2",
        "mm_hidden_size": vision.width,
        "mm_projector_type": "patchmergerv2",
        "norm_type": "rmsnorm",
        "patch_embed_proj_bias": False,
        "patch_size": PATCH,
        "pos_emb_interpolation_mode": "bilinear",
        "pos_emb_type": "divided_fixed",
        "projector_hidden_act": "gelu",
        "projector_ln_eps": config.projector.norm_eps,
        "qkv_hidden_size": vision.heads * vision.head_dim,
        "text_hidden_size": config.backbone.width,
        "vt_hidden_size": vision.width,
        "vt_intermediate_size": vision.hidden,
        "vt_num_attention_heads": vision.heads,
        "vt_num_hidden_layers": vision.layers,
    }


def differences(found: Mapping[str, Any], config: JointConfig) -> list[str]:
    """Fields of a config.json that contradict the configuration, as `text_config.hidden_size is 7168, not 128`."""
    return list(_differences(found, published_settings(config, "bfloat16"), ""))


def _differences(found: Mapping[str, Any], ours: Mapping[str, Any], path: str) -> Iterator[str]:
    for key, value in ours.items():
        if key in _IDLE or key not in found:
            continue
        if isinstance(value, Mapping) and isinstance(found[key], Mapping):
            yield from _differences(found[key], value, f"{path}{key}.")
        elif found[key] != value:
            yield f"{path}{key} is {_short(found[key])}, not {_short(value)}"


def _short(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 60 else text[:57] + "…"
