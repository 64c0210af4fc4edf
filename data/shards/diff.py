"""Two builds compared, by source_id: what is added, gone, changed, and by which step.

Odd: equal manifests and equal files mean identical; a changed record is explained by the first step of its lineage
that differs, and by "content" when the lineages agree.
"""

import hashlib
from dataclasses import dataclass
from pathlib import Path

import msgspec

from trivium.data.records import Document
from trivium.data.shards import names
from trivium.data.shards.manifest import Manifest
from trivium.data.shards.reader import ShardSet, read_rejects


@dataclass(frozen=True, slots=True)
class Change:
    """One source whose record differs: `what` changed, by which `step`, and where the reason stands."""

    source_id: str
    address: str
    what: str
    step: str


@dataclass(frozen=True, slots=True)
class Difference:
    """`identical` = byte for byte; then all lists are empty."""

    identical: bool
    added: list[Change]
    gone: list[Change]
    changed: list[Change]
    manifest: list[str]  # keys of the manifest that differ
    files: list[str]  # shards or rejects whose bytes differ
    records: tuple[int, int]


def diff(a: Path, b: Path) -> Difference:
    """Compares two sets. Raises InputError or ShardError when one can't be opened."""
    first, second = ShardSet.open(a), ShardSet.open(b)
    keys = _manifest_keys(first.manifest, second.manifest)
    files = _file_names(first, second)
    counts = (len(first), len(second))
    if not (keys or files):
        return Difference(True, [], [], [], [], [], counts)
    left, right = _by_source(first), _by_source(second)
    added, gone, changed = [], [], []
    for key in sorted(left.keys() | right.keys()):
        pairs, only_left, only_right = _match(first, left.get(key, []), second, right.get(key, []))
        changed += [_change(first.read(one), second.read(two)) for one, two in pairs]
        gone += [_lost(first, one, second) for one in only_left]
        added += [_lost(second, two, first) for two in only_right]
    return Difference(False, added, gone, changed, keys, files, counts)


def _manifest_keys(a: Manifest, b: Manifest) -> list[str]:
    return [f.name for f in msgspec.structs.fields(Manifest) if getattr(a, f.name) != getattr(b, f.name)]


def _by_source(shards: ShardSet) -> dict[str, list[int]]:
    """Record numbers by source_id, by id; one source may have given several records."""
    found: dict[str, list[int]] = {}
    for number in sorted(range(len(shards)), key=lambda at: str(shards.entries.id[at])):
        found.setdefault(str(shards.entries.source_id[number]), []).append(number)
    return found


def _match(
    a: ShardSet, left: list[int], b: ShardSet, right: list[int]
) -> tuple[list[tuple[int, int]], list[int], list[int]]:
    """Pairs of one source's records that differ, and what has no partner. Equal ids pair first, then by order."""
    by_id = {str(b.entries.id[two]): two for two in right}
    equal = [(one, by_id[str(a.entries.id[one])]) for one in left if str(a.entries.id[one]) in by_id]
    taken, given = {one for one, _ in equal}, {two for _, two in equal}
    left, right = [one for one in left if one not in taken], [two for two in right if two not in given]
    pairs = [(one, two) for one, two in equal if not _same(a, one, b, two)]
    pairs += zip(left, right, strict=False)
    return pairs, left[len(right) :], right[len(left) :]


def _same(a: ShardSet, one: int, b: ShardSet, two: int) -> bool:
    return a.members(one) == b.members(two) and all(
        a.read_media(one, name) == b.read_media(two, name) for name in a.members(one)
    )


def _file_names(a: ShardSet, b: ShardSet) -> list[str]:
    def digests(shards: ShardSet) -> dict[str, str]:
        found = {info.name: info.sha256 + info.index_sha256 for info in shards.manifest.shards}
        for info in shards.manifest.shards:
            with (shards.folder / names.SHARDS / info.name).open("rb") as file:
                found[info.name] += hashlib.file_digest(file, "sha256").hexdigest()
        for path in (shards.folder / names.REJECTS).glob("*.jsonl"):
            found[f"{names.REJECTS}/{path.name}"] = hashlib.sha256(path.read_bytes()).hexdigest()
        return found

    left, right = digests(a), digests(b)
    return [name for name in sorted(left.keys() | right.keys()) if left.get(name) != right.get(name)]


def _lost(holder: ShardSet, record: int, other: ShardSet) -> Change:
    """A record that only `holder` has; the other build's rejects say why, when they do."""
    document = holder.read_document(record)
    key = document.meta.source_id
    for drop in read_rejects(other.folder):
        if drop.source_id == key:
            return Change(key, document.meta.address, f"rejected there: {drop.reason}", drop.stage)
    return Change(key, document.meta.address, "not in the other build", "")


def _change(before: tuple[Document, dict[str, bytes]], after: tuple[Document, dict[str, bytes]]) -> Change:
    one, two = before[0], after[0]
    what = []
    if one.segments != two.segments:
        what.append("segments")
    what += [f"{n}" for n in sorted(before[1].keys() | after[1].keys()) if before[1].get(n) != after[1].get(n)]
    for field in msgspec.structs.fields(type(one.meta)):
        if field.name != "lineage" and getattr(one.meta, field.name) != getattr(two.meta, field.name):
            what.append(f"meta.{field.name}")
    if one.meta.lineage != two.meta.lineage:
        what.append("meta.lineage")
    return Change(one.meta.source_id, one.meta.address, ", ".join(what), _step(one, two))


def _step(one: Document, two: Document) -> str:
    if one.meta.lineage.source_sha256 != two.meta.lineage.source_sha256:
        return "source bytes"
    left, right = one.meta.lineage.steps, two.meta.lineage.steps
    for before, after in zip(left, right, strict=False):
        if before != after:
            return before.name if before.name == after.name else f"{before.name} → {after.name}"
    if len(left) != len(right):
        return f"{(left if len(left) > len(right) else right)[min(len(left), len(right))].name}"
    return ""
