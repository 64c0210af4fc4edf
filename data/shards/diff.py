"""Two builds compared, by source_id: what is added, gone, changed, and by which step.

Odd: equal manifests and equal files mean identical. A changed record is explained by the first step of its lineage that
differs, a gone or added one by the other build's rejects. Records of equal id are told apart by the sizes and CRCs in
the indexes, so only those that differ are read.
"""

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field

import msgspec

from trivium.data.records import Document
from trivium.data.shards import names
from trivium.data.shards.address import Place
from trivium.data.shards.manifest import Manifest
from trivium.data.shards.reader import ShardSet, hash_blob
from trivium.data.shards.storage import open_blob
from trivium.data.stage import Drop

KINDS = ("added", "gone", "changed")


@dataclass(frozen=True, slots=True)
class Change:
    """One source whose record differs: `what` changed, by which `step`, and where the reason stands."""

    source_id: str
    address: str
    what: str
    step: str


@dataclass(frozen=True, slots=True)
class Difference:
    """`identical` = byte for byte; then all lists are empty. `counts` and `steps` are of all changes, the lists of the
    first `limit` of each kind."""

    identical: bool
    records: tuple[int, int]
    notes: list[str] = field(default_factory=list)  # what makes the comparison a strange one
    counts: dict[str, int] = field(default_factory=lambda: dict.fromkeys(KINDS, 0))
    steps: dict[str, dict[str, int]] = field(default_factory=lambda: {kind: {} for kind in KINDS})
    added: list[Change] = field(default_factory=list)
    gone: list[Change] = field(default_factory=list)
    changed: list[Change] = field(default_factory=list)
    manifest: list[str] = field(default_factory=list)  # keys of the manifest that differ
    files: list[str] = field(default_factory=list)  # shards or rejects whose bytes differ


def diff(a: Place | str, b: Place | str, *, limit: int | None = None) -> Difference:
    """Compares two sets; `limit` bounds the changes listed of each kind, not those counted.

    Raises InputError, ShardError or StorageError when one can't be opened.
    """
    first, second = ShardSet.open(a), ShardSet.open(b)
    keys = _manifest_keys(first.manifest, second.manifest)
    files = _listed_files(first.manifest, second.manifest) if keys else _held_files(first, second)
    counts = (len(first), len(second))
    if not (keys or files):
        return Difference(True, counts)
    found = Difference(False, counts, _notes(first, second), manifest=keys, files=files)
    tallies = {kind: Counter[str]() for kind in KINDS}
    for kind, change in _changes(first, second):
        found.counts[kind] += 1
        tallies[kind][change.step or change.what] += 1
        listed: list[Change] = getattr(found, kind)
        if limit is None or len(listed) < limit:
            listed.append(change)
    for kind, tally in tallies.items():
        found.steps[kind] = dict(tally.most_common())
    return found


def _notes(a: ShardSet, b: ShardSet) -> list[str]:
    one, two = a.manifest, b.manifest
    notes = []
    if one.corpus != two.corpus:
        notes.append(f"two corpora, {one.corpus!r} and {two.corpus!r}: compared by source_id all the same")
    if (one.tokenizer is None) != (two.tokenizer is None):
        which, other = ("second", "first") if one.tokenizer is None else ("first", "second")
        notes.append(f"the {which} is tokenised and the {other} is not: every record differs by its tokens")
    elif one.tokenizer != two.tokenizer:
        notes.append("two tokenizers: every record differs by its tokens")
    return notes


def _changes(first: ShardSet, second: ShardSet) -> Iterator[tuple[str, Change]]:
    left, right = _by_source(first), _by_source(second)
    why: dict[int, dict[str, Drop]] = {}
    for key in sorted(left.keys() | right.keys()):
        pairs, only_left, only_right = _match(first, left.get(key, []), second, right.get(key, []))
        for one, two in pairs:
            yield "changed", _change(first.read(one), second.read(two))
        for kind, holder, mine, other in (("gone", first, only_left, second), ("added", second, only_right, first)):
            for record in mine:
                if id(other) not in why:
                    why[id(other)] = {drop.source_id: drop for drop in other.rejects()}
                yield kind, _lost(holder, record, why[id(other)])


def _manifest_keys(a: Manifest, b: Manifest) -> list[str]:
    return [f.name for f in msgspec.structs.fields(Manifest) if getattr(a, f.name) != getattr(b, f.name)]


def _listed_files(a: Manifest, b: Manifest) -> list[str]:
    def digests(manifest: Manifest) -> dict[str, str]:
        found = {info.name: info.sha256 + info.index_sha256 for info in manifest.shards}
        return found | {f"{names.REJECTS}/{name}": one.sha256 for name, one in manifest.reject_files.items()}

    left, right = digests(a), digests(b)
    return [name for name in sorted(left.keys() | right.keys()) if left.get(name) != right.get(name)]


def _held_files(a: ShardSet, b: ShardSet) -> list[str]:
    """Of two sets with equal manifests: tars whose bytes are not equal all the same."""
    differing = []
    for info in a.manifest.shards:
        blobs = [open_blob(shards.folder / names.SHARDS / info.name) for shards in (a, b)]
        if len({hash_blob(blob, info.bytes) for blob in blobs}) > 1:
            differing.append(info.name)
        for blob in blobs:
            blob.close()
    return differing


def _by_source(shards: ShardSet) -> dict[str, list[int]]:
    """Record numbers by source_id, by id; one source may have given several records."""
    found: dict[str, list[int]] = {}
    ids, sources = shards.entries.id.tolist(), shards.entries.source_id.tolist()
    for number in sorted(range(len(shards)), key=ids.__getitem__):
        found.setdefault(sources[number], []).append(number)
    return found


def _match(
    a: ShardSet, left: list[int], b: ShardSet, right: list[int]
) -> tuple[list[tuple[int, int]], list[int], list[int]]:
    """Pairs of one source's records that differ, and what has no partner. Equal ids pair first, then by order."""
    by_id = {str(b.entries.id[two]): two for two in right}
    equal = [(one, by_id[str(a.entries.id[one])]) for one in left if str(a.entries.id[one]) in by_id]
    taken, given = {one for one, _ in equal}, {two for _, two in equal}
    left, right = [one for one in left if one not in taken], [two for two in right if two not in given]
    pairs = [(one, two) for one, two in equal if a.checksums(one) != b.checksums(two)]
    pairs += zip(left, right, strict=False)
    return pairs, left[len(right) :], right[len(left) :]


def _lost(holder: ShardSet, record: int, rejects: dict[str, Drop]) -> Change:
    """A record that only `holder` has; the other build's rejects say why, when they do."""
    document = holder.read_document(record)
    drop = rejects.get(document.meta.source_id)
    if drop is None:
        return Change(document.meta.source_id, document.meta.address, "not in the other build", "")
    return Change(drop.source_id, document.meta.address, f"rejected there: {drop.reason}", drop.stage)


def _change(before: tuple[Document, dict[str, bytes]], after: tuple[Document, dict[str, bytes]]) -> Change:
    one, two = before[0], after[0]
    what = []
    if one.segments != two.segments:
        what.append("segments")
    what += [f"{n}" for n in sorted(before[1].keys() | after[1].keys()) if before[1].get(n) != after[1].get(n)]
    for key in (f.name for f in msgspec.structs.fields(type(one.meta)) if f.name != "lineage"):
        if getattr(one.meta, key) != getattr(two.meta, key):
            what.append(f"meta.{key}")
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
