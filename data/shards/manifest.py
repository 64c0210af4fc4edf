"""`manifest.json` and the index beside each tar, as strict versioned structs.

Odd: nothing in them depends on time, machine or number of workers, so equal sets have equal manifests, byte for byte.
"""

import hashlib
from pathlib import Path
from typing import Any, TypeVar

import msgspec

from trivium.data.config import Strict
from trivium.data.patches import PictureRules
from trivium.data.shards import names
from trivium.data.shards.storage import write_whole
from trivium.errors import InputError, ShardError

MANIFEST_FORMAT, MANIFEST_VERSION = "trivium.manifest", 1
INDEX_FORMAT, INDEX_VERSION = "trivium.index", 1


class Bucket(Strict, frozen=True, kw_only=True):
    """A length bucket: records of at most `tokens` tokens (and more than the bucket before); None = no limit."""

    name: str
    tokens: int | None = None


ALL = Bucket(name="all")


class ShardInfo(Strict, frozen=True, kw_only=True):
    """One tar: sums over its records, and sha256 of the tar and of its index."""

    name: str
    bucket: str
    records: int
    tokens: int
    patches: int
    bytes: int
    sha256: str
    index_sha256: str


class FunnelStage(Strict, frozen=True, kw_only=True):
    """What one stage of a build took in, kept, and dropped by reason; `input` = kept + all dropped for a filter."""

    name: str
    input: int
    kept: int
    dropped: dict[str, int] = msgspec.field(default_factory=dict)


class Vocabulary(Strict, frozen=True, kw_only=True):
    """What the training side must know of a tokenizer, so that it needs no tokenizer library."""

    size: int
    bos: int
    eos: int
    pad: int
    media_begin: int
    media_content: int
    media_end: int
    media_pad: int


class Manifest(Strict, frozen=True, kw_only=True):
    """A whole set. `recipe` is a digest and `resolved` the resolved recipe; `parent` the digest of the set that this
    one was tokenised from."""

    format: str = MANIFEST_FORMAT
    version: int = MANIFEST_VERSION
    corpus: str
    domain: str
    recipe: str
    resolved: dict[str, Any] = msgspec.field(default_factory=dict)
    tokenizer: str | None = None
    vocabulary: Vocabulary | None = None
    pictures: str | None = None
    picture_rules: PictureRules | None = None
    buckets: tuple[Bucket, ...] = (ALL,)
    shards: tuple[ShardInfo, ...] = ()
    licences: dict[str, int] = msgspec.field(default_factory=dict)
    languages: dict[str, int] = msgspec.field(default_factory=dict)
    funnel: tuple[FunnelStage, ...] = ()
    rejects: int = 0
    parent: str | None = None

    @property
    def records(self) -> int:
        return sum(shard.records for shard in self.shards)

    @property
    def tokens(self) -> int:
        return sum(shard.tokens for shard in self.shards)

    @property
    def patches(self) -> int:
        return sum(shard.patches for shard in self.shards)


class Index(Strict, frozen=True, kw_only=True):
    """Columns over the records of one tar; `field … crc32` run over the members, `members` of them a record.

    `offset` and `size` span a record's blocks in the tar, headers included, and `sha256` is taken over them;
    `member_offset` and `member_size` span one payload.
    """

    format: str = INDEX_FORMAT
    version: int = INDEX_VERSION
    shard: str
    bytes: int
    id: list[str]
    offset: list[int]
    size: list[int]
    sha256: list[str]
    tokens: list[int]
    patches: list[int]
    images: list[int]
    cluster: list[str]
    source_id: list[str]
    license: list[str]
    language: list[str]
    members: list[int]
    field: list[str]
    member_offset: list[int]
    member_size: list[int]
    crc32: list[int]

    def broken(self) -> str:
        """Why the columns can't be right, or an empty string."""
        columns: list[list[int] | list[str]] = [self.offset, self.size, self.sha256, self.tokens, self.patches]
        columns += [self.images, self.cluster, self.source_id, self.license, self.language, self.members]
        if any(len(column) != len(self.id) for column in columns):
            return "its record columns differ in length"
        if any(len(c) != sum(self.members) for c in (self.field, self.member_offset, self.member_size, self.crc32)):
            return "its member columns differ in length"
        if any(o < 0 or s < 0 or o + s > self.bytes for o, s in zip(self.offset, self.size, strict=True)):
            return "a record lies outside the tar"
        if any(o < 0 or s < 0 or o + s > self.bytes for o, s in zip(self.member_offset, self.member_size, strict=True)):
            return "a member lies outside the tar"
        return ""


class _Envelope(msgspec.Struct, frozen=True):
    format: str = ""
    version: int = 0


S = TypeVar("S", Manifest, Index)


def parse(payload: bytes, kind: type[S], path: Path) -> S:
    """Reads a manifest or index. Raises ShardError naming `path`, the version found and what to do."""
    name, version = (MANIFEST_FORMAT, MANIFEST_VERSION) if issubclass(kind, Manifest) else (INDEX_FORMAT, INDEX_VERSION)
    try:
        head = msgspec.json.decode(payload, type=_Envelope)
        if head.format != name or head.version != version:
            raise ShardError(
                f"{path}: format {head.format!r} version {head.version}; this code reads {name!r} version {version}: "
                "read it with the Trivium release that wrote it, or build the set again"
            )
        return msgspec.json.decode(payload, type=kind)
    except (msgspec.DecodeError, UnicodeDecodeError, ValueError) as error:
        raise ShardError(f"{path}: damaged ({error}); copy the file again, or build the set again") from None


def encode(value: Manifest | Index) -> bytes:
    """Canonical bytes: sorted keys; a manifest is indented, since people read it."""
    raw = msgspec.json.encode(value, order="sorted")
    return (msgspec.json.format(raw, indent=2) if isinstance(value, Manifest) else raw) + b"\n"


def read_manifest(folder: Path) -> tuple[Manifest, str]:
    """The manifest of a set and the sha256 of its bytes. Raises InputError (no folder) or ShardError."""
    path = folder / names.MANIFEST
    if not folder.is_dir():
        raise InputError(f"{folder}: no such folder; give the folder that holds {names.MANIFEST}")
    try:
        payload = path.read_bytes()
    except FileNotFoundError:
        raise ShardError(
            f"{folder}: no {names.MANIFEST}; either this is no shard set, or its build did not finish: run it again"
        ) from None
    except OSError as error:
        raise ShardError(f"{path}: can't be read ({error.strerror}); mend its permissions or copy it again") from None
    manifest = parse(payload, Manifest, path)
    for info in manifest.shards:
        if not names.SHARD.fullmatch(info.name):  # a name with folders would lead out of the set
            raise ShardError(f"{path}: {info.name!r} is no shard name; copy the file again, or build the set again")
    return manifest, hashlib.sha256(payload).hexdigest()


def begin(folder: Path) -> None:
    """Opens a folder for (re)building: the old manifest goes first, so that a half-built set is never taken for one,
    then what an earlier build refused and what a killed one left."""
    (folder / names.SHARDS).mkdir(parents=True, exist_ok=True)
    (folder / names.REJECTS).mkdir(exist_ok=True)
    (folder / names.MANIFEST).unlink(missing_ok=True)
    for left in (*folder.glob(".*.tmp"), *folder.glob("*/.*.tmp"), *(folder / names.REJECTS).glob("*.jsonl")):
        left.unlink(missing_ok=True)


def write_manifest(folder: Path, manifest: Manifest) -> None:
    """The last step of a build: removes shards of an earlier run that this one no longer lists, then names the set
    whole, atomically."""
    listed = {shard.name for shard in manifest.shards}
    listed |= {names.index_name(name) for name in listed}
    for path in (folder / names.SHARDS).glob("*"):
        if path.name not in listed and names.SHARD.fullmatch(path.name.replace(".idx.json", ".tar")):
            path.unlink()
    write_whole(folder / names.MANIFEST, encode(manifest))


def read_index(folder: Path, info: ShardInfo) -> Index:
    """The index of one shard. Raises ShardError when it is missing, damaged, or not the manifest's."""
    path = folder / names.SHARDS / names.index_name(info.name)
    try:
        payload = path.read_bytes()
    except OSError as error:
        raise ShardError(
            f"{path}: the index of {info.name} can't be read ({error.strerror}); copy it again, or build the set again"
        ) from None
    if hashlib.sha256(payload).hexdigest() != info.index_sha256:
        raise ShardError(
            f"{path}: sha256 {hashlib.sha256(payload).hexdigest()[:16]}…, the manifest says {info.index_sha256[:16]}…; "
            "the file was changed or belongs to another build: copy it again, or build the set again"
        )
    index = parse(payload, Index, path)
    reason = index.broken()
    if not reason and len(index.id) != info.records:
        reason = f"it lists {len(index.id)} records and the manifest {info.records}"
    if reason:
        raise ShardError(f"{path}: {reason}; build the set again")
    return index


def tally(folder: Path, shards: tuple[ShardInfo, ...]) -> tuple[dict[str, int], dict[str, int]]:
    """Records by licence and by language, counted from the indexes; for a manifest's tables."""
    licences: dict[str, int] = {}
    languages: dict[str, int] = {}
    for info in shards:
        index = read_index(folder, info)
        for license_, language in zip(index.license, index.language, strict=True):
            licences[license_] = licences.get(license_, 0) + 1
            languages[language] = languages.get(language, 0) + 1
    return dict(sorted(licences.items())), dict(sorted(languages.items()))
