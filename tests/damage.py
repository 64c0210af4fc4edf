"""Really damaged shards for tests: what storage, cables and careless copies do to files that were whole."""

import os
import shutil
from pathlib import Path

from trivium.data.shards import ShardSet


def tar_of(folder: Path, shard: int = 0) -> Path:
    """The tar of a set by its number in the manifest."""
    return folder / "shards" / ShardSet.open(folder).manifest.shards[shard].name


def flip_bit(path: Path, at: int) -> None:
    """Inverts the lowest bit of the byte `at`; a negative `at` counts from the end."""
    raw = bytearray(path.read_bytes())
    raw[at] ^= 1
    path.write_bytes(raw)


def flip_member(folder: Path, record: int, field: str) -> None:
    """Inverts a bit in the middle of one member of one record, so that only this record is damaged."""
    shards = ShardSet.open(folder)
    payload = shards.read_media(record, field)
    start, size = int(shards.entries.offset[record]), int(shards.entries.size[record])
    path = tar_of(folder, int(shards.entries.shard[record]))
    at = path.read_bytes().index(payload, start, start + size)
    flip_bit(path, at + len(payload) // 2)


def cut(path: Path, missing: int = 700) -> None:
    """Takes the last bytes away."""
    os.truncate(path, path.stat().st_size - missing)


def remove_index(tar: Path) -> None:
    """Takes the index away, as a copy by `*.tar` does."""
    Path(str(tar).removesuffix(".tar") + ".idx.json").unlink()


def swap_shards(one: Path, other: Path) -> None:
    """Exchanges the bytes of two tars, their indexes stay."""
    spare = one.with_name("spare")
    shutil.move(one, spare)
    shutil.move(other, one)
    shutil.move(spare, other)
