"""Parameters, FLOPs and memory of a configuration, counted on the meta device (spec: K3 released headers, section 0.3).

Odd: the total leaves the MTP layer apart, as the release does, and counts each layer's decay scales as the release
stores them (`KDA.Config.stored_decay_scales`) and each router's bias. `activated` is the text path of one token:
head counted, input embedding and vision not, K of E routed experts.

D width, H heads, K KDA head width, T context in tokens.
"""

import math
from collections import Counter
from dataclasses import dataclass

from torch import nn

from trivium.model.joint import JointConfig, JointModel
from trivium.model.optim import describe_groups

KDA_CHUNK = 64
PARTS = (
    "kda",
    "mla",
    "dense",
    "routed_experts",
    "shared_experts",
    "router",
    "latent",
    "attn_res",
    "norms",
    "embedding",
    "head",
    "vision",
    "projector",
    "mtp",
)


@dataclass(frozen=True, slots=True)
class LayerSize:
    """One backbone layer; `block` is the AttnRes block that its outputs are summed into (None: plain residual)."""

    layer: int
    mixer: str
    channels: str
    block: int | None
    parameters: int
    activated: int


@dataclass(frozen=True, slots=True)
class Parameters:
    """Counts of parameters; `parts` add up to `total` when `mtp` is left out."""

    total: int
    activated: int
    parts: dict[str, int]


@dataclass(frozen=True, slots=True)
class Flops:
    """Floating-point operations a token (a multiply-add is two); the mean over a document of `context` tokens."""

    context: int
    matrices: int  # 2 · activated matrix parameters
    attention: int  # causal MLA: T · H · (query-key width + value width) a layer
    recurrence: int  # KDA by chunks of 64: H (6 K² + 3 · 64 K + 64²) a layer
    depth: int  # AttnRes: 6 D a source
    forward: int
    training: int  # three times the forward pass, MTP included


@dataclass(frozen=True, slots=True)
class Memory:
    """Bytes without activations. Training: bf16 weights, fp32 master, fp32 gradients and moments (Muon 1, AdamW 2)."""

    weights: int
    gradients: int
    master: int
    moments: int
    recomputed_activations_per_token: int  # one bf16 row a sublayer and a bank entry, all else recomputed
    cache_per_token: int  # MLA latents, bf16
    cache_fixed: int  # KDA states fp32 and convolution tails bf16, a sequence


@dataclass(frozen=True, slots=True)
class Sizes:
    parameters: Parameters
    layers: tuple[LayerSize, ...]
    flops: tuple[Flops, ...]
    memory: Memory


def measure(config: JointConfig, contexts: tuple[int, ...] = (8192, 65536, 1048576)) -> Sizes:
    """All sizes of a configuration; takes seconds for 93 layers, since nothing is allocated."""
    model = config.build(device="meta")
    parts = _parts(model, config)
    return Sizes(
        parameters=Parameters(
            total=sum(count for part, count in parts.items() if part != "mtp"),
            activated=_activated(parts, config),
            parts=parts,
        ),
        layers=tuple(_layer(model, config, index) for index in range(config.backbone.layers)),
        flops=tuple(flops(config, context, parts) for context in contexts),
        memory=_memory(model, config),
    )


def flops(config: JointConfig, context: int, parts: dict[str, int] | None = None) -> Flops:
    """FLOPs of one text token in documents of `context` tokens. `parts` spares the recount."""
    backbone = config.backbone
    parts = _parts(config.build(device="meta"), config) if parts is None else parts
    mla, kda = backbone.mla, backbone.kda
    full = sum(backbone.is_mla(layer) for layer in range(backbone.layers))
    matrices = 2 * (_activated(parts, config) - parts["norms"] - parts["attn_res"])
    per_full = context * mla.heads * (2 * mla.head_dim + mla.extra_dim)
    per_kda = kda.heads * (6 * kda.head_dim**2 + 3 * KDA_CHUNK * kda.head_dim + KDA_CHUNK**2)
    depth = 6 * backbone.width * _sources(config)
    attention, recurrence = full * per_full, (backbone.layers - full) * per_kda
    forward = matrices + attention + recurrence + depth
    mtp = 0
    if backbone.mtp_layers:
        mtp = (
            2 * (parts["mtp"] - _idle(config, int(backbone.dense_layers <= backbone.layers)) + parts["head"]) + per_full
        )
    return Flops(context, matrices, attention, recurrence, depth, forward, 3 * (forward + mtp))


def _sources(config: JointConfig) -> int:
    """AttnRes sources read by one token over all sublayers and the output (a single source costs nothing)."""
    backbone = config.backbone
    if backbone.residual == "plain":
        return 0
    total, bank = 0, 0
    for layer in range(backbone.layers):
        before = bank
        bank += backbone.opens_block(layer)
        first = bank if bank > before else bank + 1
        total += (first if first > 1 else 0) + bank + 1
    return total + bank + 1


def _parts(model: JointModel, config: JointConfig) -> dict[str, int]:
    counts: Counter[str] = Counter(dict.fromkeys(PARTS, 0))
    for name, parameter in model.named_parameters():
        counts[_part(name, config)] += parameter.numel()
    for name, buffer in model.named_buffers():
        if name.endswith("balance.bias"):
            counts[_part(name, config)] += buffer.numel()
    backbone = config.backbone
    stored = backbone.kda.stored_decay_scales
    if stored is not None:
        layers = sum(not backbone.is_mla(layer) for layer in range(backbone.layers))
        counts["kda"] += layers * (stored - backbone.kda.heads)
    return dict(counts)


def _part(name: str, config: JointConfig) -> str:
    """The part that a parameter is counted in, by its name."""
    head, _, rest = name.removeprefix("backbone.").partition(".")
    if head in ("vision", "projector", "head", "mtp"):
        return head
    if head in ("embed", "out_res", "norm"):
        return {"embed": "embedding", "out_res": "attn_res", "norm": "norms"}[head]
    layer, module, inner, *_ = rest.split(".")
    if module == "attn":
        return "mla" if config.backbone.is_mla(int(layer)) else "kda"
    if module != "mlp":
        return "attn_res" if module.endswith("_res") else "norms"
    if int(layer) < config.backbone.dense_layers:
        return "dense"
    named = {"experts": "routed_experts", "shared": "shared_experts", "router": "router", "balance": "router"}
    return named.get(inner, "latent")


def _idle(config: JointConfig, layers: int) -> int:
    """Routed parameters that one token leaves out in `layers` MoE layers."""
    moe = config.backbone.moe
    expert = 3 * moe.hidden * (config.backbone.width if moe.latent is None else moe.latent)
    return layers * (moe.experts - moe.experts_per_token) * expert


def _activated(parts: dict[str, int], config: JointConfig) -> int:
    layers = config.backbone.layers - min(config.backbone.dense_layers, config.backbone.layers)
    apart = sum(parts[part] for part in ("vision", "projector", "embedding", "mtp"))
    return sum(parts.values()) - apart - _idle(config, layers)


def _layer(model: JointModel, config: JointConfig, index: int) -> LayerSize:
    backbone, module = config.backbone, model.backbone.layers[index]
    moe, mla = index >= backbone.dense_layers, backbone.is_mla(index)
    parameters = _numel(module)
    stored = backbone.kda.stored_decay_scales
    if stored is not None and not mla:
        parameters += stored - backbone.kda.heads
    return LayerSize(
        layer=index,
        mixer="MLA" if mla else "KDA",
        channels="MoE" if moe else "dense",
        block=index // backbone.attn_res_block if backbone.residual == "attn_res" else None,
        parameters=parameters,
        activated=parameters - _idle(config, int(moe)),
    )


def _numel(module: nn.Module) -> int:
    biases = (buffer for name, buffer in module.named_buffers() if name.endswith("balance.bias"))
    return sum(p.numel() for p in module.parameters()) + sum(bias.numel() for bias in biases)


def _memory(model: JointModel, config: JointConfig) -> Memory:
    backbone = config.backbone
    numbers = moments = 0
    for group in describe_groups(model.named_parameters(), config):
        size = math.prod(group.shape)
        numbers += size
        moments += size * (4 if group.optimizer == "muon" else 8)
    full = sum(backbone.is_mla(layer) for layer in range(backbone.layers))
    kda = backbone.kda
    channels = kda.heads * kda.head_dim
    state = 4 * channels * kda.head_dim + 2 * 3 * 3 * channels
    banks = -(-backbone.layers // backbone.attn_res_block) if backbone.residual == "attn_res" else 0
    return Memory(
        weights=2 * numbers,
        gradients=4 * numbers,
        master=4 * numbers,
        moments=moments,
        recomputed_activations_per_token=2 * backbone.width * (2 * backbone.layers + banks),
        cache_per_token=2 * full * (backbone.mla.kv_lora + backbone.mla.extra_dim),
        cache_fixed=(backbone.layers - full) * state,
    )
