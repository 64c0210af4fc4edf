"""An index made again from its tar: what was lost or changed comes back byte for byte, or nothing is written.

Odd: the manifest vouches for both. The tar must have its sha256 there before it is believed, and the index made of it
must have its own, so a rebuilt set is the set that it was.
"""

import hashlib
from dataclasses import dataclass
from pathlib import Path

from trivium.data.patches import PictureRules
from trivium.data.shards.address import Place, place
from trivium.data.shards.index import Index, encode, index_path, read_raw
from trivium.data.shards.manifest import ShardInfo, read_manifest
from trivium.data.shards.names import REJECTS, SHARDS
from trivium.data.shards.reader import REJECTS_LIMIT, parse_rejects
from trivium.data.shards.scan import Scanned, Tape, scan
from trivium.data.shards.storage import read_file, write_whole
from trivium.data.shards.summary import Head
from trivium.data.video.plan import media_cost
from trivium.errors import ShardError, UsageError


@dataclass(frozen=True, slots=True)
class Checked:
    """One index: `fault` is what was wrong with it (nothing: it is the manifest's), `left` why it still is."""

    path: Place
    records: int
    fault: str = ""
    left: str = ""

    @property
    def state(self) -> str:
        return "whole" if not self.fault else "damaged" if self.left else "rebuilt"


def check_indexes(folder: Place | str, *, rebuild: bool = False) -> list[Checked]:
    """Compares every index of a set with the manifest; with `rebuild`, those that differ are made again of their tars.

    Raises InputError or ShardError when there is no manifest, UsageError to rebuild behind an address.
    """
    where = place(folder)
    if rebuild and not isinstance(where, Path):
        raise UsageError(f"{where}: a set is changed where it lies locally; copy it, rebuild there and copy it back")
    manifest, _ = read_manifest(where)
    found = []
    for info in manifest.shards:
        path = index_path(where, info)
        try:
            read_raw(where, info)
            found.append(Checked(path, info.records))
            continue
        except ShardError as error:
            fault = left = str(error)
        if rebuild:
            try:
                raw = index_again(where, info, manifest.picture_rules)
                assert isinstance(path, Path)
                write_whole(path, raw)
                left = ""
            except ShardError as error:
                left = str(error)
        found.append(Checked(path, info.records, fault, left))
    return found


def damaged_indexes(head: Head) -> list[str]:
    """Why indexes of a local set are not those that its manifest names, as far as `head.faults` does not say so."""
    found = []
    for info in head.manifest.shards if isinstance(head.folder, Path) else ():
        if info.name not in head.faults:
            try:
                read_raw(head.folder, info)
            except ShardError as error:
                found.append(str(error))
    return found


def damaged_rejects(head: Head) -> list[str]:
    """What of a local set's rejects is not what its manifest names: the lines that can't be read, else the file."""
    found: list[str] = []
    for name, file in sorted(head.manifest.reject_files.items()) if isinstance(head.folder, Path) else ():
        path, before = head.folder / REJECTS / name, len(found)
        try:
            digest = hashlib.sha256(read_file(path, REJECTS_LIMIT)).hexdigest()
        except ShardError as error:
            found.append(str(error))
            continue
        if digest != file.sha256:
            for _ in parse_rejects(path, tell=found.append):
                pass
            if len(found) == before:
                found.append(f"{path}: not what the manifest names; the file was changed: copy it again")
    return found


def index_again(folder: Place, info: ShardInfo, rules: PictureRules | None) -> bytes:
    """The bytes of a shard's index, made from its tar. Raises ShardError when the tar is not the manifest's, or its
    index would not be."""
    path = folder / SHARDS / info.name
    tape, problems = Tape(path), list[str]()
    try:
        found = list(scan(tape, problems))
        if problems:
            raise ShardError(f"{problems[0]}; its index can't be made from it: copy the tar again")
        digest = tape.sha256()
    finally:
        tape.close()
    if digest != info.sha256:
        raise ShardError(
            f"{path}: sha256 {digest[:16]}…, the manifest says {info.sha256[:16]}…; an index made from a tar that was "
            "changed would hide it: copy the tar again"
        )
    raw = encode(_index(info, found, tape.length, rules))
    if hashlib.sha256(raw).hexdigest() != info.index_sha256:
        raise ShardError(
            f"{path}: the index made from it is not the one that the manifest names, though the tar is; another "
            "release wrote this set: copy the index again, or build the set again"
        )
    return raw


def _index(info: ShardInfo, found: list[Scanned], length: int, rules: PictureRules | None) -> Index:
    members = [(field, *place) for record in found for field, place in record.members.items()]
    known = ("images", "cluster", "source_id", "license", "language", "tokens")
    return Index(
        shard=info.name,
        bytes=length,
        id=[record.id for record in found],
        offset=[record.offset for record in found],
        size=[record.size for record in found],
        sha256=[record.sha256 for record in found],
        patches=[media_cost(r.document, rules)[0] if rules and r.document else 0 for r in found],
        members=[len(record.members) for record in found],
        field=[field for field, _, _, _ in members],
        member_offset=[offset for _, offset, _, _ in members],
        member_size=[size for _, _, size, _ in members],
        crc32=[crc32 for _, _, _, crc32 in members],
        **{name: [record.columns[name] for record in found] for name in known},  # type: ignore[arg-type]
    )
