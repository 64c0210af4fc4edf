"""What a build would do, without doing it: its jobs, its inputs, and estimates from a few items of each source.

Odd: nothing is written. The sample runs through the first per-item stages in this process, so it also shows that their
libraries and models are there; what stands behind the first shuffle is estimated as if it kept everything.
"""

import time
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path
from typing import Any

import msgspec

from trivium.data.config import digest
from trivium.data.stage import Draft, Drop, Outcome, ShuffleConfig, Stage, size_of
from trivium.pipelines.corpora.causes import Causes
from trivium.pipelines.corpora.driver import Segment, cut
from trivium.pipelines.corpora.dry_time import seconds_of, start_of
from trivium.pipelines.corpora.extent import Extent, check_earlier
from trivium.pipelines.corpora.marks import Input, source_input
from trivium.pipelines.corpora.output import BUILD, Owner, refuse_foreign, refuse_inside
from trivium.pipelines.corpora.part import ALL as WHOLE
from trivium.pipelines.corpora.places import Places, list_places
from trivium.pipelines.corpora.recipe import Recipe
from trivium.pipelines.corpora.report.meter import Clock
from trivium.pipelines.corpora.sources import READ, Place, Source
from trivium.pipelines.corpora.sources.jsonl import Jsonl
from trivium.pipelines.corpora.sources.streams import coding_of

SAMPLE, EACH, ALL = 24, 8, 96  # places of a source that are looked into; items of one, and of one that stands alone
LONGEST_S = 20.0  # of a source: stages that draw take seconds an item
KEPT = "/kept"  # beside reasons, which have no slash
_REFERENCE, _KEY = 220, 42  # bytes of a reference beside its names; of a key with the id behind it


@dataclass(slots=True)
class _Sample:
    """Sums over the sampled items of one source; `place_bytes` on disk of the places that were read to their end."""

    items: int = 0
    kept: int = 0
    bytes: int = 0  # of items
    text: int = 0  # bytes of what was kept
    names: int = 0  # bytes of source and address of what was kept
    wall_ns: int = 0  # of all but the first item, which pays for what is loaded once; with what guarded children take
    first_ns: int = 0
    share: float = 0.0  # places looked into, each as far as it was read
    places: int = 0  # looked into
    lost: list[Drop] = field(default_factory=list)
    exact: bool = True  # whether `share` is known of every place; else the whole is at least what it says
    stages: dict[str, Counter[str]] = field(default_factory=dict)  # in, kept, and each reason by stage


def survey(recipe: Recipe, base: Path, out: Path, extent: Extent, workers: int) -> dict[str, Any]:
    """The facts of a dry run, as plain data. Raises InputError and UsageError where the build would."""
    for source in recipe.sources:
        source.check(base)
        refuse_inside(out, f"source {source.name!r}", source.reads(base))
    for name, stage in zip(recipe.stage_names()[1:], recipe.stages, strict=True):
        stage.check(name, base)
    extent.check(recipe, out)
    check_earlier(recipe, base, extent.limit)
    refuse_foreign(out.absolute(), recipe.corpus)
    places = list_places(recipe, base, extent.limit)
    inputs = {
        source.name: source_input(source, base, (part.place for part in places.parts[source.name]))
        for source in recipe.sources
    }
    segments = cut(recipe, (), extent.until)
    samples, shuffled = _sampled(recipe, base, places, extent)
    sources = [_source(source, inputs[source.name], places, samples[source.name], extent) for source in recipe.sources]
    items = _sum(sources, "items")
    kept = _sum(sources, "records")
    work = sum(source["seconds"] or 0.0 for source in sources)
    jobs, start = start_of(segments, kept, workers, write=extent.until is None)
    return {
        "dry_run": True,
        "corpus": recipe.corpus,
        "recipe": digest(recipe),
        "limit": extent.limit,
        "until": extent.until,
        "jobs": _jobs(recipe, segments, extent),
        "sources": sources,
        "items": items,
        "records": kept,
        "at_least": any(source["at_least"] for source in sources),
        "funnel": _funnel(segments[0], list(samples.values())),
        "shuffles": [_shuffle(name, keys, samples, kept) for name, keys in shuffled.items()],
        "work_seconds": work,
        "beam_jobs": jobs,
        "seconds": seconds_of(out, recipe.corpus, items, work, workers, jobs, start),
        "untimed": [name for segment in segments[1:] for name in segment.item_names],
        "nothing_left": _nothing_left(samples.values()),
        "earlier": _earlier(out),
    }


def _funnel(first: Segment, samples: Iterable[_Sample]) -> list[dict[str, Any]]:
    """What the stages up to the first shuffle did with the sample; what stands behind it needs the whole corpus."""
    rows = []
    for name in (READ, *first.item_names):
        counts: Counter[str] = Counter()
        for sample in samples:
            counts += sample.stages.get(name, Counter())
        kept = counts.pop(KEPT, 0)
        reasons = [{"reason": reason, "count": count} for reason, count in counts.most_common()]
        rows.append({"name": name, "in": kept + counts.total(), "kept": kept, "reasons": reasons})
    return rows


def _nothing_left(samples: Iterable[_Sample]) -> str | None:
    """Why, and what to do, where everything that the sample holds was refused."""
    causes = Causes(drop for sample in samples for drop in sample.lost)
    kept = sum(sample.kept for sample in samples)
    return None if kept or not causes.total() else f"{causes.why()}. What to do: {causes.cure()}"


def _jobs(recipe: Recipe, segments: list[Any], extent: Extent) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = []
    for number, segment in enumerate(segments):
        if segment.items:
            names = (READ, *segment.item_names) if number == 0 else segment.item_names
            found.append({"job": " → ".join(names), "kind": "items"})
        found += [{"job": name, "kind": "shuffle"} for name in segment.shuffle_names]
    if extent.until is None:
        found.append({"job": "write", "kind": "shards"})
    return found


def _sampled(
    recipe: Recipe, base: Path, places: Places, extent: Extent
) -> tuple[dict[str, _Sample], dict[str, tuple[int, int]]]:
    """By source what a few of its items gave, and by shuffle the keys of how many kept texts."""
    segments = cut(recipe, (), extent.until)
    first = segments[0]
    stages = [config.located(base).build() for config in first.items]
    shuffles = [
        (name, stage)
        for segment in segments
        for name, stage in zip(segment.shuffle_names, segment.shuffles, strict=True)
    ]
    keys = dict.fromkeys((name for name, _ in shuffles), 0)
    samples: dict[str, _Sample] = {}
    texts = 0
    opened: list[Stage] = []
    try:
        for stage in stages:
            stage.open()
            opened.append(stage)
        for source in recipe.sources:
            sample = samples[source.name] = _Sample()
            for draft in _drafts(source, recipe, places, stages, first, sample, extent.limit):
                texts += 1
                for name, config in shuffles:
                    keys[name] += _keys(config, draft.document.text)
    finally:
        for stage in opened:
            stage.close()
    return samples, {name: (count, texts) for name, count in keys.items()}


def _keys(config: ShuffleConfig, text: str) -> int:
    """How many keys a text brings into a shuffle: one, one a band, or one a line."""
    return int(getattr(config, "bands", 1))


def _drafts(
    source: Source, recipe: Recipe, places: Places, stages: list[Stage], segment: Segment, sample: _Sample,
    limit: int | None,
) -> Iterator[Draft]:  # fmt: skip
    from trivium.pipelines.corpora.items import passes, run_stage

    def walk(outcome: Outcome, depth: int) -> Iterator[Draft]:
        name = READ if depth == 0 else segment.item_names[depth - 1]
        counts = sample.stages.setdefault(name, Counter())
        if isinstance(outcome, Drop):
            counts[outcome.reason] += 1
            sample.lost.append(outcome)
            return
        counts[KEPT] += 1
        if depth == len(stages):
            if isinstance(outcome, Draft):
                yield outcome
            return
        left = passes(segment.items[depth], outcome, source)
        results = [outcome] if left else run_stage(stages[depth], segment.item_names[depth], outcome)
        for result in results:
            yield from walk(result, depth + 1)

    parts = places.parts[source.name]
    step = max(1, len(parts) // SAMPLE)
    each = max(EACH, ALL // max(1, len(parts)))
    began, enough = time.monotonic(), False
    for part in parts[::step][:SAMPLE]:
        if enough:
            return
        read, begins = 0, 0
        for outcome, item in islice(_outcomes(source, part.place, recipe), each):
            read, begins = read + 1, _begins(source, outcome, item)
            clock = Clock()
            sample.items += 1
            sample.bytes += 0 if isinstance(outcome, Drop) else size_of(outcome)
            kept = list(walk(outcome, 0))
            took = clock.stop().wall_ns
            if sample.items == 1:
                sample.first_ns = took
            else:
                sample.wall_ns += took
            sample.kept += len(kept)
            for draft in kept:
                sample.text += size_of(draft)
                sample.names += len(draft.document.meta.source) + len(draft.document.meta.address)
                yield draft
            enough = sample.items == limit or time.monotonic() - began > LONGEST_S
            if enough:
                break
        share = 1.0 if read < each and not enough else _share(part.place, begins, read)
        sample.exact = sample.exact and share > 0
        sample.share += share or 1.0
        sample.places += 1


def _outcomes(source: Source, place: Place, recipe: Recipe) -> Iterator[tuple[Outcome, Place]]:
    """What a place gives, each with the item that gave it."""
    for item in source.split(place):
        if isinstance(item, Drop):
            yield item, place
        else:
            for outcome in source.read(item, recipe.corpus, recipe.domain):
                yield outcome, item


def _begins(source: Source, outcome: Outcome, item: Place) -> int:
    """The byte at which a record begins in its file; 0 or less where it is not known, as in packed files."""
    if isinstance(source, Jsonl) and not coding_of(item.path):
        byte = _address(outcome).rpartition("@")[2]
        return int(byte) if byte.isdecimal() else 0
    return item.offset


def _address(outcome: Outcome) -> str:
    """The address of a record, read or refused."""
    return outcome.document.meta.address if isinstance(outcome, Draft) else outcome.address


def _share(place: Place, begins: int, read: int) -> float:
    """How much of a place was read, by where its last item of `read` begins; 0 = not known."""
    try:
        size = Path(place.path).stat().st_size
    except OSError:
        return 0.0
    return min(1.0, begins * read / (read - 1) / size) if begins > 0 and read > 1 and size else 0.0


def _source(source: Source, found: Input, places: Places, sample: _Sample, extent: Extent) -> dict[str, Any]:
    parts = places.parts[source.name]
    items: int | None = round(sample.items / sample.share * len(parts)) if sample.share else None
    exact = sample.exact
    if extent.limit is not None:
        reached = bool(parts) and parts[-1].records != WHOLE  # of a packed file, a part may be one item of many records
        items = extent.limit if reached else min(extent.limit, max(items or 0, sum(part.items for part in parts)))
        exact = exact or reached
    scale = items / sample.items if items is not None and sample.items else None
    return {
        "name": source.name,
        "kind": str(source.__struct_config__.tag),
        "places": len(parts),
        "files": found.files,
        "bytes": found.bytes,
        "sampled": sample.items,
        "at_least": not exact,
        "items": items,
        "records": None if scale is None else round(sample.kept * scale),
        "text_bytes": None if scale is None else round(sample.text * scale),
        "seconds": None if items is None or not sample.items else _seconds(sample, items),
    }


def _seconds(sample: _Sample, items: int) -> float:
    """Of all items by those of the sample: the first as it was, each other one as the mean of the others."""
    others = sample.items - 1
    each = sample.wall_ns / others if others else sample.first_ns
    return (sample.first_ns + each * max(0, items - 1)) / 1e9


def _shuffle(name: str, keys: tuple[int, int], samples: dict[str, _Sample], records: int | None) -> dict[str, Any]:
    count, texts = keys
    each = count / texts if texts else 1.0
    named = sum(sample.names for sample in samples.values()) / texts if texts else 0.0
    if records is None:
        return {"stage": name, "elements": None, "bytes": None}
    elements = round(records * each)
    return {"stage": name, "elements": elements, "bytes": round(records * (_REFERENCE + named) + elements * _KEY)}


def _earlier(out: Path) -> dict[str, Any] | None:
    """An earlier run that stopped in `out`, and how many of its jobs are done."""
    try:
        owner = msgspec.json.decode((out / BUILD / "owner.json").read_bytes(), type=Owner)
    except (OSError, msgspec.DecodeError):
        return None
    return {"recipe": owner.recipe, "jobs": len(list((out / BUILD / "done").glob("*.json")))}


def _sum(rows: list[dict[str, Any]], key: str) -> int | None:
    """The sum of what is known of every source; None when one is not known."""
    values = [row[key] for row in rows]
    return None if any(value is None for value in values) else sum(values)
