"""Removing records from a finished set: by id, source or licence, with who and why on record.

Odd: only shards that hold such a record are rewritten, under numbers that were not in use, and the renaming of the new
manifest is the one step that counts. A run that is killed before it leaves the old set, after it the new one; what it
leaves beside is not listed, and the next run, or the same again, removes it.
"""

import contextlib
import errno
import fcntl
import functools
import hashlib
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

import msgspec

from trivium.data.records import Meta
from trivium.data.shards import names
from trivium.data.shards.address import Place, place
from trivium.data.shards.copied import check_target, copied
from trivium.data.shards.index import tally
from trivium.data.shards.manifest import (
    FunnelStage,
    Manifest,
    ShardInfo,
    Takedown,
    read_manifest,
    remove_unlisted,
    write_manifest,
)
from trivium.data.shards.reader import ShardSet
from trivium.data.shards.relatives import STAGE, TOMBSTONES, Gone, beside, fits, relatives
from trivium.data.shards.sound import Faults, opened
from trivium.data.shards.summary import read_heads
from trivium.data.shards.writer import Record, write_rejects, write_shard
from trivium.errors import ShardError, UsageError


@dataclass(frozen=True, slots=True)
class Wanted:
    """What to drop: each pattern may hold `*`, `?` and `[…]`; a record goes when any pattern fits.

    `ids` fit a record's id or source_id, and have 26 characters unless they hold a wildcard; `sources` fit the source's
    name or the address in it; both fit what was made of such a record as well. `licences` fit the whole expression or a
    licence that it joins by AND, without regard to case. `exactly` are source_ids, any number, of records of the set
    itself.
    """

    ids: tuple[str, ...] = ()
    sources: tuple[str, ...] = ()
    licences: tuple[str, ...] = ()
    exactly: frozenset[str] = frozenset()

    def check(self) -> None:
        """Raises UsageError for nothing, and for ids that are cut short."""
        if not (self.ids or self.sources or self.licences or self.exactly):
            raise UsageError("nothing to drop; give --id, --source, --license or --tombstones")
        for key in self.ids:
            if not any(c in key for c in "*?[") and not names.ID.fullmatch(key):
                raise UsageError(f"--id {key}: an id has 26 characters of [0-9a-z]; give all, or a pattern with *")
        for pattern in (*self.ids, *self.sources, *self.licences):
            if not pattern.strip("*"):
                raise UsageError(f"{pattern!r} fits every record; delete the folder if that is what you want")


@dataclass(frozen=True, slots=True)
class Dropped:
    """What a takedown removed, or would: records by shard number in the old set, and the patterns that fit nothing."""

    metas: tuple[Meta, ...]
    ids: tuple[str, ...]
    tokens: int
    shards: tuple[str, ...]
    unmatched: tuple[str, ...]
    manifest: Manifest  # the set afterwards; as it was for a dry run or no match
    digest: str
    damaged: tuple[str, ...] = ()  # in the other sets: what was made of their records there may be left


def drop(
    folder: Place | str,
    wanted: Wanted,
    *,
    reason: str,
    by: str,
    when: str = "",
    among: Sequence[Place] | None = None,
    dry_run: bool = False,
    out: Path | None = None,
    progress: Callable[[int, int], None] = lambda _done, _total: None,
) -> Dropped:
    """Removes all records that `wanted` fits; `progress` gets shards done and to do.

    `when` is a day, by default today in UTC; `among` the sets in which the parents of derived records are looked up, by
    default those in the same folder. `out`, new or empty, leaves the set as it is and gets what stays of it, read and
    proven whole; it is not made when nothing fits.

    Raises UsageError (a pattern without sense, an address), ShardError (damaged set; another takedown is at work).
    """
    wanted.check()
    where = place(folder)
    if not isinstance(where, Path):
        raise UsageError(f"{where}: a set is changed where it lies locally; copy it, drop there and copy it back")
    if out is not None:
        check_target(where, out)
    with _alone(where):
        shards = ShardSet.open(where)
        faults = Faults()
        chosen, unmatched = _choose(shards, wanted, beside(where) if among is None else among, faults)
        touched = sorted({shards.locate(record)[0] for record in chosen})
        metas = tuple(chosen.values())
        ids = tuple(str(shards.entries.id[record]) for record in chosen)
        files = tuple(shards.manifest.shards[number].name for number in touched)
        tokens = int(shards.entries.tokens[list(chosen)].sum())
        manifest, digest = shards.manifest, shards.digest
        if not dry_run and out is None:
            remove_unlisted(where, manifest)  # what a killed run left, be it of records that are gone
        if chosen and not dry_run:
            record = Takedown(
                reason=reason,
                by=by,
                when=when or datetime.now(UTC).date().isoformat(),
                ids=(*wanted.ids, *_named(wanted.exactly)),
                sources=wanted.sources,
                licences=wanted.licences,
                records=len(chosen),
                shards=files,
            )
            with contextlib.nullcontext(where) if out is None else copied(where, out) as target:
                infos = _rewritten(target, shards, set(chosen), touched, progress)
                manifest = _commit(target, manifest, infos, record, dict(zip(ids, metas, strict=True)))
                digest = ShardSet.open(target).digest
        shards.close()
    return Dropped(metas, ids, tokens, files, unmatched, manifest, digest, tuple(faults.found))


def _named(exactly: frozenset[str]) -> tuple[str, ...]:
    """One word for a list of any length, so that two takedowns of other records differ."""
    if not exactly:
        return ()
    digest = hashlib.sha256("\n".join(sorted(exactly)).encode()).hexdigest()[:16]
    return (f"{len(exactly)} {TOMBSTONES} {digest}",)


def refuse_return(folder: Path, source: Manifest | None = None) -> None:
    """Raises UsageError when to write `folder` anew would bring back what was taken out of the set there.

    `source` is the manifest of the set that it is made from; what was taken out of that too can't come back.
    """
    if not (folder / names.MANIFEST).is_file():
        return
    manifest, _ = read_manifest(folder)
    gone = [(one.ids, one.sources, one.licences) for one in (source.takedowns if source else ())]
    lost = [one for one in manifest.takedowns if (one.ids, one.sources, one.licences) not in gone]
    if lost:
        raise UsageError(
            f"--out {folder}: {sum(one.records for one in lost):,} records were taken out of the set there (last by "
            f"{lost[-1].by}: {lost[-1].reason}), and to make it anew would bring them back; give another --out and "
            "drop there again, or remove the folder"
        )


@contextlib.contextmanager
def _alone(folder: Path) -> Iterator[None]:
    try:
        handle = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    except OSError:  # opening the set says what is wrong
        yield
        return
    try:
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            if error.errno not in (errno.EAGAIN, errno.EACCES):
                raise
            raise ShardError(f"{folder}: another takedown is at work on this set; wait for its end") from None
        yield
    finally:
        os.close(handle)


def _choose(
    shards: ShardSet, wanted: Wanted, among: Sequence[Place], tell: Faults
) -> tuple[dict[int, Meta], tuple[str, ...]]:
    """The records to drop with their metadata, by number, and the patterns that fit none."""
    entries, fitting = shards.entries, set[str]()
    chosen: dict[int, Meta] = {}
    derived: dict[int, Meta] = {}
    for number, (key, source, licence) in enumerate(zip(entries.id, entries.source_id, entries.license, strict=True)):
        found = {one for one in wanted.licences if fits(one.lower(), _terms(licence))}
        listed = str(source) in wanted.exactly
        if listed and not (wanted.ids or wanted.sources or found):
            chosen[number] = shards.read_document(number).meta
            continue
        if wanted.ids or wanted.sources or found:
            try:
                meta = shards.read_document(number).meta  # its address, and what it was made of, stand in no index
            except ShardError as error:
                meta = _meta_of(shards.manifest, str(source), str(licence))
                found |= {one for one in wanted.ids if fits(one, (key, source))}
                if not found and not listed:
                    tell(
                        f"{error}; so whether it is one of these can't be told: `trivium shards drop {shards.folder} "
                        f"--id {key} --reason damaged` takes it out"
                    )
            found |= {one for one in wanted.ids if fits(one, (key, source, *meta.lineage.parents))}
            found |= {one for one in wanted.sources if fits(one, (meta.source, meta.address))}
            if found or listed:
                chosen[number] = meta
            if meta.lineage.parents and (wanted.ids or wanted.sources):
                derived[number] = meta
        fitting |= found
    if derived:
        heads, damaged = read_heads(among)
        for fault in damaged.values():
            tell(fault)
        others = [opened(head) for head in heads]
        for pattern, keys in relatives(others, wanted.ids, wanted.sources, tell).items():
            made = {number: meta for number, meta in derived.items() if not keys.isdisjoint(meta.lineage.parents)}
            chosen |= made
            fitting |= {pattern} if made else set()
    every = (*wanted.ids, *wanted.sources, *wanted.licences)
    return dict(sorted(chosen.items())), tuple(pattern for pattern in every if pattern not in fitting)


def _meta_of(manifest: Manifest, source: str, licence: str) -> Meta:
    """What the index alone says of a record that can't be read."""
    return Meta(
        source_id=source,
        corpus=manifest.corpus,
        domain=manifest.domain,
        source="",
        address="(damaged)",
        license=licence,
    )


@functools.lru_cache(maxsize=4096)
def _terms(licence: str) -> tuple[str, ...]:
    """A licence expression in lower case, and each licence that it joins by AND (a record made of several)."""
    whole = licence.lower()
    return whole, *(term.strip(" ()") for term in whole.split(" and "))


def _rewritten(
    folder: Path, shards: ShardSet, gone: set[int], touched: list[int], progress: Callable[[int, int], None]
) -> tuple[ShardInfo, ...]:
    """The shards of the new set, each at the place of its old one; those without a record left are missing."""
    manifest = shards.manifest
    used: dict[str, int] = {}
    for info in manifest.shards:
        used[info.bucket] = max(used.get(info.bucket, -1), int(info.name[-9:-4]))
    infos = []
    starts = shards.ledger.starts
    for number, info in enumerate(manifest.shards):
        if number not in touched:
            infos.append(info)
            continue
        kept = [record for record in range(starts[number], starts[number + 1]) if record not in gone]
        if kept:
            used[info.bucket] += 1
            path = folder / names.SHARDS / names.shard_name(manifest.corpus, info.bucket, used[info.bucket])
            items: Iterator[Record] = (_kept(shards, record) for record in kept)
            infos.append(write_shard(path, items, rules=manifest.picture_rules))
        progress(touched.index(number) + 1, len(touched))
    return tuple(infos)


def _kept(shards: ShardSet, record: int) -> Record:
    try:
        return shards.read(record)
    except ShardError as error:
        raise ShardError(
            f"{error}. It lies in a shard that is to be rewritten; add --id {shards.entries.id[record]} to take it out "
            "as well"
        ) from None


def _commit(
    folder: Path, before: Manifest, infos: tuple[ShardInfo, ...], record: Takedown, metas: Mapping[str, Meta]
) -> Manifest:
    """Writes why, then the manifest, which makes the new set the set."""
    drops = [
        Gone(
            id=key,
            when=record.when,
            source_id=meta.source_id,
            source=meta.source,
            address=meta.address,
            stage=STAGE,
            reason=STAGE,
            detail=f"{record.reason} ({record.by})",
        )
        for key, meta in metas.items()
    ]
    write_rejects(folder, f"{STAGE}-{len(before.takedowns) + 1:03d}", drops)
    licences, languages = tally(folder, infos)
    left = sum(info.records for info in infos)
    funnel = FunnelStage(name=STAGE, input=before.records, kept=left, dropped={STAGE: record.records})
    after = msgspec.structs.replace(
        before,
        shards=infos,
        licences=licences,
        languages=languages,
        rejects=before.rejects + len(drops),
        takedowns=(*before.takedowns, record),
        funnel=(*before.funnel, funnel),
    )
    return write_manifest(folder, after)
