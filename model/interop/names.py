"""Our tensors' names and the published ones: one rule a tensor, with where its name was read.

Odd: three releases share one table. K3 and Kimi Linear call the expert layer `block_sparse_moe` and its matrices w1, w3
and w2; K2 keeps DeepSeek-V3's `mlp` and gate, up and down. Kimi Linear keeps A_log as [1, 1, H, 1]. A model with a
tower carries the prefix `language_model.`, one without does not. K3's release has its experts packed (`weight_packed`,
`weight_scale`): ours stand under the unquantised names that converters give them. It has no MTP layer: ours stands
behind the last layer under DeepSeek-V3's names, without copies of the embedding, the final norm and the head, which it
shares.

N layer, E expert.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

from torch.nn import Module

from trivium.model.interop.forms import Form, published_shape
from trivium.model.joint import JointConfig

Layout = Literal["k3", "linear", "k2"]

SOURCES = {
    "adapter": "pytorch/torchtitan torchtitan/models/kimi_k3/state_dict_adapter.py @06ea3504",
    "bridge": "radixark/miles miles_plugins/mbridge/kimi_k3.py @045129d0",
    "tower": "sgl-project/sglang python/sglang/srt/models/kimi_k3_vl.py @0c829834",
    "fixture": "vllm-project/tpu-inference tests/models/jax/utils/k3_tiny_generator.py @0860a9ce",
    "linear": "transformers 5.24.0 models/kimi_linear and conversion_mapping.py",
    "deepseek": "transformers 5.24.0 models/deepseek_v3",
    "mtp": "vllm-project/vllm vllm/model_executor/models/deepseek_mtp.py @03356f8c",
}


@dataclass(frozen=True, slots=True)
class Rule:
    """`published` has {expert} where our tensor holds all experts; `fp32` marks what a bf16 release keeps in fp32."""

    ours: str
    published: str
    read: str
    form: Form = "same"
    fp32: bool = False


TEXT = (
    Rule("embed.weight", "model.embed_tokens.weight", "adapter"),
    Rule("out_res.gamma", "model.output_attn_res_norm.weight", "adapter"),
    Rule("out_res.query", "model.output_attn_res_proj.weight", "adapter", "row"),
    Rule("norm.weight", "model.norm.weight", "adapter"),
    Rule("head.weight", "lm_head.weight", "adapter"),
)
LAYER = (
    Rule("attn_res.query", "self_attention_res_proj.weight", "adapter", "row"),
    Rule("attn_res.gamma", "self_attention_res_norm.weight", "adapter"),
    Rule("mlp_res.query", "mlp_res_proj.weight", "adapter", "row"),
    Rule("mlp_res.gamma", "mlp_res_norm.weight", "adapter"),
    Rule("input_norm.weight", "input_layernorm.weight", "adapter"),
    Rule("post_norm.weight", "post_attention_layernorm.weight", "adapter"),
    Rule("attn.q_proj.weight", "self_attn.q_proj.weight", "adapter"),
    Rule("attn.k_proj.weight", "self_attn.k_proj.weight", "adapter"),
    Rule("attn.v_proj.weight", "self_attn.v_proj.weight", "adapter"),
    Rule("attn.q_conv.weight", "self_attn.q_conv1d.weight", "adapter", "taps", fp32=True),
    Rule("attn.k_conv.weight", "self_attn.k_conv1d.weight", "adapter", "taps", fp32=True),
    Rule("attn.v_conv.weight", "self_attn.v_conv1d.weight", "adapter", "taps", fp32=True),
    Rule("attn.A_log", "self_attn.A_log", "bridge", "padded", fp32=True),
    Rule("attn.dt_bias", "self_attn.dt_bias", "bridge", fp32=True),
    Rule("attn.f_a_proj.weight", "self_attn.f_a_proj.weight", "adapter"),
    Rule("attn.f_b_proj.weight", "self_attn.f_b_proj.weight", "adapter"),
    Rule("attn.b_proj.weight", "self_attn.b_proj.weight", "adapter"),
    Rule("attn.g_a_proj.weight", "self_attn.g_a_proj.weight", "linear"),
    Rule("attn.g_b_proj.weight", "self_attn.g_b_proj.weight", "linear"),
    Rule("attn.o_norm.weight", "self_attn.o_norm.weight", "adapter", fp32=True),
    Rule("attn.q_a_proj.weight", "self_attn.q_a_proj.weight", "adapter"),
    Rule("attn.q_a_norm.weight", "self_attn.q_a_layernorm.weight", "adapter"),
    Rule("attn.q_b_proj.weight", "self_attn.q_b_proj.weight", "adapter"),
    Rule("attn.kv_a_proj.weight", "self_attn.kv_a_proj_with_mqa.weight", "adapter"),
    Rule("attn.kv_a_norm.weight", "self_attn.kv_a_layernorm.weight", "adapter"),
    Rule("attn.kv_b_proj.weight", "self_attn.kv_b_proj.weight", "adapter"),
    Rule("attn.g_proj.weight", "self_attn.g_proj.weight", "adapter"),
    Rule("attn.o_proj.weight", "self_attn.o_proj.weight", "adapter"),
    Rule("mlp.gate_proj.weight", "mlp.gate_proj.weight", "adapter"),
    Rule("mlp.up_proj.weight", "mlp.up_proj.weight", "adapter"),
    Rule("mlp.down_proj.weight", "mlp.down_proj.weight", "adapter"),
)
MOE: dict[str, tuple[Rule, ...]] = {
    "k3": (
        Rule("mlp.router.weight", "block_sparse_moe.gate.weight", "adapter"),
        Rule("mlp.balance.bias", "block_sparse_moe.gate.e_score_correction_bias", "adapter", fp32=True),
        Rule("mlp.latent_down.weight", "block_sparse_moe.routed_expert_down_proj.weight", "adapter"),
        Rule("mlp.latent_norm.weight", "block_sparse_moe.routed_expert_norm.weight", "adapter"),
        Rule("mlp.latent_up.weight", "block_sparse_moe.routed_expert_up_proj.weight", "adapter"),
        Rule("mlp.experts.w1", "block_sparse_moe.experts.{expert}.w1.weight", "fixture", "experts"),
        Rule("mlp.experts.w3", "block_sparse_moe.experts.{expert}.w3.weight", "fixture", "experts"),
        Rule("mlp.experts.w2", "block_sparse_moe.experts.{expert}.w2.weight", "fixture", "experts"),
        Rule("mlp.shared.gate_proj.weight", "block_sparse_moe.shared_experts.gate_proj.weight", "adapter"),
        Rule("mlp.shared.up_proj.weight", "block_sparse_moe.shared_experts.up_proj.weight", "adapter"),
        Rule("mlp.shared.down_proj.weight", "block_sparse_moe.shared_experts.down_proj.weight", "adapter"),
    ),
    "k2": (
        Rule("mlp.router.weight", "mlp.gate.weight", "deepseek"),
        Rule("mlp.balance.bias", "mlp.gate.e_score_correction_bias", "deepseek", fp32=True),
        Rule("mlp.experts.w1", "mlp.experts.{expert}.gate_proj.weight", "deepseek", "experts"),
        Rule("mlp.experts.w3", "mlp.experts.{expert}.up_proj.weight", "deepseek", "experts"),
        Rule("mlp.experts.w2", "mlp.experts.{expert}.down_proj.weight", "deepseek", "experts"),
        Rule("mlp.shared.gate_proj.weight", "mlp.shared_experts.gate_proj.weight", "deepseek"),
        Rule("mlp.shared.up_proj.weight", "mlp.shared_experts.up_proj.weight", "deepseek"),
        Rule("mlp.shared.down_proj.weight", "mlp.shared_experts.down_proj.weight", "deepseek"),
    ),
}
MTP = (
    Rule("h_norm.weight", "hnorm.weight", "mtp"),
    Rule("e_norm.weight", "enorm.weight", "mtp"),
    Rule("proj.weight", "eh_proj.weight", "mtp", "swapped"),  # DeepSeek's columns: embedding first, then hidden
)
TOWER = (
    Rule("patch_embed.weight", "patch_embed.proj.weight", "tower", "picture"),
    Rule("pos_embed", "patch_embed.pos_emb.weight", "tower"),
    Rule("norm.weight", "encoder.final_layernorm.weight", "tower"),
)
BLOCK = (
    Rule("norm1.weight", "norm0.weight", "tower"),
    Rule("wqkv.weight", "wqkv.weight", "tower"),
    Rule("wo.weight", "wo.weight", "tower"),
    Rule("norm2.weight", "norm1.weight", "tower"),
    Rule("fc0.weight", "mlp.fc0.weight", "tower"),
    Rule("fc1.weight", "mlp.fc1.weight", "tower"),
)
PROJECTOR = (
    Rule("fc0.weight", "proj.0.weight", "tower"),
    Rule("fc1.weight", "proj.2.weight", "tower"),
    Rule("norm.weight", "post_norm.weight", "tower"),
)


@dataclass(frozen=True, slots=True)
class Placed:
    """One of our tensors and the published ones that hold it: one, or one an expert, all of `shape`."""

    ours: str
    our_shape: tuple[int, ...]
    rule: Rule
    names: tuple[str, ...]
    shape: tuple[int, ...]

    @property
    def numel(self) -> int:
        """Numbers in all its published tensors, stored zeros included."""
        count = len(self.names)
        for side in self.shape:
            count *= side
        return count


def layout_of(config: JointConfig) -> Layout:
    """K2's form where DeepSeek-V3's class can hold the model, Kimi Linear's where its own can, K3's for all else."""
    backbone = config.backbone
    plain = (
        backbone.residual == "plain"
        and backbone.activation == "swiglu"
        and backbone.moe.latent is None
        and backbone.mla.gate == "none"
    )
    if plain and all(backbone.is_mla(layer) for layer in range(backbone.layers)) and backbone.mla.rope_base is not None:
        return "k2"
    kda = backbone.kda
    if plain and backbone.mla.rope_base is None and kda.gate == "low_rank" and kda.decay_bound is None:
        return "linear"
    return "k3"


def mtp_prefix(config: JointConfig) -> str:
    """What the names of the MTP layer begin with: the layer behind the last."""
    return f"{_language(config)}model.layers.{config.backbone.layers}."


def placed(config: JointConfig, model: Module | None = None) -> tuple[Placed, ...]:
    """All tensors of a checkpoint in the model's order. `model` (on the meta device) spares a build."""
    model = config.build(device="meta") if model is None else model
    return tuple(
        _place(name, tuple(tensor.shape), config, layout_of(config)) for name, tensor in model.state_dict().items()
    )


def _place(name: str, shape: tuple[int, ...], config: JointConfig, layout: Layout) -> Placed:
    for prefix, theirs, rules in _families(name, config, layout):
        for rule in rules:
            if name == prefix + rule.ours:
                count = shape[0] if rule.form == "experts" else 1
                names = tuple((theirs + rule.published).replace("{expert}", str(expert)) for expert in range(count))
                stored = config.backbone.kda.stored_decay_scales
                theirs_shape = published_shape(rule.form, shape, stored, scattered=layout == "linear")
                return Placed(name, shape, rule, names, theirs_shape)
    raise KeyError(f"{name} has no published name; add a rule to trivium.model.interop.names")


def _families(name: str, config: JointConfig, layout: Layout) -> Iterator[tuple[str, str, tuple[Rule, ...]]]:
    """Our prefix, the published prefix and the rules of each family that `name` may belong to."""
    language = _language(config)
    layer = LAYER + MOE["k2" if layout == "k2" else "k3"]
    if found := re.match(r"backbone\.layers\.(\d+)\.", name):
        yield found[0], f"{language}model.layers.{found[1]}.", layer
    elif found := re.match(r"vision\.blocks\.(\d+)\.", name):
        yield found[0], f"vision_tower.encoder.blocks.{found[1]}.", BLOCK
    else:
        yield "backbone.mtp.layer.", mtp_prefix(config), layer
        yield "backbone.mtp.", mtp_prefix(config), MTP
        yield "backbone.", language, TEXT
        yield "vision.", "vision_tower.", TOWER
        yield "projector.", "mm_projector.", PROJECTOR


def _language(config: JointConfig) -> str:
    return "language_model." if config.vision is not None else ""
