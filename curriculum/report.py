"""What `trivium curriculum check` says of a plan: facts by stage and by corpus, shortfalls, what is odd about them.

Odd: steps, tokens, epochs and shares follow from the schedule and the corpora's sizes; fill and rows a step are
measured on packed windows (`measure`), all of them when they are few.
"""

from trivium.console import counted
from trivium.curriculum.corpora import SetCatalogue
from trivium.curriculum.measure import PIECES, Measured, measure
from trivium.curriculum.mixture import vision_share
from trivium.curriculum.plan import Plan, StagePlan
from trivium.curriculum.supply import epochs, shortfalls
from trivium.data.config import Strict

EPOCHS_WANTED = 4.0  # beyond about four epochs repeated text adds little (Muennighoff et al., 2305.16264)
PASSED_OVER = "pictures_too_long"  # expected in short stages: a later one takes them


class MixtureFacts(Strict, frozen=True, kw_only=True):
    """A corpus or one of its buckets in a stage: `written`, `wanted` and `got` are shares of the stage's tokens.

    `written` is the schedule's weight (None for a bucket that has none of its own), `wanted` what `vision` and
    `upsample` make of it, `got` what was measured; `epochs` says how often the stage goes through what it
    can use of it.
    """

    written: float | None
    wanted: float
    got: float
    tokens: int
    epochs: float


class StageReport(Strict, frozen=True, kw_only=True):
    """One stage; `fill` and `patch_fill` are shares of the budgets of all measured rows.

    `batch` is tokens a step at the start and at the end, `rows` the rows that a step is meant to have, `rows_most` the
    most it had. `cut` counts documents longer than the context among those that come, `skipped` documents of its
    buckets that it can't use. `imbalance` is the mean over measured steps of the costliest of 8 ranks over the mean
    rank.
    """

    name: str
    context: int
    patch_budget: int
    tokens: int
    batch: tuple[int, int]
    rows: int
    rows_most: int
    first_step: int
    steps: int
    windows: int
    windows_measured: int
    fill: float
    patch_fill: float
    half_empty_rows: float
    documents: int
    cut: int
    skipped: dict[str, int]
    vision: float
    imbalance: float | None
    lr_first: float
    lr_last: float
    mixture: dict[str, MixtureFacts]
    buckets: dict[str, MixtureFacts]


class BucketReport(Strict, frozen=True, kw_only=True):
    """One length bucket of a corpus: how often the run goes through its documents (`epochs`), and may (`limit`)."""

    records: int
    train_tokens: int
    used_tokens: int
    epochs: float
    limit: float | None


class CorpusReport(Strict, frozen=True, kw_only=True):
    """One corpus: what it has on both sides, and how often the run reads its training tokens.

    Of a corpus on paper nothing can be held out: `held_out_records` and `held_out_tokens` are None.
    """

    path: str
    records: int
    train_records: int
    train_tokens: int
    held_out_records: int | None
    held_out_tokens: int | None
    twins_left_out: int
    used_tokens: int
    epochs: float
    buckets: dict[str, BucketReport]


class Report(Strict, frozen=True, kw_only=True):
    """The whole plan; `digest` names what decides its rows. It can run when there are no `shortfalls`."""

    digest: str
    steps: int
    tokens: int
    lr_peak: float
    stages: tuple[StageReport, ...]
    corpora: dict[str, CorpusReport]
    shortfalls: tuple[str, ...]
    warnings: tuple[str, ...]
    notes: tuple[str, ...]


def report(plan: Plan, pieces: int = PIECES) -> Report:
    """All facts of a plan; about `pieces` pieces a stage are packed to measure its rows, but at least one window."""
    found = [measure(plan, number, pieces) for number in range(len(plan.stages))]
    stages = tuple(_stage(plan, number, measured) for number, measured in enumerate(found))
    corpora = {name: _corpus(plan, name) for name in plan.schedule.corpora}
    return Report(
        digest=plan.digest,
        steps=plan.steps,
        tokens=sum(stage.tokens for stage in stages),
        lr_peak=plan.schedule.lr.peak,
        stages=stages,
        corpora=corpora,
        shortfalls=tuple(map(str, shortfalls(plan))),
        warnings=tuple(_warnings(plan, stages, corpora)),
        notes=tuple(_notes(plan, stages)),
    )


def _stage(plan: Plan, number: int, measured: Measured) -> StageReport:
    parts = plan.stages[number]
    rules, clock = parts.rules, parts.clock
    uses = {line.pool.name: parts.taken(line.pool.name) / line.supply.tokens for line in parts.lines}
    skipped: dict[str, int] = {}
    for name, supply in parts.supply.items():
        if plan.pools[name].corpus in rules.mixture and (not rules.buckets or plan.pools[name].bucket in rules.buckets):
            for reason, count in supply.skipped.items():
                skipped[reason] = skipped.get(reason, 0) + count
    return StageReport(
        name=rules.name,
        context=rules.context,
        patch_budget=rules.patch_budget,
        tokens=clock.tokens,
        batch=(clock.batch_of(0), clock.batch_of(clock.steps - 1)),
        rows=clock.rows_of(clock.steps - 1),
        rows_most=max(measured.rows_a_step),
        first_step=parts.first_step,
        steps=clock.steps,
        windows=parts.windows.count,
        windows_measured=len(measured.fills),
        fill=measured.tokens / (measured.rows * rules.context),
        patch_fill=measured.patches / max(1, measured.rows * rules.patch_budget),
        half_empty_rows=measured.half_empty / measured.rows,
        documents=round(sum(uses[line.pool.name] * line.supply.documents for line in parts.lines)),
        cut=round(sum(uses[line.pool.name] * line.supply.cut for line in parts.lines)),
        skipped=skipped,
        vision=vision_share(parts.lines),
        imbalance=sum(measured.imbalance) / len(measured.imbalance) if measured.imbalance else None,
        lr_first=plan.lr(parts.first_step),
        lr_last=plan.lr(parts.first_step + clock.steps - 1),
        mixture={corpus: _mixture(parts, measured, corpus, None) for corpus in rules.shares},
        buckets={line.pool.name: _mixture(parts, measured, line.pool.corpus, line.pool.bucket) for line in parts.lines},
    )


def _mixture(parts: StagePlan, measured: Measured, corpus: str, bucket: str | None) -> MixtureFacts:
    mine = [line for line in parts.lines if line.pool.corpus == corpus and bucket in (None, line.pool.bucket)]
    tokens = sum(line.share(parts.tokens) for line in mine)
    weight = parts.rules.resolved_mixture[corpus]
    written = parts.rules.shares[corpus] if bucket is None else weight[bucket] if isinstance(weight, dict) else None
    return MixtureFacts(
        written=written,
        wanted=tokens / parts.tokens,
        got=sum(measured.taken.get(line.pool.name, 0) for line in mine) / measured.tokens,
        tokens=tokens,
        epochs=tokens / sum(line.supply.tokens for line in mine),
    )


def _corpus(plan: Plan, name: str) -> CorpusReport:
    catalogue, rules = plan.catalogues[name], plan.schedule.corpora[name]
    pools = [pool for pool in plan.pools.values() if pool.corpus == name]
    first = plan.stages[0].supply  # what may be trained on is the same for all stages
    used = {pool.name: sum(stage.taken(pool.name) for stage in plan.stages) for pool in pools}
    train = sum(first[pool.name].train_tokens for pool in pools)
    side = plan.sides.get(name)
    sizes = plan.sizes.get(name)
    return CorpusReport(
        path=rules.path,
        records=len(catalogue),
        train_records=sum(first[pool.name].train_documents for pool in pools),
        train_tokens=train,
        held_out_records=None if sizes is None else len(sizes.held_out),
        held_out_tokens=None if sizes is None else int(sizes.tokens[sizes.held_out].sum()),
        twins_left_out=0 if side is None else len(side.twins),
        used_tokens=sum(used.values()),
        epochs=sum(used.values()) / max(1, train),
        buckets={
            pool.bucket: BucketReport(
                records=len(pool),
                train_tokens=first[pool.name].train_tokens,
                used_tokens=used[pool.name],
                epochs=epochs(plan, pool.name),
                limit=rules.limit(pool.bucket),
            )
            for pool in pools
        },
    )


def _warnings(plan: Plan, stages: tuple[StageReport, ...], corpora: dict[str, CorpusReport]) -> list[str]:
    found = []
    for stage, rules in zip(stages, plan.schedule.stages, strict=True):
        if stage.rows_most > stage.rows:
            lower = int(100 * stage.fill) / 100
            found.append(
                f"stage {stage.name}: documents fill rows to {stage.fill:.1%}, and fill is {rules.fill:g}: steps have "
                f"up to {stage.rows_most} rows rather than {stage.rows}; lower fill (to {lower:g}, say) for even steps "
                "of fewer tokens, or give a longer window or more patches a row to fill rows better"
            )
        others = {reason: count for reason, count in stage.skipped.items() if reason != PASSED_OVER}
        if others:
            reasons = ", ".join(f"{count:,} {reason}" for reason, count in sorted(others.items()))
            found.append(f"stage {stage.name}: documents that can't be used are skipped: {reasons}")
    often = [
        f"{name} {bucket} ({facts.epochs:.1f} times)"
        for name, corpus in corpora.items()
        for bucket, facts in corpus.buckets.items()
        if facts.limit is None and facts.epochs > EPOCHS_WANTED
    ]
    if often:
        found.append(
            f"documents come more than {EPOCHS_WANTED:g} times, which adds little, and no max_epochs bounds it: "
            f"{', '.join(often)}"
        )
    parts = [
        f"{name} ({catalogue.shards.manifest.limit:,} items of each source)"
        for name, catalogue in plan.catalogues.items()
        if isinstance(catalogue, SetCatalogue) and catalogue.shards.manifest.limit is not None
    ]
    if parts:
        found.append(f"{', '.join(parts)}: a part of its corpus, built with --limit; build it whole")
    bare = [name for name, corpus in corpora.items() if corpus.held_out_records == 0]
    if bare and plan.schedule.held_out.fraction:
        found.append(f"of {', '.join(bare)} no cluster is held out; raise held_out.fraction or change its salt")
    return found


def _notes(plan: Plan, stages: tuple[StageReport, ...]) -> list[str]:
    """What is as it should be and yet may surprise."""
    longest = stages[-1].context
    found = [
        f"stage {stage.name}: {counted(stage.skipped[PASSED_OVER], 'document')} with pictures are longer than "
        f"{stage.context:,} tokens and wait for a longer stage"
        f"{'' if stage.context < longest else ', and there is none'}"
        for stage in stages
        if stage.skipped.get(PASSED_OVER)
    ]
    moves: dict[str, list[str]] = {}
    for stage, rules in zip(stages, plan.schedule.stages, strict=True):
        if rules.vision is not None:
            moves.setdefault(_moved(stage, rules.vision), []).append(stage.name)
    found += [f"stage {', '.join(names)}: {text}" for text, names in moves.items()]
    paper = [name for name in plan.schedule.corpora if name not in plan.sizes]
    if paper and plan.schedule.held_out.fraction:
        found.append(
            f"{', '.join(paper)}: on paper, so nothing is held out of them; of real corpora held_out.fraction "
            f"({plan.schedule.held_out.fraction:g}) of the clusters will be missing"
        )
    return found


def _moved(stage: StageReport, vision: float) -> str:
    """What `vision` did to the weights of a stage."""
    factors: dict[str, list[str]] = {}
    for name, facts in stage.mixture.items():
        if facts.written:
            factors.setdefault(f"{facts.wanted / facts.written:.3g}", []).append(name)
    moves = "; ".join(f"{', '.join(names)} to {factor} times what is written" for factor, names in factors.items())
    return f"vision: {vision:g} of the tokens shall be picture tokens, so shares move: {moves}"
