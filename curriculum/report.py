"""What `trivium curriculum check` says of a plan: facts by stage and by corpus, and what is odd about them."""

from trivium.curriculum.plan import Plan
from trivium.data.config import Strict

FILL_WANTED = 0.97  # of a row's tokens
EPOCHS_WANTED = 4.0  # beyond about four epochs repeated text adds little (Muennighoff et al., 2305.16264)


class MixtureFacts(Strict, frozen=True, kw_only=True):
    """A corpus in a stage: `wanted` and `got` are shares of its tokens, `epochs` of the corpus's training tokens."""

    wanted: float
    got: float
    tokens: int
    epochs: float


class StageReport(Strict, frozen=True, kw_only=True):
    """One stage; `fill` and `patch_fill` are shares of the budgets of all its rows, `budget` is in tokens."""

    name: str
    context: int
    patch_budget: int
    budget: int
    tokens: int
    patches: int
    first_step: int
    steps: int
    rows_a_step: int
    rows: int
    fill: float
    patch_fill: float
    half_empty_rows: int
    windows: int
    documents: int
    pieces: int
    cut: int
    skipped: dict[str, int]
    lr_first: float
    lr_last: float
    mixture: dict[str, MixtureFacts]


class CorpusReport(Strict, frozen=True, kw_only=True):
    """One corpus: what it has on both sides, and how often the run reads its training tokens."""

    path: str
    records: int
    tokens: int
    patches: int
    train_records: int
    train_tokens: int
    held_out_records: int
    held_out_tokens: int
    twins_left_out: int
    buckets: dict[str, int]
    used_tokens: int
    epochs: float


class Report(Strict, frozen=True, kw_only=True):
    """The whole plan; `digest` names what decides its rows."""

    digest: str
    steps: int
    tokens: int
    patches: int
    lr_peak: float
    stages: tuple[StageReport, ...]
    corpora: dict[str, CorpusReport]
    warnings: tuple[str, ...]


def report(plan: Plan) -> Report:
    """All facts of a plan."""
    stages = tuple(_stage(plan, number) for number in range(len(plan.stages)))
    corpora = {name: _corpus(plan, name) for name in plan.schedule.corpora}
    return Report(
        digest=plan.digest,
        steps=plan.steps,
        tokens=sum(stage.tokens for stage in stages),
        patches=sum(stage.patches for stage in stages),
        lr_peak=plan.schedule.lr.peak,
        stages=stages,
        corpora=corpora,
        warnings=tuple(_warnings(plan, stages, corpora)),
    )


def _stage(plan: Plan, number: int) -> StageReport:
    rules, facts = plan.schedule.stages[number], plan.stages[number]
    first = plan.first_step(number)
    mixture = {
        corpus: MixtureFacts(
            wanted=share,
            got=facts.taken[corpus] / facts.tokens,
            tokens=facts.taken[corpus],
            epochs=facts.taken[corpus] / plan.train_tokens(corpus),
        )
        for corpus, share in rules.shares.items()
    }
    return StageReport(
        name=rules.name,
        context=rules.context,
        patch_budget=rules.patch_budget,
        budget=rules.tokens,
        tokens=facts.tokens,
        patches=facts.patches,
        first_step=first,
        steps=facts.steps,
        rows_a_step=rules.rows,
        rows=facts.rows,
        fill=facts.tokens / (facts.rows * rules.context),
        patch_fill=facts.patches / max(1, facts.rows * rules.patch_budget),
        half_empty_rows=facts.half_empty,
        windows=len(facts.windows),
        documents=facts.documents,
        pieces=facts.pieces,
        cut=facts.cut,
        skipped=facts.skipped,
        lr_first=plan.lr(first),
        lr_last=plan.lr(first + facts.steps - 1),
        mixture=mixture,
    )


def _corpus(plan: Plan, name: str) -> CorpusReport:
    catalogue, side = plan.catalogues[name], plan.sides[name]
    return CorpusReport(
        path=plan.schedule.corpora[name].path,
        records=len(catalogue),
        tokens=int(catalogue.tokens.sum()),
        patches=int(catalogue.patches.sum()),
        train_records=len(side.train),
        train_tokens=plan.train_tokens(name),
        held_out_records=len(side.held_out),
        held_out_tokens=int(catalogue.tokens[side.held_out].sum()),
        twins_left_out=len(side.twins),
        buckets={b: int((catalogue.bucket == i).sum()) for i, b in enumerate(catalogue.buckets)},
        used_tokens=sum(facts.taken.get(name, 0) for facts in plan.stages),
        epochs=plan.epochs(name),
    )


def _warnings(plan: Plan, stages: tuple[StageReport, ...], corpora: dict[str, CorpusReport]) -> list[str]:
    found = []
    for stage in stages:
        if stage.fill < FILL_WANTED:
            found.append(
                f"stage {stage.name}: rows are {stage.fill:.1%} full, below {FILL_WANTED:.0%}; a longer window, more "
                "tokens or a larger patch budget fill them better"
            )
        if stage.skipped:
            reasons = ", ".join(f"{count} {reason}" for reason, count in sorted(stage.skipped.items()))
            found.append(f"stage {stage.name}: documents that do not fit its rows are skipped, never cut: {reasons}")
    for name, corpus in corpora.items():
        if corpus.epochs > EPOCHS_WANTED:
            found.append(f"corpus {name}: read {corpus.epochs:.1f} times; more than {EPOCHS_WANTED:g} adds little")
        if plan.schedule.held_out.fraction and not corpus.held_out_records:
            found.append(f"corpus {name}: no cluster is held out; raise held_out.fraction or change its salt")
    return found
