"""Runs a recipe: cut at its shuffles into Beam jobs that are joined by files below OUT/.build, then shards.

    read → per-item stages → [exact_dedup | near_dedup] → per-item stages → … → plan → write → swap

Odd: the jobs of one build share nothing but files, so memory stays that of the largest single job; and nothing that a
job writes depends on worker count or order, so the shards of a recipe and its inputs are the same bytes everywhere.
"""

import hashlib
import random
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path

import msgspec

from trivium.data.config import digest, to_mapping
from trivium.data.dedup.exact import ExactDedup
from trivium.data.dedup.near import NearDedup
from trivium.data.shards import FunnelStage, Manifest, tally, write_manifest, write_rejects
from trivium.data.stage import Drop, StageConfig
from trivium.errors import BuildError, InputError
from trivium.pipelines.beam import BeamOptions, run_job
from trivium.pipelines.corpora.output import claimed, refuse_inside, swap
from trivium.pipelines.corpora.recipe import Recipe
from trivium.pipelines.corpora.sources import READ, Source
from trivium.pipelines.corpora.spool import decode_ref, lines_of

SMALL = 50_000  # references that a shuffle handles faster in this process than in workers started for it
IN_FLIGHT = 2_000_000  # band keys of one shuffle
MAX_ROUNDS = 50
MIN_SOURCE = 10  # records below which a source's loss says nothing

Progress = Callable[[str, int, int | None], None]  # (stage, done, total or unknown)


class Segment(msgspec.Struct, frozen=True, kw_only=True):
    """Per-item stages and the shuffles after them; `names` run over both."""

    items: tuple[StageConfig, ...]
    shuffles: tuple[ExactDedup | NearDedup, ...]
    item_names: tuple[str, ...]
    shuffle_names: tuple[str, ...]


def cut(recipe: Recipe) -> list[Segment]:
    """The recipe's stages, cut after each run of shuffles."""
    segments: list[Segment] = []
    items: list[tuple[str, StageConfig]] = []
    shuffles: list[tuple[str, ExactDedup | NearDedup]] = []

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
        if isinstance(stage, ExactDedup | NearDedup):
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
        driver = _Driver(recipe, folder, options, progress)
        manifest = driver.run(places)
        swap(driver.new, out)
    return manifest


def _places(source: Source, base: Path) -> list[bytes]:
    try:
        return [msgspec.json.encode((source.name, place)) for place in source.places(base)]
    except InputError as error:
        raise InputError(f"source {source.name!r}: {error}") from None


class _Driver:
    def __init__(self, recipe: Recipe, folder: Path, options: BeamOptions, progress: Progress) -> None:
        self.recipe, self.folder, self.options, self.progress = recipe, folder, options, progress
        self.new = folder / "set"
        self.counts: Counter[str] = Counter()
        self.drops: Counter[tuple[str, str]] = Counter()
        self.jobs: list[Path] = []
        self.refs: Path | None = None  # folder of the current references
        self.size = 0  # how many there are

    def run(self, places: list[bytes]) -> Manifest:
        (self.folder / "tally").mkdir()
        first = self.folder / "places.jsonl"
        first.write_bytes(b"\n".join(places) + b"\n")
        whole = all(type(source).split is Source.split for source in self.recipe.sources)
        inputs, total = [first], len(places) if whole else None  # an archive's records are not known yet
        for segment in cut(self.recipe):
            if segment.items:
                self._items(segment, inputs, total)
            for name, stage in zip(segment.shuffle_names, segment.shuffles, strict=True):
                self._shuffle(name, stage)
            inputs, total = self._ref_files(), self.size
        return self._write()

    def _items(self, segment: Segment, inputs: list[Path], total: int | None) -> None:
        from trivium.pipelines.corpora.items import ItemGraph, ItemJob

        name = segment.item_names[0]
        folder = self._job_folder(name)
        near = next((stage for stage in segment.shuffles if isinstance(stage, NearDedup)), None)
        job = ItemJob(
            build=str(self.folder),
            folder=folder.name,
            corpus=self.recipe.corpus,
            domain=self.recipe.domain,
            sources={source.name: source for source in self.recipe.sources},
            stages=segment.items,
            names=segment.item_names,
            near=near,
            scores=tuple(sorted({stage.quality for stage in segment.shuffles if stage.quality})),
        )
        graph = ItemGraph(job, inputs, from_refs=self.refs is not None)
        label = " → ".join((READ, *segment.item_names) if self.refs is None else segment.item_names)
        self._run(label, graph, folder, total=total, small=False)
        self._settle(folder, segment.item_names[-1])
        self._check_budget()

    def _shuffle(self, name: str, stage: ExactDedup | NearDedup) -> None:
        from trivium.pipelines.corpora.shuffles import ExactGraph, NearGraph

        before = self._sources()
        refs = self._ref_files()
        folder = self._job_folder(name)
        if isinstance(stage, ExactDedup):
            self._run(name, ExactGraph(stage, name, self.folder, refs, folder), folder, total=self.size)
        else:
            edges = self._components(name, stage, refs)
            graph = NearGraph(stage, name, self.folder, (refs, edges), folder)
            self._run(name, graph, folder, total=self.size)
        self._settle(folder, name)
        self._check_losses(name, stage, folder, before)

    def _components(self, name: str, near: NearDedup, refs: list[Path]) -> list[Path]:
        """Files of star edges, each node joined to the smallest id of its component."""
        from trivium.pipelines.corpora.shuffles import PairGraph, StarGraph, VerifyGraph

        folder = self._job_folder(f"{name}-pairs")
        parts = -(-self.size * near.bands // IN_FLIGHT) or 1
        for part in range(parts):
            self._run(f"{name}: candidates", PairGraph(near, refs, folder, part, parts), folder, total=self.size)
        edges = self._job_folder(f"{name}-edges")
        graph = VerifyGraph(near, self.folder, (refs, sorted(folder.glob("pairs-*"))), edges)
        self._run(f"{name}: verify", graph, edges, total=self.size)
        mark = _mark(edges)
        for number in range(1, MAX_ROUNDS + 1):
            if mark[0] == 0:
                break
            following = self._job_folder(f"{name}-stars-{number}")
            graph = StarGraph(sorted(edges.glob("edges-*")), following)
            self._run(f"{name}: components {number}", graph, following, total=self.size)
            before, mark, edges = mark, _mark(following), following
            if mark == before:
                break
        else:
            raise BuildError(
                f"{name}: components did not settle in {MAX_ROUNDS} rounds; raise `threshold` in the recipe"
            )
        return sorted(edges.glob("edges-*"))

    def _write(self) -> Manifest:
        from trivium.pipelines.corpora.writing import WRITTEN, WriteGraph, infos, plan

        if self.refs is None or self.size == 0:
            raise BuildError(f"no record is left of {self.counts[f'{READ}/in']:,} read: {self._worst()}")
        shards = self.new / "shards"
        target = self.recipe.shards.target_bytes
        tasks = plan(self.refs, self.folder / "plan", shards, self.recipe.corpus, target)
        folder = self._job_folder("write")
        graph = WriteGraph(self.folder, tasks, folder, digest(self.recipe))
        self._run("write", graph, folder, total=self.size)
        written = infos(folder)
        if self.counts[WRITTEN] != self.size or sum(info.records for info in written) != self.size:
            raise BuildError(f"{self.counts[WRITTEN]:,} of {self.size:,} records were written; run the build again")
        licences, languages = tally(self.new, written)
        rejects = self._write_rejects()
        manifest = Manifest(
            corpus=self.recipe.corpus,
            domain=self.recipe.domain,
            recipe=digest(self.recipe),
            resolved=to_mapping(self.recipe),
            shards=written,
            licences=licences,
            languages=languages,
            funnel=self._funnel(),
            rejects=rejects,
        )
        write_manifest(self.new, manifest)
        return manifest

    def _run(
        self, label: str, graph: Callable, folder: Path, *, total: int | None = None, small: bool | None = None
    ) -> None:
        """One Beam job; adds its counters."""
        for path in (self.folder / "tally").iterdir():
            path.unlink()
        small = self.size < SMALL if small is None else small
        options = self.options.in_process() if small else self.options

        def tick() -> None:
            self.progress(label, _done(self.folder / "tally"), total)

        folder.mkdir(exist_ok=True)
        tick()
        self.counts.update(run_job(label, graph, options, logs=self.folder / "logs", tick=tick))
        done = total if total is not None else _done(self.folder / "tally")
        self.progress(label, done, done)

    def _job_folder(self, name: str) -> Path:
        folder = self.folder / f"{len(self.jobs):02d}-{name}"
        self.jobs.append(folder)
        return folder

    def _ref_files(self) -> list[Path]:
        return sorted(self.refs.glob("refs-*")) if self.refs is not None else []

    def _settle(self, folder: Path, last: str) -> None:
        """Takes the job's references and drops as the current state; Beam's counters must say the same."""
        self.refs = folder
        self.size = sum(1 for _ in lines_of(folder, "refs"))
        found = Counter((drop.stage, drop.reason) for drop in _drops(folder))
        self.drops.update(found)
        counted = {key: self.counts[f"{key[0]}/drop/{key[1]}"] for key in found}
        kept = self.counts[f"{last}/kept"]
        if counted != dict(found) or kept != self.size:
            raise BuildError(
                f"{last}: Beam's counters ({kept:,} kept, {sum(counted.values()):,} dropped) and the files "
                f"({self.size:,} kept, {found.total():,} dropped) differ; this runner loses or repeats "
                "records: name another"
            )

    def _check_budget(self) -> None:
        """Raises BuildError when crashed and damaged items pass the recipe's share of all items read."""
        total = self.counts[f"{READ}/in"]
        errors = [drop for job in self.jobs for drop in _drops(job) if drop.error]
        if len(errors) > self.recipe.error_budget * total:
            worst = Counter((drop.stage, drop.reason) for drop in errors).most_common(3)
            samples = {(drop.stage, drop.reason): f"{drop.address}: {drop.detail}" for drop in errors}
            listed = "; ".join(
                f"{stage}: {reason} {n:,}, such as {samples[stage, reason]}" for (stage, reason), n in worst
            )
            raise BuildError(
                f"{len(errors):,} of {total:,} items failed, the recipe's error_budget of {self.recipe.error_budget:g} "
                f"allows {int(self.recipe.error_budget * total):,}. Worst: {listed}. All: {self.folder}/*/drops-*"
            )

    def _sources(self) -> Counter[str]:
        return Counter(decode_ref(line).source for line in lines_of(self.refs, "refs")) if self.refs else Counter()

    def _check_losses(self, name: str, stage: ExactDedup | NearDedup, folder: Path, before: Counter[str]) -> None:
        """Raises BuildError when dedup takes too much of one source or finds a cluster that is too large."""
        lost = Counter(drop.source for drop in _drops(folder))
        for source, gone in sorted(lost.items()):
            if before[source] >= MIN_SOURCE and gone > stage.max_source_loss * before[source]:
                raise BuildError(
                    f"{name} would drop {gone:,} of {before[source]:,} records of source {source!r}, more than "
                    f"max_source_loss {stage.max_source_loss:g}; look at {folder}/drops-*, then mend the sources or "
                    "raise max_source_loss"
                )
        if isinstance(stage, NearDedup):
            sizes = Counter(drop.survivor for drop in _drops(folder))
            for survivor, gone in sizes.most_common(1):
                if gone + 1 > stage.max_cluster:
                    raise BuildError(
                        f"{name}: {gone + 1:,} records form one cluster around {survivor}, more than max_cluster "
                        f"{stage.max_cluster:,}; texts made from one template look like this: raise `threshold`, or "
                        "max_cluster when they are true duplicates"
                    )

    def _write_rejects(self) -> int:
        by_stage: dict[str, list[Drop]] = {}
        for job in self.jobs:
            for drop in _drops(job):
                by_stage.setdefault(drop.stage, []).append(drop)
        return sum(write_rejects(self.new, name, drops) for name, drops in sorted(by_stage.items()))

    def _funnel(self) -> tuple[FunnelStage, ...]:
        return tuple(
            FunnelStage(
                name=name,
                input=self.counts[f"{name}/in"],
                kept=self.counts[f"{name}/kept"],
                dropped={reason: n for (stage, reason), n in sorted(self.drops.items()) if stage == name},
            )
            for name in self.recipe.stage_names()
        )

    def _worst(self) -> str:
        return ", ".join(f"{stage}: {reason} {n:,}" for (stage, reason), n in self.drops.most_common(4)) or "no item"


def _drops(folder: Path) -> Iterator[Drop]:
    for line in lines_of(folder, "drops"):
        yield msgspec.json.decode(line, type=Drop)


def _mark(folder: Path) -> tuple[int, int]:
    """Number of edges and the sum of their hashes: equal for equal sets, whatever their order."""
    count = total = 0
    for line in lines_of(folder, "edges"):
        count += 1
        total += int.from_bytes(hashlib.blake2b(line, digest_size=16).digest(), "big")
    return count, total


def _done(folder: Path) -> int:
    total = 0
    for path in folder.iterdir():
        try:
            total += int(path.read_text() or 0)
        except (OSError, ValueError):
            continue
    return total
