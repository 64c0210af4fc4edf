"""Runs a recipe: cut at its shuffles into Beam jobs that are joined by files below OUT/.build, then shards.

    read → per-item stages → shuffles → per-item stages → … → plan → write → swap

Odd: the jobs of one build share nothing but files, so memory stays that of the largest single job; and nothing that a
job writes depends on worker count or order, so the shards of a recipe and its inputs are the same bytes everywhere. The
driver knows no stage by name: what a shuffle does stands in shuffles/, one file a kind.
"""

import os
import shutil
import time
from collections.abc import Callable, Collection
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import msgspec

from trivium.data.config import digest, to_mapping
from trivium.data.dedup.kept import FOLDER as LEFT
from trivium.data.shards import FunnelStage, Manifest, tally, write_manifest
from trivium.data.shards.storage import write_whole
from trivium.data.stage import ShuffleConfig, StageConfig
from trivium.errors import BuildError, TriviumError
from trivium.pipelines.beam import BeamOptions
from trivium.pipelines.corpora.causes import Causes
from trivium.pipelines.corpora.extent import Extent, check_earlier, new_owner, root_key, say_earlier
from trivium.pipelines.corpora.marks import Marks
from trivium.pipelines.corpora.output import REPORT, Owner, claimed, refuse_inside, show, swap
from trivium.pipelines.corpora.part import RECORD
from trivium.pipelines.corpora.places import Places, list_places
from trivium.pipelines.corpora.recipe import Recipe
from trivium.pipelines.corpora.report.page import PAGE, write_report
from trivium.pipelines.corpora.report.sample import write_sample
from trivium.pipelines.corpora.report.story import tell_story
from trivium.pipelines.corpora.sources import READ
from trivium.pipelines.corpora.unfinished import leave_unfinished
from trivium.pipelines.corpora.work import Progress, Work


class Segment(msgspec.Struct, frozen=True, kw_only=True):
    """Per-item stages and the shuffles after them; `names` run over both."""

    items: tuple[StageConfig, ...]
    shuffles: tuple[ShuffleConfig, ...]
    item_names: tuple[str, ...]
    shuffle_names: tuple[str, ...]


def cut(recipe: Recipe, behind: Collection[str] = (), until: str | None = None) -> list[Segment]:
    """The recipe's stages up to `until`, cut after each run of shuffles and after the stages named `behind`."""
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
        else:
            if shuffles:
                close()
                items, shuffles = [], []
            items.append((name, stage))
        if name == until:
            break
        if name in behind:
            close()
            items, shuffles = [], []
    if items or shuffles:
        close()
    return segments


@dataclass(frozen=True, kw_only=True, slots=True)
class Built:
    """What a build left: the manifest (None when it was told to stop before), the report's facts and its page."""

    manifest: Manifest | None
    facts: dict[str, Any]
    page: Path


def _silent(stage: str, done: int, total: int | None, dropped: int, thing: str) -> None:
    pass


def _untold(line: str) -> None:
    pass


_ALL = Extent()


def build(
    recipe: Recipe,
    base: Path,
    out: Path,
    options: BeamOptions,
    *,
    progress: Progress = _silent,
    shuffle_seed: int | None = None,
) -> Manifest:
    """Builds the whole corpus into `out` and returns its manifest. Raises as `run` does."""
    built = run(recipe, base, out, options, progress=progress, extent=Extent(shuffle_seed=shuffle_seed))
    if built.manifest is None:
        raise RuntimeError("a whole build has a manifest")
    return built.manifest


def run(
    recipe: Recipe,
    base: Path,
    out: Path,
    options: BeamOptions,
    *,
    progress: Progress = _silent,
    extent: Extent = _ALL,
    tell: Callable[[str], None] = _untold,
) -> Built:
    """Builds the corpus, or the part of it that `extent` says, into `out`; `base` is the folder of the recipe's paths.

    Goes on behind the last job that an earlier run into `out` finished; `tell` hears a line about it. Raises InputError
    (an input is missing), UsageError (`out` is not ours, lies in an input, or holds more than this would make; no such
    stage), BuildError (a job failed, a limit was passed). What was done before a failure is left to look at.
    """
    began = time.monotonic()
    for source in recipe.sources:
        source.check(base)
        refuse_inside(out, f"source {source.name!r}", source.reads(base))
    for name, stage in zip(recipe.stage_names()[1:], recipe.stages, strict=True):
        refuse_inside(out, f"stage {name!r}", (base / path for path in stage.paths().values()))
        stage.check(name, base)
    extent.check(recipe, out)
    check_earlier(recipe, base, extent.limit)
    places = list_places(recipe, base, extent.limit)
    out = out.absolute()
    with claimed(out, recipe.corpus, digest(recipe), fresh=extent.fresh) as claim:
        owner = new_owner(recipe, base, places, extent, claim.before)
        claim.own(owner)

        def at_new(marks: Marks) -> None:
            say_earlier(marks, claim.before, owner, tell)

        work = Work(recipe, base, claim.folder, options, progress, key=root_key(recipe, owner), at_new=at_new)
        new = claim.folder / "set"
        try:
            _run(work, places, owner, extent)
            manifest = _write(work, new, extent.limit) if extent.until is None else None
        except (TriviumError, KeyboardInterrupt) as error:
            leave_unfinished(work, owner, extent, error, out, time.monotonic() - began, tell)
            raise
        work.marks.end()
        facts = tell_story(work, owner, extent, manifest, time.monotonic() - began)
        write_report(new, facts)
        if manifest is None:
            write_sample(work, new)
            show(new, out)
            if work.size == 0:
                tell(_none_left(work))
            claim.keep = True
        else:
            swap(new, out)
    return Built(manifest=manifest, facts=facts, page=out / REPORT / PAGE)


def _run(work: Work, places: Places, owner: Owner, extent: Extent) -> None:
    """Everything up to the references of what the recipe keeps."""
    from trivium.pipelines.corpora.shuffles import RUNS

    first = work.folder / "places.jsonl"
    write_whole(first, places.lines(extent.shuffle_seed))
    inputs, total, thing = [first], places.items, places.thing
    for segment in cut(work.recipe, owner.cuts, extent.until):
        for name, stage in zip(segment.item_names, segment.items, strict=True):
            work.enter(name, stage)
        if segment.items:
            _items(work, segment, inputs, total, thing)
        for name, stage in zip(segment.shuffle_names, segment.shuffles, strict=True):
            work.enter(name, stage)
            RUNS[type(stage)](work, name, stage)
        inputs, total, thing = work.refs(), work.size, RECORD


def _items(work: Work, segment: Segment, inputs: list[Path], total: int | None, thing: str) -> None:
    from trivium.pipelines.corpora.items import ItemGraph, ItemJob

    name = segment.item_names[0]
    folder = work.job_folder(name)
    job = ItemJob(
        build=str(work.folder),
        folder=folder.name,
        corpus=work.recipe.corpus,
        domain=work.recipe.domain,
        sources={source.name: source for source in work.recipe.sources},
        stages=tuple(stage.located(work.base) for stage in segment.items),
        names=segment.item_names,
        scores=_compared(work.recipe),
    )
    work.depend(job.scores)
    began = work.state is None
    label = " → ".join((READ, *segment.item_names) if began else segment.item_names)
    work.run(label, ItemGraph(job, inputs, from_refs=not began), folder, total=total, small=False, thing=thing)
    work.settle(folder, segment.item_names[-1])
    work.check_budget()


def _compared(recipe: Recipe) -> tuple[str, ...]:
    """The scores that any shuffle of the recipe looks at."""
    shuffles = (stage for stage in recipe.stages if isinstance(stage, ShuffleConfig))
    return tuple(sorted({score for stage in shuffles for score in stage.compared}))


def _write(work: Work, new: Path, limit: int | None) -> Manifest:
    """The shards, rejects and manifest of the current references, in the folder `new`."""
    from trivium.pipelines.corpora.rejects import Rejects, take_rejects
    from trivium.pipelines.corpora.writing import WRITTEN, WriteGraph, infos, plan

    if work.state is None or work.size == 0:
        raise BuildError(_none_left(work))
    target = work.recipe.shards.target_bytes
    work.depend(digest(work.recipe))
    tasks = plan(work.state, work.folder / "plan", new / "shards", work.recipe.corpus, target)
    folder = work.job_folder("write")
    drops = [path for job in work.jobs for path in sorted(job.glob("drops-*"))]
    rejects = Rejects(drops, work.drops, folder / "rejects")
    graph = WriteGraph(work.folder, tasks, folder, rejects, recipe=digest(work.recipe), key=work.key)
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
        limit=limit,
        shards=written,
        licences=licences,
        languages=languages,
        funnel=_funnel(work),
        rejects=take_rejects(folder / "rejects", new / "rejects", work.drops.total()),
    )
    _take_left(work, new)
    write_manifest(new, manifest)
    return manifest


def _take_left(work: Work, new: Path) -> None:
    """Puts into the set what its stages leave for it; the jobs keep theirs until the set is whole."""
    shutil.rmtree(new / LEFT, ignore_errors=True)
    for name, path in work.left.items():
        (new / name).parent.mkdir(parents=True, exist_ok=True)
        try:
            os.link(path, new / name)
        except OSError:  # a file system without links
            shutil.copyfile(path, new / name)


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


def _none_left(work: Work) -> str:
    """Why a corpus holds nothing, and what to do."""
    causes = Causes(work.refused())
    if not causes.total():
        names = ", ".join(repr(source.name) for source in work.recipe.sources)
        return f"there is no record to read in the files of {names}; look at what `path` leads to, or give another"
    read = work.counts[f"{READ}/in"]
    return f"no record is left of {read:,} read. Why: {causes.why()}. What to do: {causes.cure()}"
