"""The facts of a build as plain data: what `report.json` holds, and the page is made of.

Odd: everything but the part `run` (times, memory, machine, command) is a function of recipe and inputs, so two builds
of one corpus have equal facts there, whatever ran them.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

import msgspec

from trivium.console import inline, printable
from trivium.data.config import digest, to_mapping
from trivium.data.pairs.refusals import STAGES, refusal
from trivium.data.policy import Limit
from trivium.data.shards import Manifest
from trivium.data.stage import Drop, StageConfig
from trivium.pipelines.corpora.marks import Input
from trivium.pipelines.corpora.recipe import Recipe
from trivium.pipelines.corpora.report.balance import TRAITS
from trivium.pipelines.corpora.report.histogram import Counts, bars, edge
from trivium.pipelines.corpora.report.meter import (
    MADE,
    WRITTEN,
    Amount,
    Cluster,
    Member,
    Reading,
    Refusals,
    StageReading,
)
from trivium.pipelines.corpora.sources import READ

FORMAT, VERSION = "trivium.report", 1
MOST = 2000  # characters of any text
LINE = 300  # characters of an address or a detail; foreign ones may be of any length
MOST_LIMITS = 8  # of one score


class Job(msgspec.Struct, kw_only=True):
    """One finished Beam job: seconds on the wall and of CPU, driver and workers together, whether an earlier run had
    done it, and the peak memory of its largest worker."""

    label: str
    seconds: float
    cpu_seconds: float
    workers: int
    earlier: bool = False
    peak_bytes: int = 0


@dataclass(frozen=True, kw_only=True, slots=True)
class Story:
    """What is known of a build at its end, or where it was told to stop, or `stopped` for a reason of its own.

    `counts` are items in and kept by name (`<stage>/in` …), `drops` those refused by (stage, reason), `volumes`
    bytes of text and media behind a stage that settled them, `left` by source what stands where no set is written yet,
    `run` what holds for this run alone.
    """

    recipe: Recipe
    counts: Mapping[str, int]
    drops: Mapping[tuple[str, str], int]
    volumes: Mapping[str, int]
    reading: Reading
    inputs: Mapping[str, Input]
    left: Mapping[str, Amount] = field(default_factory=dict)
    jobs: tuple[Job, ...] = ()
    manifest: Manifest | None = None
    limit: int | None = None
    until: str | None = None
    stopped: str = ""
    run: dict[str, Any] = field(default_factory=dict)


def summarize(story: Story) -> dict[str, Any]:
    """All facts, as plain data with keys in a fixed order."""
    stages = _stages(story)
    manifest, written = story.manifest, _sum(_standing(story).values())
    facts = {
        "format": FORMAT,
        "version": VERSION,
        "corpus": story.recipe.corpus,
        "domain": story.recipe.domain,
        "recipe": digest(story.recipe),
        "complete": manifest is not None and story.limit is None,
        "limit": story.limit,
        "until": story.until,
        "totals": {
            "items": story.counts.get(f"{READ}/in", 0),
            "records": _records(stages) if manifest is None else manifest.records,
            "characters": written.characters,
            "bytes": written.bytes,
            "rejects": sum(stage["dropped"] for stage in stages),
            "shards": 0 if manifest is None else len(manifest.shards),
            "shard_bytes": 0 if manifest is None else sum(shard.bytes for shard in manifest.shards),
        },
        "stages": stages,
        "sources": [_source(story, source) for source in story.recipe.sources],
        "licences": {} if manifest is None else manifest.licences,
        "languages": _languages(story.reading),
        "lengths": {unit: _drawn(story.reading.lengths, unit) for unit in ("characters", "words")},
        "scores": _scores(story),
        "dedup": _dedup(story, stages),
        "resolved": to_mapping(story.recipe),
        "run": {**story.run, **_times(story, stages)},
    }
    facts |= {"balance": _balance(story.reading)} if story.reading.balance else {}
    facts["run"] |= {"engines": dict(sorted(story.reading.engines.items()))} if story.reading.engines else {}
    facts |= {"stopped": story.stopped} if story.stopped else {}
    return {name: value if name == "resolved" else _harmless(value) for name, value in facts.items()}


def _records(stages: list[dict[str, Any]]) -> int:
    """What the last stage kept; 0 where nothing was read, and so no stage ran."""
    return int(stages[-1]["kept"]) if stages else 0


def _harmless(value: Any) -> Any:
    """Plain data in which no text is long, or holds what a terminal or a line of text would obey."""
    if isinstance(value, str):
        return printable(value[:MOST])
    if isinstance(value, dict):
        return {_harmless(key): _harmless(one) for key, one in value.items()}
    return [_harmless(one) for one in value] if isinstance(value, list | tuple) else value


def _stages(story: Story) -> list[dict[str, Any]]:
    kinds = {READ: READ, **{name: _kind(config) for name, config in _configs(story.recipe).items()}}
    found: list[dict[str, Any]] = []
    drawn = not STAGES.isdisjoint(kinds.values())
    for name, kind in kinds.items():
        came, kept = story.counts.get(f"{name}/in", 0), story.counts.get(f"{name}/kept", 0)
        if not came and (story.until is not None or story.stopped):
            continue  # behind the stage where the build stopped
        reading = story.reading.stages.get(name, StageReading())
        before = found[-1]["bytes_out"] if found else 0
        counted = {reason: count for (stage, reason), count in story.drops.items() if stage == name}
        seen = story.reading.refusals.get(name, {})
        reasons = []
        for reason, count in sorted(counted.items(), key=lambda pair: (-pair[1], pair[0])):
            one = seen.get(reason, Refusals())
            known = refusal(kind, reason, drawn=drawn)
            reasons.append(
                {
                    "reason": reason,
                    **({"means": known.means, "help": known.help} if known else {}),
                    "count": count,
                    "errors": one.errors,
                    "sources": dict(sorted(one.sources.items())),
                    "examples": [_example(drop) for drop in one.examples],
                }
            )
        found.append(
            {
                "name": name,
                "kind": kind,
                "in": came,
                "kept": kept,
                "dropped": sum(counted.values()),
                "bytes_in": reading.bytes_in or before,
                "bytes_out": story.volumes.get(name, reading.bytes_out),
                "reasons": reasons,
            }
        )
    return found


def _example(drop: Drop) -> dict[str, Any]:
    shown = {
        "source": drop.source,
        "address": clipped(inline(drop.address)),
        "detail": clipped(drop.detail),
        "excerpt": drop.excerpt,
    }
    if drop.language:
        shown["language"] = clipped(drop.language)
    if drop.survivor:
        shown |= {"survivor": drop.survivor, "similarity": drop.similarity}
    return shown


def _source(story: Story, source: Any) -> dict[str, Any]:
    found = story.inputs.get(source.name, Input())
    items = story.reading.items.get(source.name, Amount())
    written = _standing(story).get(source.name, Amount())
    refused = sum(
        one.sources.get(source.name, 0) for reasons in story.reading.refusals.values() for one in reasons.values()
    )
    return {
        "name": source.name,
        "kind": _kind(source),
        "license": source.license,
        "files": found.files,
        "bytes": found.bytes,
        "items": items.records,
        "item_bytes": items.bytes,
        "rejects": refused,
        "records": written.records,
        "characters": written.characters,
    }


def _standing(story: Story) -> Mapping[str, Amount]:
    """By source, the records that were written, or those that are left where the build stopped."""
    return story.left if story.manifest is None else story.reading.sources


def _languages(reading: Reading) -> list[dict[str, Any]]:
    names = {*reading.languages, *reading.refused_languages}
    rows = [
        {
            "language": clipped(name),
            **msgspec.to_builtins(reading.languages.get(name, Amount())),
            "refused": reading.refused_languages.get(name, 0),
        }
        for name in names
    ]
    return sorted(rows, key=lambda row: (-row["records"], -row["refused"], row["language"]))


def _balance(reading: Reading) -> dict[str, list[dict[str, Any]]]:
    """Drawn records by each trait, the commonest first."""
    found = {}
    for trait in TRAITS:
        rows = [
            {"name": clipped(name), **msgspec.to_builtins(amount)} for name, amount in reading.balance[trait].items()
        ]
        found[trait] = sorted(rows, key=lambda row: (-row["records"], row["name"]))
    return found


def _drawn(lengths: Mapping[str, Mapping[str, Counts]], unit: str) -> dict[str, Any] | None:
    found = bars({when: lengths.get(when, {}).get(unit, {}) for when in (MADE, WRITTEN)})
    return None if found is None else found.facts()


def _scores(story: Story) -> list[dict[str, Any]]:
    """One histogram for each score that a stage wrote: of all that it measured, and of the records written."""
    found = []
    for stage, config in _configs(story.recipe).items():
        reading = story.reading.stages.get(stage)
        limits = limits_of(config)
        for name, measured in (reading.scores if reading else {}).items():
            drawn = bars({"measured": measured, WRITTEN: story.reading.scores.get(name, {})})
            if drawn is not None:
                found.append({"score": name, "stage": stage, "limits": limits.get(name, []), **drawn.facts()})
    return found


def limits_of(config: StageConfig) -> dict[str, list[dict[str, Any]]]:
    """The limits that a stage's parameters set, by score: policies, and `min_score` for a stage's own first score."""
    found: dict[str, list[dict[str, Any]]] = {}
    for name in config.__struct_fields__:
        value = getattr(config, name)
        for limit in value if isinstance(value, tuple) else (value,):
            if isinstance(limit, Limit):
                row = {"min": limit.min, "max": limit.max, "reason": limit.reason}
                found.setdefault(limit.score, []).append(row)
    least = getattr(config, "min_score", None)
    if config.SCORES and isinstance(least, int | float) and not found:
        found[config.SCORES[0]] = [{"min": float(least), "max": None, "reason": ""}]
    return {name: limits[:MOST_LIMITS] for name, limits in found.items()}


def _dedup(story: Story, stages: Iterable[dict[str, Any]]) -> list[dict[str, Any]]:
    found = []
    for stage in stages:
        clusters = story.reading.clusters.get(stage["name"])
        if clusters is None:
            continue
        removed: dict[str, int] = {}
        for reason in stage["reasons"]:
            for source, count in reason["sources"].items():
                removed[source] = removed.get(source, 0) + count
        sizes = {at: count for at, count in sorted(clusters.sizes.items()) if edge(at) > 1}
        found.append(
            {
                "stage": stage["name"],
                "alone": sum(count for at, count in clusters.sizes.items() if edge(at) <= 1),
                "clusters": sum(sizes.values()),
                "removed": stage["dropped"],
                "sizes": [{"size": int(edge(at)), "clusters": count} for at, count in sizes.items()],
                "largest": [_cluster(one) for one in clusters.largest],
                "sources": dict(sorted(removed.items(), key=lambda pair: (-pair[1], pair[0]))),
            }
        )
    return found


def _cluster(cluster: Cluster) -> dict[str, Any]:
    return {
        "size": cluster.size,
        "survivor": _member(cluster.survivor),
        "members": [_member(one) for one in cluster.members],
    }


def _member(member: Member) -> dict[str, Any]:
    earlier = {"earlier": clipped(member.earlier)} if member.earlier else {}
    return earlier | {
        "source_id": member.source_id,
        "source": clipped(member.source),
        "address": clipped(inline(member.address)),
        "similarity": member.similarity,
        "excerpt": member.excerpt,
    }


def _times(story: Story, stages: Iterable[dict[str, Any]]) -> dict[str, Any]:
    """CPU time and rates of each per-item stage, and the wall time of each job."""
    rows = []
    names = [stage["name"] for stage in stages]
    for name in (*names, *sorted(story.reading.stages.keys() - set(names))):
        reading = story.reading.stages.get(name)
        if reading is None or not reading.wall_ns:
            continue
        wall = reading.wall_ns / 1e9
        rows.append(
            {
                "stage": name,
                "cpu_seconds": reading.cpu_ns / 1e9,
                "seconds": wall,
                "items_per_second": reading.calls / wall,
                "bytes_per_second": reading.bytes_in / wall,
            }
        )
    return {"stages": rows, "jobs": [msgspec.to_builtins(job) for job in story.jobs]}


def _configs(recipe: Recipe) -> dict[str, StageConfig]:
    return dict(zip(recipe.stage_names()[1:], recipe.stages, strict=True))


def _kind(config: Any) -> str:
    return str(config.__struct_config__.tag)


def clipped(text: str) -> str:
    """Foreign text of any length as one short line."""
    line = " ".join(text[: 4 * LINE].split())
    return line if len(line) <= LINE else line[: LINE - 1] + "…"


def _sum(amounts: Iterable[Amount]) -> Amount:
    found = Amount()
    for amount in amounts:
        found.add(amount)
    return found
