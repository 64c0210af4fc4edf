"""The index beside each tar: where its records and their members lie, and what is counted of them.

Odd: an index is believed only as far as it can be checked without the tar. Its sha256 is the manifest's, every span
lies inside the tar and inside its record, and ids and member names keep the grammar, so none names a file elsewhere.
"""

import hashlib
from pathlib import Path
from typing import Any

import msgspec

from trivium.data.config import Strict
from trivium.data.shards import names
from trivium.data.shards.address import Place
from trivium.data.shards.manifest import Count, ShardInfo, Sums, parse
from trivium.data.shards.storage import read_file
from trivium.errors import ShardError

INDEX_FORMAT, INDEX_VERSION = "trivium.index", 1
INDEX_LIMIT = 2 << 30  # bytes


class Index(Strict, frozen=True, kw_only=True):
    """Columns over the records of one tar; `field … crc32` run over the members, `members` of them a record.

    `offset` and `size` span a record's blocks in the tar, headers included, and `sha256` is taken over them;
    `member_offset` and `member_size` span one payload.
    """

    format: str = INDEX_FORMAT
    version: int = INDEX_VERSION
    shard: str
    bytes: Count
    id: list[str]
    offset: list[Count]
    size: list[Count]
    sha256: list[str]
    tokens: list[Count]
    patches: list[Count]
    images: list[Count]
    cluster: list[str]
    source_id: list[str]
    license: list[str]
    language: list[str]
    members: list[Count]
    field: list[str]
    member_offset: list[Count]
    member_size: list[Count]
    crc32: list[Count]


def encode(index: Index) -> bytes:
    """Canonical bytes: sorted keys, one line."""
    return msgspec.json.encode(index, order="sorted") + b"\n"


def index_path(folder: Place, info: ShardInfo) -> Place:
    """Where the index of a shard lies."""
    return folder / names.SHARDS / names.index_name(info.name)


def read_raw(folder: Place, info: ShardInfo) -> bytes:
    """The bytes of one index, which are those that the manifest names. Raises ShardError or StorageError."""
    path = index_path(folder, info)
    try:
        payload = read_file(path, INDEX_LIMIT)
    except ShardError as error:
        raise ShardError(f"{path}: the index of {info.name} {_reason(error, path)}; {_cure(folder)}") from None
    found = hashlib.sha256(payload).hexdigest()
    if found != info.index_sha256:
        raise ShardError(
            f"{path}: sha256 {found[:16]}…, the manifest says {info.index_sha256[:16]}…; "
            f"the file was changed or belongs to another build: {_cure(folder)}"
        )
    return payload


def _reason(error: ShardError, path: Place) -> str:
    return str(error).removeprefix(f"{path}: ").partition(";")[0]


def _cure(folder: Place) -> str:
    return f"copy it again, or make it again from its tar with `trivium shards index {folder} --rebuild`"


def read_index(folder: Place, info: ShardInfo) -> Index:
    """The index of one shard, every column. Raises ShardError when it is missing, damaged, or not the manifest's."""
    from trivium.data.shards.columns import numbers_of, strings_of

    payload, path = read_raw(folder, info), index_path(folder, info)
    numbers_of(payload, info, path)
    strings_of(payload, info, path)
    return parse(payload, Index, path, INDEX_FORMAT, INDEX_VERSION)


def sums_of(index: Index) -> dict[str, Any]:
    """What a ShardInfo says of its records: sums in all, by licence, by language, by length."""
    return {
        "records": len(index.id),
        "tokens": sum(index.tokens),
        "patches": sum(index.patches),
        "images": sum(index.images),
        "first": index.id[0] if index.id else "",
        "last": index.id[-1] if index.id else "",
        "licences": _by(index.license, index),
        "languages": _by(index.language, index),
        "lengths": _histogram(index.tokens),
        "sizes": _histogram(index.size),
    }


def _by(keys: list[str], index: Index) -> dict[str, Sums]:
    found: dict[str, list[int]] = {}
    for key, tokens, patches in zip(keys, index.tokens, index.patches, strict=True):
        sums = found.setdefault(key, [0, 0, 0])
        sums[0] += 1
        sums[1] += tokens
        sums[2] += patches
    return {key: Sums(records=found[key][0], tokens=found[key][1], patches=found[key][2]) for key in sorted(found)}


def _histogram(lengths: list[int]) -> tuple[int, ...]:
    powers = [0] * 62
    for length in lengths:
        powers[max(1, length).bit_length() - 1] += 1
    while powers and not powers[-1]:
        powers.pop()
    return tuple(powers)


def tally(folder: Path, shards: tuple[ShardInfo, ...]) -> tuple[dict[str, int], dict[str, int]]:
    """Records by licence and by language; for a manifest's tables."""
    licences: dict[str, int] = {}
    languages: dict[str, int] = {}
    for info in shards:
        for table, sums in ((licences, info.licences), (languages, info.languages)):
            for name, one in sums.items():
                table[name] = table.get(name, 0) + one.records
    return dict(sorted(licences.items())), dict(sorted(languages.items()))
