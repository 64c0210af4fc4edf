"""Floating-point operations of one pass, by part, in two readings (spec, sections 0.3 and 1.3).

`algorithmic` is what the mathematics asks for: each matrix once forwards and twice backwards, the causal half of
attention, KDA by its chunk formula, the head at targets alone, nothing computed twice. It is the numerator of MFU.
`executed` is what the PyTorch path multiplies: blocks of attention padded to whole query blocks, chunks padded to 64
rows, experts' slices to whole tiles, the head's logits made again backwards, layers again where they are recomputed.

Odd: totals hold products alone. `ELEMENTWISE` parts are listed beside them and stay out, so that no MFU grows by work
that no matrix unit could do; torch's counter does not see them either.

T tokens, D width, H heads, K head width, C rows of a KDA chunk, E experts, P patches; a multiply-add is two.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Literal

from trivium.kernels.kda.plan import CHUNK
from trivium.kernels.mla.plan import MIN_BLOCK, QUERY_BLOCK
from trivium.kernels.moe.torch_moe import TILE
from trivium.model.backbone import Backbone
from trivium.model.batch import Batch
from trivium.model.joint import JointConfig
from trivium.model.kda import CONV_TAPS
from trivium.vision.moonvit import PIXELS

ELEMENTWISE = ("kda.conv", "kda.solve", "attn_res", "norms")
PARTS = (
    "kda.projections",
    "kda.core",
    "mla.projections",
    "mla.core",
    "dense",
    "routed",
    "shared",
    "router",
    "latent",
    "head",
    "mtp",
    "mtp.head",
    "vision.linear",
    "vision.attention",
    "vision.positions",
    "projector",
    *ELEMENTWISE,
)
NORM, SOURCE = 4, 6  # operations a number: RMSNorm; one AttnRes source (its norm, its logit, its share)


@dataclass(frozen=True, slots=True)
class Work:
    """What one forward and backward pass is given; `targets` None: every token but the last of each document."""

    documents: tuple[int, ...]  # tokens of each
    grids: tuple[tuple[int, int, int], ...] = ()  # frames, rows, columns of each picture, in patches
    targets: int | None = None
    mtp: bool = True

    @staticmethod
    def of(batch: Batch) -> "Work":
        """What a batch gives; read it before the batch goes to a device, since it looks at lengths."""
        documents = tuple(int(n) for n in batch.cu_seqlens.diff().tolist())
        return Work(documents, tuple((int(t), int(h), int(w)) for t, h, w in batch.grids_I3.tolist()), batch.targets)

    @property
    def tokens(self) -> int:
        return sum(self.documents)

    @property
    def patches(self) -> int:
        return sum(t * h * w for t, h, w in self.grids)

    @property
    def predicted(self) -> int:
        return self.tokens - len(self.documents) if self.targets is None else self.targets

    @property
    def predicted_ahead(self) -> int:
        """Targets of the MTP layer: one fewer a document."""
        return max(self.predicted - sum(n > 1 for n in self.documents), 0)


@dataclass(frozen=True, slots=True)
class Passes:
    forward: int
    backward: int

    @property
    def total(self) -> int:
        return self.forward + self.backward


Flow = dict[str, Passes]


def products(flow: Mapping[str, Passes]) -> Passes:
    """The sum without the elementwise parts."""
    kept = [passes for part, passes in flow.items() if part not in ELEMENTWISE]
    return Passes(sum(p.forward for p in kept), sum(p.backward for p in kept))


def mfu(flops: float, seconds: float, peak: float) -> float:
    """Model FLOPs utilisation: `algorithmic` products done in `seconds` on hardware of `peak` FLOP/s altogether."""
    return flops / (seconds * peak)


def linear_maps(backbone: Backbone.Config, *, mla: bool, moe: bool) -> dict[str, int]:
    """Multiply-adds a token of one layer's linear maps, by part: K of its E routed experts."""
    D = backbone.width
    maps: dict[str, int] = {}
    if mla:
        m = backbone.mla
        values = m.heads * m.head_dim
        latent = D * m.q_lora + D * (m.kv_lora + m.extra_dim)
        expand = m.q_lora * m.heads * (m.head_dim + m.extra_dim) + m.kv_lora * 2 * values
        maps["mla.projections"] = latent + expand + D * values + _gate(m.gate, D, m.head_dim, values)
    else:
        k = backbone.kda
        channels = k.heads * k.head_dim
        low_rank = D * k.head_dim + k.head_dim * channels
        gate = _gate(k.gate, D, k.head_dim, channels)
        maps["kda.projections"] = 4 * D * channels + low_rank + D * k.heads + gate
    if not moe:
        return {**maps, "dense": 3 * D * backbone.dense_hidden}
    e = backbone.moe
    inner = D if e.latent is None else e.latent
    return {
        **maps,
        "routed": e.experts_per_token * 3 * e.hidden * inner,
        "shared": 3 * D * e.shared * e.hidden,
        "router": D * e.experts,
        "latent": 0 if e.latent is None else 2 * D * e.latent,
    }


def _gate(kind: Literal["full_rank", "low_rank", "none"], width: int, rank: int, channels: int) -> int:
    return {"full_rank": width * channels, "low_rank": (width + channels) * rank, "none": 0}[kind]


def algorithmic(config: JointConfig, work: Work) -> Flow:
    """Operations of one pass over `work`, by part; backwards is twice forwards."""
    backbone = config.backbone
    pairs = sum(n * n for n in work.documents) / 2
    flow = _layers(config, work.tokens, work.tokens, _causal(backbone, pairs), _chunk_formula(backbone, work.tokens))
    head = 2 * backbone.vocab * backbone.width
    flow["head"] = head * work.predicted
    if backbone.mtp_layers and work.mtp:
        maps = linear_maps(backbone, mla=True, moe=backbone.dense_layers <= backbone.layers)
        joined = 2 * backbone.width**2
        flow["mtp"] = 2 * work.tokens * (sum(maps.values()) + joined) + _causal(backbone, pairs)
        flow["mtp.head"] = head * work.predicted_ahead
    flow |= _vision(config, work)
    flow |= _elementwise(config, work)
    # The patches themselves need no gradient, so the first product has one pass backwards and not two.
    first = 2 * work.patches * PIXELS * config.vision.width if config.vision is not None else 0
    passes = {part: Passes(round(count), round(2 * count)) for part, count in flow.items()}
    if first:
        passes["vision.linear"] = Passes(passes["vision.linear"].forward, passes["vision.linear"].backward - first)
    return passes


def executed(config: JointConfig, work: Work, *, recompute: bool = False) -> Flow:
    """Operations that the PyTorch path runs, by part; `recompute`: whole layers once more (Backbone.recompute).

    Routing is taken as random: each expert's slice is half a tile longer than its tokens. A decay without a bound
    (`decay_bound: null`) multiplies pair by pair inside tiles, which no counter sees; it is taken as the bounded one.
    """
    backbone = config.backbone
    pairs = _block_pairs(work.documents)
    kda_forward, kda_backward = _chunks(backbone, work.documents)
    m = backbone.mla
    query, value = m.head_dim + m.extra_dim, m.head_dim
    attend, attend_back = (pairs * m.heads * count for count in (2 * query + 2 * value, 6 * query + 4 * value))
    flow = _layers(config, work.tokens, work.tokens + _padding(backbone, work.tokens), attend, kda_forward)
    backward = {part: 2 * count for part, count in flow.items()}
    mla_layers = sum(backbone.is_mla(layer) for layer in range(backbone.layers))
    backward["mla.core"] = mla_layers * attend_back
    backward["kda.core"] = (backbone.layers - mla_layers) * kda_backward
    if recompute:
        backward = {part: count + flow[part] for part, count in backward.items()}
        for part, count in _left_out(backbone).items():
            backward[part] -= 2 * count * work.tokens
    head = 2 * backbone.vocab * backbone.width
    flow["head"], backward["head"] = head * work.predicted, 3 * head * work.predicted
    if backbone.mtp_layers and work.mtp:
        moe = backbone.dense_layers <= backbone.layers
        maps = linear_maps(backbone, mla=True, moe=moe)
        tokens = work.tokens
        linear = 2 * tokens * (sum(maps.values()) + 2 * backbone.width**2)
        if moe:
            linear += 2 * _padding(backbone, tokens) * maps["routed"]
        flow["mtp"], backward["mtp"] = linear + attend, 2 * linear + attend_back
        flow["mtp.head"], backward["mtp.head"] = head * work.predicted_ahead, 3 * head * work.predicted_ahead
    seen = _vision(config, work)
    flow |= seen
    backward |= {part: 2 * count for part, count in seen.items()}
    if config.vision is not None and work.grids:
        backward["vision.linear"] -= 2 * work.patches * PIXELS * config.vision.width
        backward["vision.attention"] = 2.5 * seen["vision.attention"]  # its backward makes the scores again
        backward["vision.positions"] = seen["vision.positions"]  # of two factors one is a constant
    aside = _elementwise(config, work)
    flow |= aside
    backward |= {part: 2 * count for part, count in aside.items()}
    return {part: Passes(round(flow[part]), round(backward[part])) for part in PARTS if part in flow}


def _layers(config: JointConfig, tokens: float, routed: float, mla_core: float, kda_core: float) -> dict[str, float]:
    """Forwards through all layers; `routed` are the tokens that the experts compute, padding included."""
    backbone = config.backbone
    flow: dict[str, float] = dict.fromkeys(
        ("kda.projections", "kda.core", "mla.projections", "mla.core", "dense", "routed", "shared", "router", "latent"),
        0,
    )
    for layer in range(backbone.layers):
        mla = backbone.is_mla(layer)
        for part, count in linear_maps(backbone, mla=mla, moe=layer >= backbone.dense_layers).items():
            flow[part] += 2 * count * (routed if part == "routed" else tokens)
        flow["mla.core" if mla else "kda.core"] += mla_core if mla else kda_core
    return flow


def _left_out(backbone: Backbone.Config) -> dict[str, int]:
    """Multiply-adds a token of the layers' last products: recomputation stops once it has what the backward needs."""
    dense = min(backbone.dense_layers, backbone.layers)
    latent = backbone.moe.latent or 0
    return {
        "dense": dense * backbone.width * backbone.dense_hidden,
        "latent": (backbone.layers - dense) * backbone.width * latent,
    }


def _causal(backbone: Backbone.Config, pairs: float) -> float:
    """One MLA layer over so many (query, key) pairs."""
    m = backbone.mla
    return pairs * m.heads * 2 * (2 * m.head_dim + m.extra_dim)


def _chunk_formula(backbone: Backbone.Config, tokens: int) -> float:
    """One KDA layer: H (6 K² + 3 C K + C²) a token (Kimi Linear, appendix)."""
    k = backbone.kda
    return tokens * k.heads * (6 * k.head_dim**2 + 3 * CHUNK * k.head_dim + CHUNK**2)


def _chunks(backbone: Backbone.Config, documents: tuple[int, ...]) -> tuple[float, float]:
    """One KDA layer of the PyTorch path forwards and backwards: chunks filled up, triangles as full squares."""
    k = backbone.kda
    whole = sum(-(-n // CHUNK) for n in documents)
    onward = whole - sum(n > 0 for n in documents)  # chunks that a state enters
    square, state = CHUNK**2 * k.head_dim, CHUNK * k.head_dim**2
    forward = 12 * whole * square + 6 * onward * state
    backward = whole * (18 * square + 8 * state) + 4 * onward * state
    return k.heads * forward, k.heads * backward


def _block_pairs(documents: tuple[int, ...]) -> int:
    """(query, key) pairs of blocked attention: each block of queries meets all keys up to its own end."""
    pairs = 0
    for n in documents:
        if n:
            block = min(max(1 << (n - 1).bit_length(), MIN_BLOCK), QUERY_BLOCK)
            blocks = -(-n // block)
            pairs += block * block * blocks * (blocks + 1) // 2
    return pairs


def _padding(backbone: Backbone.Config, tokens: int) -> float:
    """Tokens' worth of expert rows that only fill tiles: half a tile an expert that was chosen."""
    moe = backbone.moe
    chosen = moe.experts * (1 - (1 - moe.experts_per_token / moe.experts) ** tokens)
    return chosen * (TILE - 1) / 2 / moe.experts_per_token


def _vision(config: JointConfig, work: Work) -> dict[str, float]:
    """Forwards through the tower and the projector."""
    tower = config.vision
    if tower is None or not work.grids:
        return {}
    W, channels = tower.width, tower.heads * tower.head_dim
    merged = sum(h * w for _, h, w in work.grids) / 4
    linear = tower.layers * (4 * W * channels + 2 * W * tower.hidden) + PIXELS * W
    square = sum((t * h * w) ** 2 for t, h, w in work.grids)
    resized = {(h, w) for _, h, w in work.grids} - {(tower.table, tower.table)}
    return {
        "vision.linear": 2 * work.patches * linear,
        "vision.attention": 4 * square * channels * tower.layers,
        "vision.positions": sum(2 * h * tower.table * W * (tower.table + w) for h, w in resized),
        "projector": 2 * merged * 4 * W * (4 * W + config.backbone.width),
    }


@lru_cache(maxsize=64)
def sources(backbone: Backbone.Config) -> int:
    """AttnRes sources read by one token over all sublayers and the output (a single source costs nothing)."""
    if backbone.residual == "plain":
        return 0
    total, bank = 0, 0
    for layer in range(backbone.layers):
        before = bank
        bank += backbone.opens_block(layer)
        first = bank if bank > before else bank + 1
        total += (first if first > 1 else 0) + bank + 1
    return total + bank + 1


def _elementwise(config: JointConfig, work: Work) -> dict[str, float]:
    backbone, tower = config.backbone, config.vision
    kda, mla = backbone.kda, backbone.mla
    full = sum(backbone.is_mla(layer) for layer in range(backbone.layers))
    delta = backbone.layers - full
    channels = kda.heads * kda.head_dim
    normed = (2 * backbone.layers + 1) * backbone.width + delta * channels + full * (mla.q_lora + mla.kv_lora)
    if backbone.moe.latent is not None:
        normed += max(backbone.layers - backbone.dense_layers, 0) * backbone.moe.latent
    chunks = sum(-(-n // CHUNK) for n in work.documents)
    of_patches = 0 if tower is None else work.patches * (2 * tower.layers + 1) * tower.width
    return {
        "kda.conv": 2 * CONV_TAPS * 3 * channels * delta * work.tokens,
        "kda.solve": delta * kda.heads * chunks * CHUNK**3 / 3,
        "attn_res": SOURCE * backbone.width * sources(backbone) * work.tokens,
        "norms": NORM * (normed * work.tokens + of_patches),
    }
