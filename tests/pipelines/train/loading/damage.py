"""Shard sets damaged for real: bits flipped in the tar, the tar cut, records written with what no build writes."""

import tarfile
from pathlib import Path

import msgspec
import numpy as np

from trivium.data.shards import ShardSet, write_manifest, write_shard


def member(folder: Path, record: int, field: str) -> tuple[Path, int, int]:
    """Tar, offset and size of one member, as Python's own tar reader finds them."""
    shards = ShardSet.open(folder, damaged=True)
    path = folder / "shards" / shards.manifest.shards[int(shards.entries.shard[record])].name
    with tarfile.open(path) as tar:
        found = tar.getmember(f"{shards.entries.id[record]}.{field}")
        return path, found.offset_data, found.size


def flip(folder: Path, record: int, field: str, at: int = 8) -> None:
    """Turns one bit of a member."""
    path, offset, _ = member(folder, record, field)
    with path.open("r+b") as file:
        file.seek(offset + at)
        byte = file.read(1)[0]
        file.seek(offset + at)
        file.write(bytes([byte ^ 1]))


def cut(folder: Path, record: int) -> set[str]:
    """Cuts the tar of a record in the middle of its tokens; returns the ids that lie there or behind."""
    path, offset, size = member(folder, record, "tokens")
    with path.open("r+b") as file:
        file.truncate(offset + size // 2)
    entries = ShardSet.open(folder, damaged=True).entries
    same = entries.shard == entries.shard[record]
    return set(entries.id[same & (entries.offset >= entries.offset[record])].tolist())


def rewrite(folder: Path, record: int, field: str, payload: bytes) -> None:
    """Writes the record's tar anew, whole in all its checksums, with one member replaced."""
    shards = ShardSet.open(folder)
    shard = int(shards.entries.shard[record])
    items = {number: shards.read(number) for number in np.flatnonzero(shards.entries.shard == shard).tolist()}
    items[record][1][field] = payload
    manifest, rules = shards.manifest, shards.manifest.picture_rules
    infos = list(manifest.shards)
    infos[shard] = write_shard(folder / "shards" / infos[shard].name, items.values(), rules=rules)
    write_manifest(folder, msgspec.structs.replace(manifest, shards=tuple(infos)))
