"""How a model lies on N GPUs: which layers, experts, states and rows each rank holds, in bytes by part.

Ranks = data · context · pipeline. Experts are dealt over `expert` of the data · context ranks of a stage. Optimizer
state is dealt over the ranks that hold the same weights (ZeRO-1); gradients too where `shard_gradients` says so, with
two chunks' gradients whole at a time (K3 report, section 5.2.2). There is no tensor parallelism: heads and experts are
small enough for one GPU, MLA's latent can't be split by heads, and its traffic would grow with every row.

Odd: stages take layers in turns (`virtual` rounds), so stage s holds chunks s, s + P, …; the first chunk has the
embedding and the tower, the last one the head and MTP.
"""

import math
from dataclasses import dataclass
from functools import lru_cache
from itertools import pairwise

from trivium.kernels.kda.plan import CHUNK
from trivium.model.backbone import Backbone
from trivium.model.flops import Work, algorithmic, products
from trivium.model.joint import JointConfig
from trivium.model.kda import KDA
from trivium.model.machine import Assumptions
from trivium.model.memory import Policy, Storage, activations, blocks, layer_rows
from trivium.model.optim import describe_groups

WEIGHT, GRADIENT, MASTER = 2, 4, 4  # bytes of a number


@dataclass(frozen=True, slots=True)
class Layout:
    data: int = 1
    expert: int = 1
    pipeline: int = 1
    virtual: int = 1
    context: int = 1
    rows: int = 1  # rows of the context length a micro-batch
    policy: Policy = "attn_res"
    shard_gradients: bool = False

    @property
    def ranks(self) -> int:
        return self.data * self.context * self.pipeline

    @property
    def peers(self) -> int:
        """Ranks that hold the same dense weights."""
        return self.data * self.context


@dataclass(frozen=True, slots=True)
class Numbers:
    """Parameters and bytes of moments of a layer or an end; experts' apart from what every rank of a stage holds."""

    dense: int = 0
    experts: int = 0
    dense_moments: int = 0
    expert_moments: int = 0

    def __add__(self, other: "Numbers") -> "Numbers":
        return Numbers(
            self.dense + other.dense,
            self.experts + other.experts,
            self.dense_moments + other.dense_moments,
            self.expert_moments + other.expert_moments,
        )


@dataclass(frozen=True, slots=True, eq=False)
class Model:
    """What a plan needs to know of a configuration, counted once."""

    config: JointConfig
    first: Numbers  # embedding, tower, projector
    layers: tuple[Numbers, ...]
    last: Numbers  # head, norms, MTP
    orthogonalise: float  # FLOPs of one optimizer step's Newton–Schulz iterations
    tail: float  # what head and MTP cost, in layers: the last chunk has so many fewer

    @staticmethod
    def of(config: JointConfig) -> "Model":
        ends = {"first": Numbers(), "last": Numbers()}
        layers = [Numbers() for _ in range(config.backbone.layers)]
        work = 0.0
        for group in describe_groups(config.build(device="meta").named_parameters(), config):
            size = math.prod(group.shape)
            moments = size * (4 if group.optimizer == "muon" else 8)
            expert = ".experts." in group.name
            own = Numbers(0, size, 0, moments) if expert else Numbers(size, 0, moments, 0)
            for block in group.blocks:
                small, large = sorted((block.rows, block.columns))
                work += 5 * block.count * (4 * small * small * large + 2 * small**3)
            parts = group.name.split(".")
            if parts[:2] == ["backbone", "layers"]:
                layers[int(parts[2])] += own
            else:
                end = "first" if parts[0] != "backbone" or parts[1] == "embed" else "last"
                ends[end] += own
        return Model(config, ends["first"], tuple(layers), ends["last"], work, _tail(config))

    @property
    def total(self) -> Numbers:
        return sum(self.layers, self.first) + self.last


def _tail(config: JointConfig) -> float:
    work = Work((8192,))
    flow = algorithmic(config, work)
    ends = sum(flow[part].total for part in ("head", "mtp", "mtp.head") if part in flow)
    pictures = [passes.total for part, passes in flow.items() if part.startswith("vision") or part == "projector"]
    return ends * config.backbone.layers / (products(flow).total - ends - sum(pictures))


def chunks(model: Model, layout: Layout) -> list[range]:
    """Layers of each of pipeline · virtual chunks in order, even in work with head and MTP in the last."""
    layers, count = len(model.layers), layout.pipeline * layout.virtual
    share = (layers + model.tail) / count
    ends = [min(round(place * share), layers) for place in range(count)]
    return [range(*pair) for pair in pairwise([*ends, layers])]


def stage_chunks(model: Model, layout: Layout, stage: int) -> tuple[range, ...]:
    return _stage(model, layout.pipeline, layout.virtual, stage)[0]


def stage_numbers(model: Model, layout: Layout, stage: int) -> Numbers:
    """Parameters that a stage's ranks hold together: dense ones once, all experts."""
    return _stage(model, layout.pipeline, layout.virtual, stage)[1]


@lru_cache(maxsize=4096)
def _stage(model: Model, pipeline: int, virtual: int, stage: int) -> tuple[tuple[range, ...], Numbers]:
    parts = tuple(chunks(model, Layout(pipeline=pipeline, virtual=virtual))[stage::pipeline])
    own = [model.layers[layer] for chunk in parts for layer in chunk]
    if stage == 0:
        own.append(model.first)
    if stage == pipeline - 1:
        own.append(model.last)
    return parts, sum(own, Numbers())


def in_flight(layout: Layout, stage: int, micro_batches: int) -> int:
    """Chunks' activations that a stage holds at most under interleaved 1F1B."""
    if layout.pipeline == 1:
        return layout.virtual
    warm = layout.pipeline - stage
    if layout.virtual > 1:
        warm = 2 * (layout.pipeline - stage - 1) + (layout.virtual - 1) * layout.pipeline + 1
    return min(warm, micro_batches * layout.virtual)


def state_message(kda: KDA.Config) -> int:
    """Bytes that one rank sends a KDA layer under context parallelism: [Z | M] in fp32, whatever the length."""
    return 4 * kda.heads * kda.head_dim * 2 * kda.head_dim


def bank_rows(layout: Layout, new_blocks: float, *, cached: bool) -> float:
    """Rows of width D that all stages pass on for AttnRes, a token and micro-batch (spec, section 3.4)."""
    stages, rounds = layout.pipeline, layout.virtual
    if cached:
        return (stages * (stages - 1) / 2 + (rounds - 1) * stages**2) * new_blocks
    count = stages * rounds
    return count * (count - 1) / 2 * new_blocks


def rank_memory(
    model: Model,
    layout: Layout,
    context: int,
    micro_batches: int,
    assumed: Assumptions,
    storage: Storage,
    stage: int = 0,
) -> dict[str, float]:
    """Bytes of one rank of `stage`, by part. Conserves: over all ranks, master and moments add up to the model's."""
    backbone = model.config.backbone
    own = stage_numbers(model, layout, stage)
    held = own.dense + own.experts / layout.expert
    twins = layout.peers / layout.expert  # ranks with the same experts
    shard = own.dense / layout.peers + own.experts / layout.expert / twins
    gradients = GRADIENT * held
    if layout.shard_gradients:
        gradients = min(gradients, GRADIENT * (shard + 2 * held / layout.virtual))
    kept: dict[str, float] = {
        "weights": WEIGHT * held,
        "gradients": gradients,
        "master": MASTER * shard,
        "moments": own.dense_moments / layout.peers + own.expert_moments / layout.expert / twins,
    }
    work = local_work(layout, context)
    kept |= _rows(model, layout, work, micro_batches, storage, stage)
    kept["workspace"] = _workspace(model, layout, work, storage)
    if stage == layout.pipeline - 1:
        kept["logits"] = min(assumed.logit_rows, work.tokens) * backbone.vocab * 4
    if layout.context > 1:
        m = backbone.mla
        row = m.kv_lora + m.extra_dim + assumed.heads_at_once * (2 * m.head_dim + m.extra_dim)
        kept["gathered"] = context * layout.rows * row * storage.row + layout.context * state_message(backbone.kda)
    return kept


def local_work(layout: Layout, context: int) -> Work:
    """One micro-batch on one rank; pictures are left to the tower's own balance."""
    if layout.context > 1:
        return Work((context * layout.rows // layout.context,))
    return Work((context,) * layout.rows)


def _rows(
    model: Model, layout: Layout, work: Work, micro_batches: int, storage: Storage, stage: int
) -> dict[str, float]:
    """Activations of all micro-batches in flight on a stage."""
    config, backbone = model.config, model.config.backbone
    if layout.pipeline == 1 and layout.virtual == 1:
        rows, bank = _whole(config, work, layout.policy, storage)
        return {"activations": rows - _expanded(model, layout, work, storage, range(backbone.layers)), "bank": bank}
    parts = stage_chunks(model, layout, stage)
    heaviest = max((_chunk_rows(model, layout, work, storage, chunk) for chunk in parts), default=0.0)
    flying = in_flight(layout, stage, micro_batches)
    rows = heaviest * flying
    if stage == layout.pipeline - 1:
        rows += _end_rows(config, work, storage)
    # A stage caches the blocks of each micro-batch that it works on, once for all its rounds.
    bank = blocks(backbone) * work.tokens * backbone.width * storage.row * math.ceil(flying / layout.virtual)
    return {"activations": rows, "bank": bank}


@lru_cache(maxsize=256)
def _end_rows(config: JointConfig, work: Work, storage: Storage) -> float:
    kept = activations(config, work, "layers", storage)
    return kept.get("head", 0) + kept.get("mtp", 0)


@lru_cache(maxsize=1024)
def _whole(config: JointConfig, work: Work, policy: Policy, storage: Storage) -> tuple[float, float]:
    """Activations of an undivided model: (all but the bank, the bank)."""
    kept = activations(config, work, policy, storage)
    bank = kept.pop("bank", 0.0)
    return sum(kept.values()), bank


def _chunk_rows(model: Model, layout: Layout, work: Work, storage: Storage, chunk: range) -> float:
    backbone = model.config.backbone
    row = backbone.width * storage.row * work.tokens
    if layout.policy == "layers":
        return len(chunk) * row
    sums = 4 if layout.policy == "keep" and backbone.residual == "attn_res" else 2
    inner = sum(_layer(model, work, storage, layer) for layer in chunk)
    return sums * len(chunk) * row + inner - _expanded(model, layout, work, storage, chunk)


def _layer(model: Model, work: Work, storage: Storage, layer: int) -> float:
    backbone = model.config.backbone
    return _layer_bytes(backbone, work, storage, backbone.is_mla(layer), layer >= backbone.dense_layers)


@lru_cache(maxsize=1024)
def _layer_bytes(backbone: Backbone.Config, work: Work, storage: Storage, mla: bool, moe: bool) -> float:
    return sum(layer_rows(backbone, work, storage, mla=mla, moe=moe).values())


def _expanded(model: Model, layout: Layout, work: Work, storage: Storage, layers: range) -> float:
    """Keys and values of the local rows, which context parallelism makes again from gathered latents."""
    backbone, m = model.config.backbone, model.config.backbone.mla
    if layout.context == 1 or layout.policy == "layers":
        return 0
    full = sum(backbone.is_mla(layer) for layer in layers)
    return full * work.tokens * m.heads * (3 * m.head_dim + m.extra_dim) * storage.row


def _workspace(model: Model, layout: Layout, work: Work, storage: Storage) -> float:
    """What the busiest layer's backward pass makes on its way: its rows again, KDA's states, experts' exchange."""
    backbone = model.config.backbone
    k, moe = backbone.kda, backbone.moe
    sizes = []
    for layer in {*range(min(backbone.layers, 5)), backbone.layers - 1}:
        rows = _layer(model, work, storage, layer) if layout.policy == "layers" else 0.0
        if not backbone.is_mla(layer):  # states entering the chunks and their gradients
            rows += 2 * work.tokens / CHUNK * k.heads * k.head_dim**2 * storage.row
        if layer >= backbone.dense_layers:
            inner = backbone.width if moe.latent is None else moe.latent
            rows += 2 * work.tokens * moe.experts_per_token * inner * storage.row
        sizes.append(rows)
    return max(sizes)
