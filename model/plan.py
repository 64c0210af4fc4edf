"""`trivium plan`: lays a run out on N GPUs, on paper: memory of the fullest rank, time of a step, what was thrown out.

Time is work over rate, part by part, with every rate an assumption (`model/machine.py`); work is the `algorithmic`
reading and what a policy computes again. Traffic that overlaps hides the assumed share; the pipeline's bubble is
(P − 1) / (V · micro-batches). It ranks layouts; it doesn't promise seconds.

Odd: only layouts that fit are timed, and the fullest rank decides. Context ranks hold contiguous spans, since KDA's
states want them in order, so under MLA the last one works up to twice the mean unless queries are dealt evenly.
"""

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from functools import lru_cache

from trivium.model.flops import ELEMENTWISE, Work, algorithmic, linear_maps, mfu, sources
from trivium.model.joint import JointConfig
from trivium.model.layout import (
    GRADIENT,
    WEIGHT,
    Layout,
    Model,
    bank_rows,
    blocks,
    local_work,
    rank_memory,
    stage_chunks,
    stage_numbers,
    state_message,
)
from trivium.model.machine import Assumptions, Gpu
from trivium.model.memory import POLICIES, Storage
from trivium.model.sizes import picture_flops

__all__ = ["Ask", "Placed", "Plan", "Refused", "batch_from", "find", "fits_below", "fits_from", "place"]

LARGEST = 1 << 16  # GPUs that `fits_from` tries
NO_ROW = "a step of so few tokens has no row for each data rank"


@dataclass(frozen=True, slots=True)
class Ask:
    """What is to be laid out: GPUs of one kind, the context length, tokens of a step, how rows are stored."""

    gpus: int
    gpu: Gpu
    context: int = 8192
    batch_tokens: int = 1 << 22
    assumed: Assumptions = field(default_factory=Assumptions)
    storage: Storage = field(default_factory=Storage)

    @property
    def room(self) -> float:
        return self.gpu.memory * (1 - self.assumed.reserve)


@dataclass(frozen=True, slots=True)
class Placed:
    """A layout that fits: bytes of the fullest rank by part, seconds of a step by part."""

    layout: Layout
    stage: int  # of the fullest rank
    micro_batches: int
    memory: dict[str, float]
    slowest: int  # the stage that `seconds` are of
    seconds: dict[str, float]
    tokens_per_second: float
    mfu: float

    @property
    def used(self) -> float:
        return sum(self.memory.values())

    @property
    def step(self) -> float:
        return sum(self.seconds.values())


@dataclass(frozen=True, slots=True)
class Refused:
    """Layouts thrown out for one reason; the nearest of them, and what it would need."""

    reason: str
    layouts: int
    nearest: Layout | None = None
    needs: float = 0  # bytes


@dataclass(frozen=True, slots=True)
class Plan:
    ask: Ask
    best: tuple[Placed, ...]
    fitting: int
    refused: tuple[Refused, ...]
    state_bytes: float  # weights, whole gradients, master and moments, once


def find(config: JointConfig, ask: Ask, best: int = 3) -> Plan:
    """The fastest layouts that fit, each with another (pipeline, context, expert), and why the rest don't."""
    model = Model.of(config)
    placed, refused = _search(model, ask)
    placed.sort(key=lambda one: one.step)
    seen: dict[tuple[int, ...], Placed] = {}
    for one in placed:
        at = one.layout
        seen.setdefault((at.data, at.pipeline, at.context, at.expert), one)
    return Plan(ask, tuple([*seen.values()][:best]), len(placed), refused, _state(model))


def fits_from(config: JointConfig, ask: Ask) -> int | None:
    """The smallest power of two of GPUs on which some layout fits (the batch grows to one row a replica if it must)."""
    model, gpus = Model.of(config), 1
    while gpus <= LARGEST:
        if _fits(model, replace(ask, gpus=gpus, batch_tokens=max(ask.batch_tokens, gpus * ask.context))):
            return gpus
        gpus *= 2
    return None


def fits_below(config: JointConfig, ask: Ask) -> int | None:
    """The largest power of two of GPUs, fewer than asked, on which some layout fits with the asked step."""
    model, gpus = Model.of(config), 1 << (ask.gpus - 1).bit_length() >> 1
    while gpus:
        if gpus < ask.gpus and _fits(model, replace(ask, gpus=gpus)):
            return gpus
        gpus //= 2
    return None


def _fits(model: Model, ask: Ask) -> bool:
    layouts = (one for one in _layouts(model, ask) if _least(one) and micro_batches(one, ask) >= 1)
    return any(_weigh(model, layout, ask)[2] <= ask.room for layout in layouts)


def batch_from(config: JointConfig, ask: Ask) -> int | None:
    """The fewest tokens of a larger step with which some layout of the asked GPUs fits; None: no larger step helps."""
    model = Model.of(config)
    without = (one for one in _layouts(model, ask) if _least(one) and micro_batches(one, ask) < 1)
    for layout in sorted(without, key=lambda one: one.data):
        tokens = layout.data * layout.rows * ask.context
        if _weigh(model, layout, replace(ask, batch_tokens=tokens))[2] <= ask.room:
            return tokens
    return None


def _least(layout: Layout) -> bool:
    """Whether nothing else of these sizes holds less."""
    return layout.policy == "layers" and layout.rows == 1 and (layout.shard_gradients or layout.peers == 1)


def _state(model: Model) -> float:
    total = model.total
    return (WEIGHT + 2 * GRADIENT) * (total.dense + total.experts) + total.dense_moments + total.expert_moments


def _search(model: Model, ask: Ask) -> tuple[list[Placed], tuple[Refused, ...]]:
    placed: list[Placed] = []
    counts: Counter[str] = Counter()
    nearest: dict[str, tuple[float, Layout]] = {}
    for layout in _layouts(model, ask):
        if micro_batches(layout, ask) < 1:
            counts[NO_ROW] += 1
            continue
        stage, memory, used = _weigh(model, layout, ask)
        if used <= ask.room:
            placed.append(place(model, layout, ask, stage, memory))
            continue
        reason = f"does not fit: {max(memory, key=lambda part: memory[part])} is the largest part"
        counts[reason] += 1
        if reason not in nearest or used < nearest[reason][0]:
            nearest[reason] = used, layout
    rows = [Refused(reason, count, *(nearest[reason][::-1] if reason in nearest else ()))
            for reason, count in counts.most_common()]  # fmt: skip
    return placed, tuple(rows)


def micro_batches(layout: Layout, ask: Ask) -> int:
    """Of each data rank in a step."""
    return ask.batch_tokens // (layout.data * layout.rows * ask.context)


def _weigh(model: Model, layout: Layout, ask: Ask) -> tuple[int, dict[str, float], float]:
    """(The fullest stage, its bytes by part, their sum); the first two stages and the last are the candidates."""
    found: tuple[int, dict[str, float], float] | None = None
    for stage in sorted({0, min(1, layout.pipeline - 1), layout.pipeline - 1}):
        memory = rank_memory(model, layout, ask.context, micro_batches(layout, ask), ask.assumed, ask.storage, stage)
        used = sum(memory.values())
        if found is None or used > found[2]:
            found = stage, memory, used
    assert found is not None
    return found


def _layouts(model: Model, ask: Ask) -> Iterator[Layout]:
    """All layouts of the asked number of GPUs whose sizes divide as they must."""
    backbone = model.config.backbone
    longest = max(1, ask.context // 8192)
    for pipeline in _divisors(ask.gpus):
        if pipeline > backbone.layers:
            continue
        for context in _divisors(ask.gpus // pipeline):
            if context > longest or context & (context - 1):
                continue
            peers = ask.gpus // pipeline
            experts = [e for e in _divisors(peers) if backbone.moe.experts % e == 0]
            for expert in experts:
                for virtual in (1, 2, 3, 4) if pipeline > 1 else (1,):
                    if pipeline * virtual > backbone.layers:
                        continue
                    for rows in (1, 2, 4) if context == 1 and ask.context <= 8192 else (1,):
                        for policy in POLICIES:
                            for shard in (False, True) if peers > 1 else (False,):
                                yield Layout(peers // context, expert, pipeline, virtual, context, rows, policy, shard)


def _divisors(number: int) -> list[int]:
    low = [n for n in range(1, int(number**0.5) + 1) if number % n == 0]
    return sorted({*low, *(number // n for n in low)})


def place(model: Model, layout: Layout, ask: Ask, stage: int, memory: dict[str, float]) -> Placed:
    """Times a layout."""
    slowest, seconds = _seconds(model, layout, ask)
    step = sum(seconds.values())
    rows = micro_batches(layout, ask) * layout.data * layout.rows
    tokens = rows * ask.context
    work = Work((ask.context,), targets=ask.context)
    flops = rows * sum(p.total for part, p in algorithmic(model.config, work).items() if part not in ELEMENTWISE)
    flops += _picture_flops(model, ask) * tokens
    used = mfu(flops, step, ask.gpus * ask.gpu.peak)
    return Placed(layout, stage, micro_batches(layout, ask), memory, slowest, seconds, tokens / step, used)


def _picture_flops(model: Model, ask: Ask) -> float:
    """Of training the tower, a token of any kind: four patches fill one token, and so many tokens are filled."""
    if model.config.vision is None:
        return 0.0
    return ask.assumed.pictures * 4 * picture_flops(model.config, 64, 64).training


def _seconds(model: Model, layout: Layout, ask: Ask) -> tuple[int, dict[str, float]]:
    """(The slowest stage, the seconds of a step there by part.)"""
    gpu, assumed, backbone = ask.gpu, ask.assumed, model.config.backbone
    count, work = micro_batches(layout, ask), local_work(layout, ask.context)
    stages = [_stage_seconds(model, layout, ask, stage) for stage in range(layout.pipeline)]
    slowest = max(range(layout.pipeline), key=lambda stage: sum(stages[stage].values()))
    seconds = {part: count * value for part, value in stages[slowest].items()}
    busy = sum(seconds.values())
    seconds["bubble"] = busy * (layout.pipeline - 1) / (layout.virtual * count)
    tokens = count * layout.data * layout.rows * ask.context
    seconds["pictures"] = _picture_flops(model, ask) * tokens / (ask.gpus * assumed.matmul * gpu.peak)
    own = max((stage_numbers(model, layout, s) for s in range(layout.pipeline)), key=lambda n: n.dense + n.experts)
    seconds["data"] = (1 - assumed.data_overlap) * _data_seconds(layout, ask, own.dense, own.experts)
    held = own.dense / layout.peers + own.experts / layout.peers
    moving = 2 * (held * (WEIGHT + 2 * GRADIENT) + (own.dense_moments + own.expert_moments) / layout.peers)
    seconds["optimizer"] = model.orthogonalise / (ask.gpus * assumed.matmul * gpu.peak)
    seconds["optimizer"] += moving / (assumed.copy * gpu.bandwidth)
    if layout.pipeline > 1:
        rounds = layout.pipeline * layout.virtual
        rows = bank_rows(layout, blocks(backbone) / rounds, cached=True) + rounds - 1
        row = work.tokens * backbone.width * ask.storage.row
        # Forwards and backwards, spread over the stages.
        moved = 2 * count * rows * row / layout.pipeline / (assumed.wire * gpu.wire(layout.peers * 2))
        seconds["pipeline"] = (1 - assumed.other_overlap) * moved
    return slowest, {part: value for part, value in seconds.items() if value}


def _stage_seconds(model: Model, layout: Layout, ask: Ask, stage: int) -> dict[str, float]:
    """One micro-batch through one stage, forwards and backwards, without the bubble."""
    backbone, assumed, gpu = model.config.backbone, ask.assumed, ask.gpu
    work = local_work(layout, ask.context)
    again = 4 / 3 if layout.policy == "layers" else 1.0
    parts: Counter[str] = Counter()
    pairs = layout.rows * ask.context**2 / 2 / layout.context
    if layout.context > 1 and not assumed.balanced_attention:
        pairs *= 2 - 1 / layout.context
    m, k, moe = backbone.mla, backbone.kda, backbone.moe
    recurrence = work.tokens * k.heads * (6 * k.head_dim**2 + 3 * 64 * k.head_dim + 64**2)
    layers = [layer for chunk in stage_chunks(model, layout, stage) for layer in chunk]
    for layer in layers:
        mla, routed = backbone.is_mla(layer), layer >= backbone.dense_layers
        for part, maps in linear_maps(backbone, mla=mla, moe=routed).items():
            rate = assumed.grouped / assumed.imbalance if part == "routed" else assumed.matmul
            name = "experts" if part == "routed" else "products"
            parts[name] += again * 6 * maps * work.tokens / (rate * gpu.peak)
        if mla:
            core = 6 * pairs * m.heads * (2 * m.head_dim + m.extra_dim)
            parts["attention"] += again * core / (assumed.attention * gpu.peak)
        else:
            parts["kda"] += again * 3 * recurrence / (assumed.kda * gpu.peak)
        if routed and layout.expert > 1:
            parts["experts' exchange"] += _exchange(
                layout, ask, work.tokens * moe.experts_per_token, moe.latent or backbone.width
            )
        if layout.context > 1:
            parts["context"] += (1 - assumed.other_overlap) * _context_seconds(model, layout, ask, mla=mla)
    # A mixture reads its sources forwards and again, and reads and writes their gradients backwards.
    mixed = sources(backbone) / backbone.layers * len(layers)
    numbers = work.tokens * backbone.width * (4 * mixed + 16 * len(layers))
    parts["elementwise"] += numbers * ask.storage.row / (assumed.copy * gpu.bandwidth)
    if stage == layout.pipeline - 1:
        # Of whole rows, since MTP's attention sees them whole.
        ends = _ends(model.config, Work((ask.context,) * layout.rows)) / layout.context
        parts["head and mtp"] += ends / (assumed.matmul * gpu.peak)
    return dict(parts)


@lru_cache(maxsize=64)
def _ends(config: JointConfig, work: Work) -> int:
    """FLOPs of head and MTP over `work`."""
    flow = algorithmic(config, work)
    return sum(flow[part].total for part in ("head", "mtp", "mtp.head") if part in flow)


def _exchange(layout: Layout, ask: Ask, pairs: int, width: int) -> float:
    """Seconds of one layer's dispatch and combine that don't hide: five times a row a pair, one of them made again."""
    wire = ask.assumed.wire * ask.gpu.wire(layout.expert)
    rows = pairs * ask.assumed.imbalance * (1 - 1 / layout.expert)
    return (1 - ask.assumed.expert_overlap) * 5 * rows * width * ask.storage.row / wire


def _context_seconds(model: Model, layout: Layout, ask: Ask, *, mla: bool) -> float:
    """One layer's traffic between context ranks: KDA's states, or MLA's latents and their fp32 gradients."""
    wire = ask.assumed.wire * ask.gpu.wire(layout.context)
    if not mla:
        return 2 * (layout.context - 1) * state_message(model.config.backbone.kda) * layout.rows / wire
    m = model.config.backbone.mla
    away = layout.rows * ask.context * (1 - 1 / layout.context) * (m.kv_lora + m.extra_dim)
    return away * (ask.storage.row + 4) / wire


def _data_seconds(layout: Layout, ask: Ask, dense: int, experts: int) -> float:
    """Gradients to their owners in fp32, new weights back in bf16."""
    wire = ask.assumed.wire * ask.gpu.wire(layout.peers)
    twins = layout.peers // layout.expert
    moved = dense * (1 - 1 / layout.peers) + experts / layout.expert * (1 - 1 / twins)
    return moved * (GRADIENT + WEIGHT) / wire
