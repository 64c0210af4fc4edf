"""What the page shows of each set as plain data: drawn records, duplicates, cuts, rejects by reason, funnel, totals.

Odd: nothing here may fail for one bad file. A set that can't be opened, a tar that is cut and a record that can't be
read are named on the page, and everything else is shown.
"""

from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import msgspec

from trivium.console import inline
from trivium.data.pairs.refusals import refusal
from trivium.data.preview import Previewer
from trivium.data.shards import ShardSet, names
from trivium.data.shards.address import Place
from trivium.data.shards.sound import Faults, opened, sound_part
from trivium.data.shards.summary import read_heads, summarize
from trivium.data.stage import Drop
from trivium.errors import ShardError, StorageError
from trivium.pipelines.gallery import clusters
from trivium.pipelines.gallery.cuts import Cut, Held, read_cuts
from trivium.pipelines.gallery.draw import RULE, arranged, interleaved, ranked, shares
from trivium.pipelines.gallery.earlier import EarlierSets
from trivium.pipelines.gallery.record import LINE_LIMIT, LIST_LIMIT, Media, record

PAGE_BYTES = 24 << 20  # of records in all
EXCERPT_LIMIT, BESIDE_LIMIT = 400, 1200  # of a reject; of one that is shown beside what it was compared with
SPARE = 40  # records drawn beyond the share, for those that can't be read
CLUSTER_SHARE = 10  # one cluster for so many records
MOST_NAMED = 10  # damaged records of one set that are named
HELD = 3  # held-out items of one reject
MOST_DROPS = 300_000  # rejects of one set that are kept in memory; all are counted


def open_sets(paths: Sequence[Path | str | Place]) -> tuple[list[ShardSet], list[dict[str, str]]]:
    """The sets at or below the paths, with cut tars or without, and what is damaged: `[{path, reason}]`.

    Raises InputError when there is no set below a path, ShardError when none of them can be opened.
    """
    heads, lost = read_heads(paths)
    found: list[ShardSet] = []
    damaged = [{"path": path, "reason": str(reason)} for path, reason in lost.items()]
    for folder, whole in [(head.folder, opened(head)) for head in heads]:
        faults = Faults()
        try:
            found.append(sound_part(whole, faults))
        except (ShardError, StorageError) as error:
            damaged.append({"path": str(folder), "reason": str(error)})
            continue
        damaged += [{"path": str(folder / names.SHARDS / tar), "reason": why} for tar, why in whole.faults.items()]
        damaged += [{"path": str(folder / names.SHARDS), "reason": why} for why in faults.found]
    if not found:
        raise ShardError(damaged[0]["reason"])
    return found, damaged


def collect(sets: Sequence[ShardSet], count: int, seed: int, damaged: Sequence[dict[str, str]] = ()) -> dict[str, Any]:
    """Plain data of the page: `sets`, `records`, `clusters`, `cuts`, `rejects`, `damaged`, and the draw's `rule`."""
    faults = list(damaged)
    refusals = [_refusals(shards, faults) for shards in sets]
    drops = [each.drops for each in refusals]
    given = shares([len(shards) for shards in sets], count)
    found = [clusters.clusters_of(shards, mine) for shards, mine in zip(sets, drops, strict=True)]
    wanted = shares([len(each) for each in found], max(1, count // CLUSTER_SHARE))
    refused = shares([len(mine) for mine in drops], count)
    inside = [_inside(shards, number, faults) for number, shards in enumerate(sets)]
    piles: list[list[dict[str, Any]]] = []
    compared: list[list[dict[str, Any]]] = []
    left, budget = 0, 0
    with Previewer() as previewer:
        media, earlier = Media(previewer), EarlierSets(sets)
        for number, shards in enumerate(sets):
            budget += PAGE_BYTES * given[number] // max(1, sum(given))  # what one set leaves over the next may use
            pile, spent, skipped = _records(shards, number, given[number], seed, budget, media, faults)
            budget -= spent
            left += skipped
            piles.append(named(arranged(pile, _visual, lambda one: one["title"])))
            compared.append(
                [
                    clusters.shown(shards, name, cluster, number, media, earlier)
                    for name, cluster in clusters.drawn(found[number], wanted[number], seed)
                ]
            )
    return {
        "sets": [_facts(shards, mine, len(each)) for shards, mine, each in zip(sets, refusals, found, strict=True)],
        "records": interleaved(piles),
        "clusters": sorted(interleaved(compared), key=lambda one: not one["near"]),
        "cuts": [cut for cuts, _ in inside for cut in cuts],
        "rejects": [
            _reject(drop, number, inside[number][1])
            for number, mine in enumerate(drops)
            for drop in drawn_rejects(mine, refused[number], seed)
        ],
        "damaged": faults,
        "rule": {"text": RULE, "count": count, "seed": seed, "left_out": left, "bytes": PAGE_BYTES},
    }


@dataclass(slots=True)
class _Refusals:
    """What a set refused: `drops` (the first MOST_DROPS) and the `counts` of all, by (stage, reason)."""

    drops: list[Drop] = field(default_factory=list)
    counts: Counter[tuple[str, str]] = field(default_factory=Counter)


def _refusals(shards: ShardSet, faults: list[dict[str, str]]) -> _Refusals:
    found = _Refusals()
    place = str(shards.folder / names.REJECTS)

    def tell(fault: str) -> None:
        faults.append({"path": place, "reason": fault})

    try:
        for drop in shards.rejects(tell):
            found.counts[drop.stage, drop.reason] += 1
            if len(found.drops) < MOST_DROPS:
                found.drops.append(drop)
    except StorageError as error:
        tell(str(error))
    return found


def _records(
    shards: ShardSet,
    number: int,
    share: int,
    seed: int,
    budget: int,
    media: Media,
    faults: list[dict[str, str]],
) -> tuple[list[dict[str, Any]], int, int]:
    """At most `share` records of at most `budget` bytes: they, their bytes, and how many did not fit."""
    pile: list[dict[str, Any]] = []
    spent = skipped = broken = 0
    entries = shards.entries
    for at in ranked(range(len(shards)), share + SPARE, seed, lambda at: str(entries.id[at])):
        if len(pile) + skipped == share:
            break
        try:
            one = record(shards, at, number, media)
        except (ShardError, StorageError) as error:
            broken += 1
            if broken <= MOST_NAMED and shards.manifest.shards[shards.locate(at)[0]].name not in shards.faults:
                faults.append({"path": str(shards.folder), "reason": str(error)})
            continue
        cost = len(msgspec.json.encode(one))
        if spent + cost > budget:
            skipped += 1
            continue
        spent += cost
        pile.append(one)
    return pile, spent, skipped


def _visual(one: dict[str, Any]) -> bool:
    return any("media" in segment for segment in one["segments"])


def named(pile: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """Each with a `name`: its title when no other one here has it, else the end of its address."""
    titles: dict[str, int] = defaultdict(int)
    for one in pile:
        titles[one["title"]] += 1
    return [
        {**one, "name": one["title"] if one["title"] and titles[one["title"]] == 1 else one["address"] or one["id"]}
        for one in pile
    ]


def _facts(shards: ShardSet, refused: _Refusals, found: int) -> dict[str, Any]:
    order = sorted(refused.counts.items(), key=lambda item: (-item[1], item[0]))
    return {
        **summarize(shards),
        "clusters": found,
        "funnel": msgspec.to_builtins(shards.manifest.funnel),
        "reasons": [{"stage": stage, "reason": reason, "count": n} for (stage, reason), n in order],
        "faults": len(shards.faults),
    }


def drawn_rejects(drops: Sequence[Drop], limit: int, seed: int) -> list[Drop]:
    """At most `limit`, an equal share for each reason, so that rare reasons are seen."""
    by_reason: dict[tuple[str, str], list[Drop]] = defaultdict(list)
    for drop in drops:
        by_reason[drop.stage, drop.reason].append(drop)
    order = sorted(by_reason)
    given = shares([len(by_reason[reason]) for reason in order], limit)
    return [
        drop
        for reason, share in zip(order, given, strict=True)
        for drop in ranked(by_reason[reason], share, seed, lambda drop: f"{drop.source_id} {drop.address}")
    ]


def _inside(shards: ShardSet, number: int, faults: list[dict[str, str]]) -> tuple[list[Cut], Held]:
    """What stages did inside texts; a report that can't be read is a fault of the set."""
    return read_cuts(shards, number, lambda fault: faults.append({"path": str(shards.folder), "reason": fault}))


def _reject(drop: Drop, number: int, held: Held) -> dict[str, Any]:
    shown = msgspec.to_builtins(drop)
    texts = {key: value[:LINE_LIMIT] for key, value in shown.items() if isinstance(value, str)}
    scores = {name[:60]: score for name, score in sorted(drop.scores.items())[:LIST_LIMIT]}
    found = held.get(drop.source_id, [])[:HELD] if drop.reason == "contaminated" else []
    most = BESIDE_LIMIT if drop.against else EXCERPT_LIMIT
    own = {"excerpt": drop.excerpt[:most], "against": drop.against[:most], "scores": scores, "held": found}
    known = refusal(drop.stage, drop.reason)
    told = {"means": known.means, "help": known.help} if known else {}
    return {**shown, **texts, **own, **told, "address": inline(drop.address)[:LINE_LIMIT], "set": number}
