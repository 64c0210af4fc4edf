"""Two builds compared, by source_id: what is added, gone, changed, and by which step.

Odd: equal manifests, and files that are what they name, mean identical; a file that is not is damage, not a change. A
changed record is explained by the first step of its lineage that differs, a gone or added one by the other build's
rejects. Records of equal id are told apart by the sizes and CRCs in the indexes, so only those that differ are read.
"""

import hashlib
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field

import msgspec

from trivium.data.records import Document
from trivium.data.shards import names
from trivium.data.shards.address import Place
from trivium.data.shards.index import read_raw
from trivium.data.shards.manifest import Manifest
from trivium.data.shards.reader import REJECTS_LIMIT, ShardSet, hash_blob
from trivium.data.shards.sound import Faults, Losses, sound_part
from trivium.data.shards.storage import read_file
from trivium.data.stage import Drop
from trivium.errors import ShardError

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
    damaged: list[str] = field(default_factory=list)  # what could not be compared, and its cure
    added: list[Change] = field(default_factory=list)
    gone: list[Change] = field(default_factory=list)
    changed: list[Change] = field(default_factory=list)
    manifest: list[str] = field(default_factory=list)  # keys of the manifest that differ
    files: list[str] = field(default_factory=list)  # shards or rejects of which the manifests name other bytes


def diff(a: Place | str, b: Place | str, *, limit: int | None = None) -> Difference:
    """Compares two sets; `limit` bounds the changes listed of each kind, not those counted.

    What is damaged is told in the result, and the rest compared. Raises InputError, ShardError or StorageError when
    a manifest can't be read.
    """
    wholes = ShardSet.open(a, damaged=True), ShardSet.open(b, damaged=True)
    keys = _manifest_keys(wholes[0].manifest, wholes[1].manifest)
    faults = Faults()
    if not keys:
        for whole in wholes:
            _prove(whole, faults)
    counts = (len(wholes[0]), len(wholes[1]))
    if not (keys or faults.found):
        return Difference(True, counts)
    files = _listed_files(wholes[0].manifest, wholes[1].manifest)
    found = Difference(False, counts, _notes(*wholes), manifest=keys, files=files)
    if not keys:  # equal builds: what differs is damage
        found.damaged.extend(faults.found)
        return found
    first, second = (sound_part(whole, faults) for whole in wholes)
    tallies = {kind: Counter[str]() for kind in KINDS}
    for kind, change in _changes(first, second, (_unknown(wholes[0], first), _unknown(wholes[1], second)), faults):
        found.counts[kind] += 1
        tallies[kind][change.step or change.what] += 1
        listed: list[Change] = getattr(found, kind)
        if limit is None or len(listed) < limit:
            listed.append(change)
    for kind, tally in tallies.items():
        found.steps[kind] = dict(tally.most_common())
    found.damaged.extend(faults.found)
    return found


Runs = list[tuple[str, str]]


def _unknown(whole: ShardSet, sound: ShardSet) -> Runs:
    """First and last ids of the shards whose records are not known, since their index can't be read."""
    known = {info.name for info in sound.manifest.shards}
    return [(info.first, info.last) for info in whole.manifest.shards if info.name not in known]


def _notes(a: ShardSet, b: ShardSet) -> list[str]:
    one, two = a.manifest, b.manifest
    limits = (one.limit, two.limit)
    notes = []
    if one.corpus != two.corpus:
        notes.append(f"two corpora, {one.corpus} and {two.corpus}: compared by source_id all the same")
    if one.limit != two.limit:
        parts = ("the whole corpus" if limit is None else f"{limit:,} items of each source" for limit in limits)
        notes.append("the first holds {}, the second {}".format(*parts))
    if (one.tokenizer is None) != (two.tokenizer is None):
        which, other = ("second", "first") if one.tokenizer is None else ("first", "second")
        notes.append(f"the {which} is tokenised and the {other} is not: every record differs by its tokens")
    elif one.tokenizer != two.tokenizer:
        notes.append("two tokenizers: every record differs by its tokens")
    return notes


def _changes(
    first: ShardSet, second: ShardSet, unknown: tuple[Runs, Runs], tell: Faults
) -> Iterator[tuple[str, Change]]:
    left, right = _by_source(first), _by_source(second)
    why: dict[int, dict[str, Drop]] = {}
    left_out = 0
    lost = {id(shards): Losses(shards, tell) for shards in (first, second)}
    for key in sorted(left.keys() | right.keys()):
        pairs, only_left, only_right = _match(first, left.get(key, []), second, right.get(key, []))
        for one, two in pairs:
            held = [_held(shards, record, lost) for shards, record in ((first, one), (second, two))]
            if held[0] is not None and held[1] is not None:
                yield "changed", _change(held[0], held[1])
        sides = (("gone", first, only_left, second, unknown[1]), ("added", second, only_right, first, unknown[0]))
        for kind, holder, mine, other, runs in sides:
            for record in mine:
                name = str(holder.entries.id[record])
                if any(start <= name <= stop for start, stop in runs):
                    left_out += 1
                    continue
                if id(other) not in why:
                    why[id(other)] = _rejected(other, tell)
                found = _held(holder, record, lost)
                address = "(damaged)" if found is None else found[0].meta.address
                yield kind, _lost(str(holder.entries.source_id[record]), address, why[id(other)])
    for losses in lost.values():
        losses.end()
    if left_out:
        tell(f"{left_out:,} records were not compared: in the other set they would lie where its index can't be read")


def _rejected(shards: ShardSet, tell: Faults) -> dict[str, Drop]:
    return {drop.source_id: drop for drop in shards.rejects(tell)}


def _manifest_keys(a: Manifest, b: Manifest) -> list[str]:
    return [f.name for f in msgspec.structs.fields(Manifest) if getattr(a, f.name) != getattr(b, f.name)]


def _listed_files(a: Manifest, b: Manifest) -> list[str]:
    def digests(manifest: Manifest) -> dict[str, str]:
        found = {info.name: info.sha256 + info.index_sha256 for info in manifest.shards}
        return found | {f"{names.REJECTS}/{name}": one.sha256 for name, one in manifest.reject_files.items()}

    left, right = digests(a), digests(b)
    return [name for name in sorted(left.keys() | right.keys()) if left.get(name) != right.get(name)]


def _prove(shards: ShardSet, tell: Faults) -> None:
    """Tells each file whose bytes are not those that the manifest names."""
    for fault in shards.faults.values():
        tell(fault)
    for number, info in enumerate(shards.manifest.shards):
        where = shards.folder / names.SHARDS / info.name
        try:
            if info.name not in shards.faults:
                digest = hash_blob(shards.blobs[number], info.bytes)
                if digest != info.sha256:
                    tell(
                        f"{where}: sha256 {digest[:16]}…, the manifest says {info.sha256[:16]}…; the file was changed: "
                        "copy it again, or build the set again; `trivium shards verify` names the records"
                    )
            read_raw(shards.folder, info)
        except ShardError as error:
            if info.name not in shards.faults:
                tell(str(error))
    for name, file in shards.manifest.reject_files.items():
        path = shards.folder / names.REJECTS / name
        try:
            if hashlib.sha256(read_file(path, REJECTS_LIMIT)).hexdigest() != file.sha256:
                tell(f"{path}: not what the manifest names; the file was changed: copy it again")
        except ShardError as error:
            tell(str(error))


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


def _held(shards: ShardSet, record: int, lost: dict[int, Losses]) -> tuple[Document, dict[str, bytes]] | None:
    try:
        return shards.read(record)
    except ShardError as error:
        lost[id(shards)].take(record, error)
        return None


def _lost(source: str, address: str, rejects: dict[str, Drop]) -> Change:
    """A record that only one set has; the other build's rejects say why, when they do."""
    drop = rejects.get(source)
    if drop is None:
        return Change(source, address, "not in the other build", "")
    return Change(source, address, f"rejected there: {drop.reason}", drop.stage)


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
