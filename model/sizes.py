"""All sizes of a configuration; parameters are counted on the meta device (spec: K3 released headers, section 0.3).

Odd: the total leaves the MTP layer apart, as the release does, and counts each layer's decay scales as the release
stores them (`KDA.Config.stored_decay_scales`) and each router's bias. `activated` is the text path of one token:
head counted, input embedding and vision not, K of E routed experts.

D width, H heads, K KDA head width, T context in tokens.
"""

import math
from collections import Counter
from dataclasses import dataclass

from torch import nn

from trivium.model.flops import ELEMENTWISE, Work, algorithmic, executed, products
from trivium.model.joint import JointConfig, JointModel
from trivium.model.memory import POLICIES, Storage, activations
from trivium.model.optim import describe_groups

SIDES = (16, 64, 256)  # patches: pictures of 224, 896 and 3584 pixels
TYPICAL = 8192  # tokens of a document
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
    """Floating-point operations a token (a multiply-add is two); the mean over a document of `context` tokens.

    The sums hold products alone; `parts` and `executed_parts` list elementwise work too (`model/flops.py`).
    """

    context: int
    matrices: int  # linear maps and the head, forwards, without MTP
    attention: int  # causal MLA: T · H · (query-key width + value width) a layer
    recurrence: int  # KDA by chunks of 64: H (6 K² + 3 · 64 K + 64²) a layer
    forward: int  # the three above
    training: int  # forwards and backwards, MTP included: the numerator of MFU
    executed: int  # training as the PyTorch path multiplies it, nothing recomputed
    parts: dict[str, int]  # of `training`
    executed_parts: dict[str, int]


@dataclass(frozen=True, slots=True)
class PictureFlops:
    """Operations a patch of training on pictures of one size: tower and projector."""

    rows: int  # patches
    columns: int
    training: int
    executed: int
    parts: dict[str, int]


@dataclass(frozen=True, slots=True)
class Memory:
    """Bytes. Training: bf16 weights, fp32 master, fp32 gradients and moments (Muon 1, AdamW 2)."""

    weights: int
    gradients: int
    master: int
    moments: int
    activations_per_token: dict[str, int]  # by policy, as the kernels keep rows in bf16; one document of 8192
    cache_per_token: int  # MLA latents, bf16
    cache_fixed: int  # KDA states fp32 and convolution tails bf16, a sequence


@dataclass(frozen=True, slots=True)
class Sizes:
    parameters: Parameters
    layers: tuple[LayerSize, ...]
    flops: tuple[Flops, ...]
    pictures: tuple[PictureFlops, ...]
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
        flops=tuple(flops(config, context) for context in contexts),
        pictures=tuple(picture_flops(config, side, side) for side in SIDES) if config.vision is not None else (),
        memory=_memory(model, config),
    )


def flops(config: JointConfig, context: int) -> Flops:
    """FLOPs of one text token in documents of `context` tokens, each with a target."""
    work = Work((context,), targets=context)
    ideal, real = algorithmic(config, work), executed(config, work)
    a_token = {part: round(passes.total / context) for part, passes in ideal.items()}
    attention, recurrence = (round(ideal[part].forward / context) for part in ("mla.core", "kda.core"))
    apart = ("mla.core", "kda.core", "mtp", "mtp.head", *ELEMENTWISE)
    matrices = round(sum(passes.forward for part, passes in ideal.items() if part not in apart) / context)
    return Flops(
        context=context,
        matrices=matrices,
        attention=attention,
        recurrence=recurrence,
        forward=matrices + attention + recurrence,
        training=round(products(ideal).total / context),
        executed=round(products(real).total / context),
        parts={part: count for part, count in a_token.items() if count},
        executed_parts={part: round(passes.total / context) for part, passes in real.items() if passes.total},
    )


def picture_flops(config: JointConfig, rows: int, columns: int) -> PictureFlops:
    """FLOPs a patch of a picture of rows × columns patches."""
    work = Work((), grids=((1, rows, columns),), targets=0)
    seen = ("vision.linear", "vision.attention", "vision.positions", "projector")
    ideal, real = algorithmic(config, work), executed(config, work)
    parts = {part: round(ideal[part].total / work.patches) for part in seen}
    executed_sum = sum(real[part].total for part in seen)
    return PictureFlops(rows, columns, sum(parts.values()), round(executed_sum / work.patches), parts)


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
    work = Work((TYPICAL,))
    return Memory(
        weights=2 * numbers,
        gradients=4 * numbers,
        master=4 * numbers,
        moments=moments,
        activations_per_token={
            policy: round(sum(activations(config, work, policy, Storage()).values()) / TYPICAL) for policy in POLICIES
        },
        cache_per_token=2 * full * (backbone.mla.kv_lora + backbone.mla.extra_dim),
        cache_fixed=(backbone.layers - full) * state,
    )
