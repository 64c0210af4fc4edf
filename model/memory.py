"""Bytes that a forward pass keeps for the backward one, by part, and bytes of weights, gradients and optimizer state.

Three policies. `keep`: nothing is computed again. `attn_res`: depth-wise mixtures are, so that a sublayer keeps what a
plain residual would and two numbers a source (K3 report, section 5.2.2): the code's way. `layers`: whole layers are
(Backbone.recompute), so a layer keeps its input alone and the backward pass needs room for one layer's rows at a time.

Odd: two paths keep different things. The PyTorch path, which tests measure, keeps KDA's chunks; the kernels keep
operands and make the rest again. Bytes of plans, masks and other things that depend on no width are left out.

T tokens, D width, C = H·K channels of KDA, N chunks, P patches, M media tokens; counts are numbers unless said.
"""

from collections import Counter
from dataclasses import dataclass
from typing import Literal

from trivium.kernels.kda.plan import CHUNK
from trivium.kernels.moe.torch_moe import TILE
from trivium.model.backbone import Backbone
from trivium.model.flops import Work, sources
from trivium.model.joint import JointConfig
from trivium.vision.moonvit import MoonViT

Policy = Literal["keep", "attn_res", "layers"]
POLICIES: tuple[Policy, ...] = ("keep", "attn_res", "layers")
HIGH = 4  # bytes of what is kept in fp32 on either path
INDEX = 8


@dataclass(frozen=True, slots=True)
class Storage:
    """How activations are held: bytes of a number in a row (fp32 4, bf16 2, fp8 1), by the kernels or by PyTorch."""

    row: float = 2
    kernels: bool = True


FP32_REFERENCE = Storage(row=4, kernels=False)

Bytes = dict[str, float]


def activations(config: JointConfig, work: Work, policy: Policy = "keep", storage: Storage = FP32_REFERENCE) -> Bytes:
    """Bytes kept at the end of the forward pass over `work`, by part."""
    backbone = config.backbone
    kept: Counter[str] = Counter()
    for layer in range(backbone.layers):
        if policy != "layers":
            kept.update(layer_rows(backbone, work, storage, mla=backbone.is_mla(layer), moe=_moe(backbone, layer)))
    kept.update(residual_rows(backbone, work, policy, storage))
    kept.update(_head(config, work, storage))
    kept.update(_vision(config, work, storage))
    return {part: count for part, count in kept.items() if count}


def layer_rows(backbone: Backbone.Config, work: Work, storage: Storage, *, mla: bool, moe: bool) -> Bytes:
    """Bytes that one layer's mixers keep, and the rows that its norms give them."""
    kept = Counter({"norms": work.tokens * (2 * backbone.width * storage.row + 2 * HIGH)})
    kept.update(_mla(backbone, work, storage) if mla else _kda(backbone, work, storage))
    if moe:
        kept.update(_moe_rows(backbone, work, storage))
    else:
        kept["dense"] = work.tokens * _glu(backbone, backbone.dense_hidden, storage)
    return dict(kept)


def residual_rows(backbone: Backbone.Config, work: Work, policy: Policy, storage: Storage) -> Bytes:
    """The running sums, the finished blocks and what the depth-wise mixtures keep; the final norm's row too."""
    layers, row = backbone.layers, backbone.width * storage.row
    sums = (layers if policy == "layers" else 2 * layers) + 1
    kept: Bytes = {"residual": work.tokens * sums * row, "norms": work.tokens * (row + HIGH)}
    if backbone.residual == "plain":
        return kept
    # The bank's entries are sums of layers that the next block's first layer finds: they are counted above.
    bank = blocks(backbone)
    kept["bank"] = work.tokens * bank * row
    kept["residual"] -= kept["bank"]
    last = bank + 1  # sources of the output's mixture
    # Two numbers a source and token; the output's mixture is kept in any case.
    scalars, mixed = {"keep": (sources(backbone), 2 * layers), "attn_res": (sources(backbone), 1), "layers": (last, 1)}[
        policy
    ]
    kept["attn_res"] = work.tokens * (2 * scalars * HIGH + mixed * row)
    return kept


def blocks(backbone: Backbone.Config) -> int:
    """Entries of the AttnRes bank at the end: the embedding and the finished blocks."""
    return -(-backbone.layers // backbone.attn_res_block) if backbone.residual == "attn_res" else 0


def _moe(backbone: Backbone.Config, layer: int) -> bool:
    return layer >= backbone.dense_layers


def _kda(backbone: Backbone.Config, work: Work, storage: Storage) -> Bytes:
    k = backbone.kda
    channels = k.heads * k.head_dim
    # Inputs and outputs of three convolutions, decay, output; gate and what it has gated.
    rows = 8 * channels + k.heads + k.head_dim + (channels if k.gate != "none" else 0) + channels
    rows += k.head_dim if k.gate == "low_rank" else 0
    kept: Bytes = {"kda": work.tokens * rows * storage.row}
    if storage.kernels:
        return kept
    chunks = sum(-(-n // CHUNK) for n in work.documents)
    # Convolutions before their SiLU, the gate's sigmoid; by chunk q, k, v, decay, w, u, β, two norms, three squares.
    kept["kda"] += work.tokens * HIGH * (4 * channels + k.heads)
    kept["kda.chunks"] = chunks * CHUNK * HIGH * (6 * channels + 3 * k.heads + 3 * k.heads * CHUNK)
    kept["kda.states"] = chunks * HIGH * channels * k.head_dim
    return kept


def _mla(backbone: Backbone.Config, work: Work, storage: Storage) -> Bytes:
    m = backbone.mla
    query, values = m.heads * (m.head_dim + m.extra_dim), m.heads * m.head_dim
    rows = 2 * m.q_lora + (m.kv_lora + m.extra_dim) + m.kv_lora + 2 * query + 2 * values
    high = values + m.heads + 2  # output in fp32, the softmax's sums, two norms
    if m.gate != "none":
        rows += values + (m.head_dim if m.gate == "low_rank" else 0)
        high += values
    elif storage.row != HIGH:
        rows += values
    turns = 4 * HIGH * m.extra_dim // 2 if m.rope_base is not None else 0  # phases of queries and of keys
    return {"mla": work.tokens * (rows * storage.row + high * HIGH + turns)}


def _glu(backbone: Backbone.Config, hidden: int, storage: Storage) -> float:
    """Bytes a token of a gated unit and its output."""
    if backbone.activation == "swiglu":
        return 4 * hidden * storage.row
    inside = 2 * storage.row if storage.kernels else 3 * HIGH
    return hidden * (inside + storage.row)


def _moe_rows(backbone: Backbone.Config, work: Work, storage: Storage) -> Bytes:
    moe = backbone.moe
    pairs = work.tokens * moe.experts_per_token
    latent = 0 if moe.latent is None else moe.latent
    inner = backbone.width if moe.latent is None else moe.latent
    kept: Bytes = {"shared": work.tokens * _glu(backbone, moe.shared * moe.hidden, storage)}
    kept["latent"] = work.tokens * (3 * latent * storage.row + (HIGH if latent else 0))
    # Chosen scores and their sum, the choice; the share of each pair and its place.
    kept["router"] = pairs * (2 * HIGH + INDEX) + work.tokens * HIGH
    if storage.kernels:
        kept["router"] += work.tokens * backbone.width * HIGH  # the rows that the router reads in fp32
        kept["routed"] = pairs * (2 * moe.hidden * storage.row + HIGH + 2 * INDEX)
        return kept
    filled = pairs + min(moe.experts, pairs) * (TILE - 1) / 2
    kept["routed"] = filled * (3 * moe.hidden * HIGH + INDEX) + pairs * INDEX
    kept["expert copies"] = 2 * moe.experts * moe.hidden * inner * storage.row  # w1 and w3 in one tensor
    return kept


def _head(config: JointConfig, work: Work, storage: Storage) -> Bytes:
    """The heads' sums and the MTP layer, which no policy makes again."""
    backbone = config.backbone
    kept: Counter[str] = Counter({"head": work.predicted * (HIGH + INDEX)})
    if backbone.mtp_layers and work.mtp:
        inner = layer_rows(backbone, work, storage, mla=True, moe=backbone.dense_layers <= backbone.layers)
        # The next token's vector, both halves of the projection, the block's two sums and its result, normed.
        rows = 7 * backbone.width * storage.row + 3 * HIGH + INDEX
        kept["mtp"] = sum(inner.values()) + work.tokens * rows + work.predicted_ahead * (HIGH + INDEX)
    return dict(kept)


def _vision(config: JointConfig, work: Work, storage: Storage) -> Bytes:
    tower = config.vision
    if tower is None or not work.grids:
        return {}
    merged = sum(h * w for _, h, w in work.grids) / 4
    block = vision_block(tower, storage)
    ends = 2 * tower.width * storage.row + HIGH  # the final norm's input and the merged patches
    projector = (2 * 4 * tower.width + config.backbone.width) * storage.row + HIGH
    turns = tower.head_dim * storage.row
    return {
        "vision": work.patches * (tower.layers * block + ends + turns),
        "projector": merged * projector,
    }


def vision_block(tower: MoonViT.Config, storage: Storage) -> float:
    """Bytes a patch of one block of the tower."""
    channels = tower.heads * tower.head_dim
    rows = 4 * tower.width + 7 * channels + 2 * tower.hidden
    return rows * storage.row + (2 + tower.heads) * HIGH
