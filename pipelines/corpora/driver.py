"""Runs a recipe: cut at its shuffles into Beam jobs that are joined by files below OUT/.build, then shards.

    read → per-item stages → shuffles → per-item stages → … → plan → write → swap

Odd: the jobs of one build share nothing but files, so memory stays that of the largest single job; and nothing that a
job writes depends on worker count or order, so the shards of a recipe and its inputs are the same bytes everywhere. The
driver knows no stage by name: what a shuffle does stands in shuffles/, one file a kind.
"""

import random
from pathlib import Path

import msgspec

from trivium.data.config import digest, to_mapping
from trivium.data.shards import FunnelStage, Manifest, tally, write_manifest, write_rejects
from trivium.data.stage import Drop, ShuffleConfig, StageConfig
from trivium.errors import BuildError, InputError
from trivium.pipelines.beam import BeamOptions
from trivium.pipelines.corpora.output import claimed, refuse_inside, swap
from trivium.pipelines.corpora.recipe import Recipe
from trivium.pipelines.corpora.sources import READ, Source
from trivium.pipelines.corpora.work import Progress, Work, drops_of


class Segment(msgspec.Struct, frozen=True, kw_only=True):
    """Per-item stages and the shuffles after them; `names` run over both."""

    items: tuple[StageConfig, ...]
    shuffles: tuple[ShuffleConfig, ...]
    item_names: tuple[str, ...]
    shuffle_names: tuple[str, ...]


def cut(recipe: Recipe) -> list[Segment]:
    """The recipe's stages, cut after each run of shuffles."""
    segments: list[Segment] = []
    items: list[tuple[str, StageConfig]] = []
    shuffles: list[tuple[str, ShuffleConfig]] = []

    def close() -> None:
        segments.append(
            Segment(
                items=tuple(stage for _, stage in items),
                shuffles=tuple(stage for _, stage in shuffles),
                item_names=tuple(name for name, _ in items),
                shuffle_names=tuple(name for name, _ in shuffles),
            )
        )

    for name, stage in zip(recipe.stage_names()[1:], recipe.stages, strict=True):
        if isinstance(stage, ShuffleConfig):
            shuffles.append((name, stage))
            continue
        if shuffles:
            close()
            items, shuffles = [], []
        items.append((name, stage))
    close()
    return segments


def _silent(stage: str, done: int, total: int | None) -> None:
    pass


def build(
    recipe: Recipe,
    base: Path,
    out: Path,
    options: BeamOptions,
    *,
    progress: Progress = _silent,
    shuffle_seed: int | None = None,
) -> Manifest:
    """Builds the corpus into `out` and returns its manifest; `base` is the folder of the recipe's relative paths.

    `shuffle_seed` reads the inputs in a shuffled order, which must not change a byte. Raises InputError (an input is
    missing), UsageError (`out` is not ours, or lies in an input), BuildError (a job failed, a limit was passed).
    """
    for source in recipe.sources:
        source.check(base)
        refuse_inside(out, f"source {source.name!r}", source.reads(base))
    places = [line for source in recipe.sources for line in _places(source, base)]
    if shuffle_seed is not None:
        random.Random(shuffle_seed).shuffle(places)
    out = out.absolute()
    with claimed(out, recipe.corpus, digest(recipe)) as folder:
        work = Work(recipe, base, folder, options, progress)
        _run(work, places)
        manifest = _write(work, folder / "set")
        swap(folder / "set", out)
    return manifest


def _places(source: Source, base: Path) -> list[bytes]:
    try:
        return [msgspec.json.encode((source.name, place)) for place in source.places(base)]
    except InputError as error:
        raise InputError(f"source {source.name!r}: {error}") from None


def _run(work: Work, places: list[bytes]) -> None:
    """Everything up to the references of what the recipe keeps."""
    from trivium.pipelines.corpora.shuffles import RUNS

    first = work.folder / "places.jsonl"
    first.write_bytes(b"\n".join(places) + b"\n")
    whole = all(type(source).split is Source.split for source in work.recipe.sources)
    inputs, total = [first], len(places) if whole else None  # an archive's records are not known yet
    for segment in cut(work.recipe):
        if segment.items:
            _items(work, segment, inputs, total)
        for name, stage in zip(segment.shuffle_names, segment.shuffles, strict=True):
            RUNS[type(stage)](work, name, stage)
        inputs, total = work.refs(), work.size


def _items(work: Work, segment: Segment, inputs: list[Path], total: int | None) -> None:
    from trivium.pipelines.corpora.items import ItemGraph, ItemJob

    name = segment.item_names[0]
    folder = work.job_folder(name)
    job = ItemJob(
        build=str(work.folder),
        folder=folder.name,
        corpus=work.recipe.corpus,
        domain=work.recipe.domain,
        sources={source.name: source for source in work.recipe.sources},
        stages=segment.items,
        names=segment.item_names,
        scores=tuple(sorted({score for stage in segment.shuffles for score in stage.compared})),
    )
    began = work.state is None
    label = " → ".join((READ, *segment.item_names) if began else segment.item_names)
    work.run(label, ItemGraph(job, inputs, from_refs=not began), folder, total=total, small=False)
    work.settle(folder, segment.item_names[-1])
    work.check_budget()


def _write(work: Work, new: Path) -> Manifest:
    """The shards, rejects and manifest of the current references, in the folder `new`."""
    from trivium.pipelines.corpora.writing import WRITTEN, WriteGraph, infos, plan

    if work.state is None or work.size == 0:
        raise BuildError(f"no record is left of {work.counts[f'{READ}/in']:,} read: {_worst(work)}")
    target = work.recipe.shards.target_bytes
    tasks = plan(work.state, work.folder / "plan", new / "shards", work.recipe.corpus, target)
    folder = work.job_folder("write")
    graph = WriteGraph(work.folder, tasks, folder, digest(work.recipe))
    work.run("write", graph, folder, total=work.size)
    written = infos(folder)
    if work.counts[WRITTEN] != work.size or sum(info.records for info in written) != work.size:
        raise BuildError(f"{work.counts[WRITTEN]:,} of {work.size:,} records were written; run the build again")
    licences, languages = tally(new, written)
    manifest = Manifest(
        corpus=work.recipe.corpus,
        domain=work.recipe.domain,
        recipe=digest(work.recipe),
        resolved=to_mapping(work.recipe),
        shards=written,
        licences=licences,
        languages=languages,
        funnel=_funnel(work),
        rejects=_write_rejects(work, new),
    )
    write_manifest(new, manifest)
    return manifest


def _write_rejects(work: Work, new: Path) -> int:
    by_stage: dict[str, list[Drop]] = {}
    for job in work.jobs:
        for drop in drops_of(job):
            by_stage.setdefault(drop.stage, []).append(drop)
    return sum(write_rejects(new, name, drops) for name, drops in sorted(by_stage.items()))


def _funnel(work: Work) -> tuple[FunnelStage, ...]:
    return tuple(
        FunnelStage(
            name=name,
            input=work.counts[f"{name}/in"],
            kept=work.counts[f"{name}/kept"],
            dropped={reason: n for (stage, reason), n in sorted(work.drops.items()) if stage == name},
        )
        for name in work.recipe.stage_names()
    )


def _worst(work: Work) -> str:
    return ", ".join(f"{stage}: {reason} {n:,}" for (stage, reason), n in work.drops.most_common(4)) or "no item"
