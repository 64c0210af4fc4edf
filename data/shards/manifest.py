"""`manifest.json`, which sums up a set, as a strict versioned struct; `trivium.data.shards.index` has what lies beside
each tar.

Odd: nothing in it depends on time, machine or number of workers, so equal sets have equal manifests, byte for byte. It
holds the sums of every shard by licence, language and length, so that counting a set reads no index.
"""

import hashlib
from pathlib import Path
from typing import Annotated, Any, TypeVar

import msgspec

from trivium.data.config import Strict
from trivium.data.patches import PictureRules
from trivium.data.shards import names
from trivium.data.shards.address import Place
from trivium.data.shards.storage import read_file, write_whole
from trivium.errors import InputError, ShardError

MANIFEST_FORMAT, MANIFEST_VERSION = "trivium.manifest", 2
MANIFEST_LIMIT = 512 << 20  # bytes

Count = Annotated[int, msgspec.Meta(ge=0, lt=1 << 62)]


class Bucket(Strict, frozen=True, kw_only=True):
    """A length bucket: records of at most `tokens` tokens (and more than the bucket before); None = no limit."""

    name: str
    tokens: int | None = None


ALL = Bucket(name="all")


class Sums(Strict, frozen=True, kw_only=True):
    """Sums over some records."""

    records: Count = 0
    tokens: Count = 0
    patches: Count = 0

    def __add__(self, other: "Sums") -> "Sums":
        return Sums(
            records=self.records + other.records,
            tokens=self.tokens + other.tokens,
            patches=self.patches + other.patches,
        )


class ShardInfo(Strict, frozen=True, kw_only=True):
    """One tar: sums over its records, its first and last id, and sha256 of the tar and of its index.

    `lengths` and `sizes` are histograms: at place p the records of 2^p ≤ tokens (or bytes) < 2^(p + 1), 0 counted as 1.
    """

    name: str
    bucket: str
    records: Count
    tokens: Count
    patches: Count
    images: Count
    bytes: Count
    first: str
    last: str
    licences: dict[str, Sums]
    languages: dict[str, Sums]
    lengths: Annotated[tuple[Count, ...], msgspec.Meta(max_length=62)]
    sizes: Annotated[tuple[Count, ...], msgspec.Meta(max_length=62)]
    sha256: str
    index_sha256: str


class FunnelStage(Strict, frozen=True, kw_only=True):
    """What one stage of a build took in, kept, and dropped by reason; `input` = kept + all dropped for a filter."""

    name: str
    input: int
    kept: int
    dropped: dict[str, int] = msgspec.field(default_factory=dict)


class RejectFile(Strict, frozen=True, kw_only=True):
    """One file of `rejects/`: how many it holds, and its sha256."""

    records: Count
    sha256: str


class Takedown(Strict, frozen=True, kw_only=True):
    """One `trivium shards drop`: what was asked by whom, on which day (UTC) and why, and the records and shards that it
    touched."""

    reason: str
    by: str
    when: str = ""
    ids: tuple[str, ...] = ()
    sources: tuple[str, ...] = ()
    licences: tuple[str, ...] = ()
    records: Count
    shards: tuple[str, ...]


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
    one was tokenised from. `limit`: a part of its corpus, made of that many items of each source. `write_manifest`
    fills in `reject_files`."""

    format: str = MANIFEST_FORMAT
    version: int = MANIFEST_VERSION
    corpus: str
    domain: str
    recipe: str
    resolved: dict[str, Any] = msgspec.field(default_factory=dict)
    limit: int | None = None
    tokenizer: str | None = None
    vocabulary: Vocabulary | None = None
    pictures: str | None = None
    picture_rules: PictureRules | None = None
    buckets: tuple[Bucket, ...] = (ALL,)
    shards: tuple[ShardInfo, ...] = ()
    licences: dict[str, int] = msgspec.field(default_factory=dict)
    languages: dict[str, int] = msgspec.field(default_factory=dict)
    funnel: tuple[FunnelStage, ...] = ()
    rejects: Count = 0
    reject_files: dict[str, RejectFile] = msgspec.field(default_factory=dict)
    takedowns: tuple[Takedown, ...] = ()
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


class _Envelope(msgspec.Struct, frozen=True):
    format: str = ""
    version: int = 0


S = TypeVar("S", bound=Strict)


def parse(payload: bytes, kind: type[S], path: Place, name: str, version: int) -> S:
    """Reads JSON of the format `name`. Raises ShardError naming `path`, the version found and what to do."""
    try:
        try:
            found = msgspec.json.decode(payload, type=kind)
            head = _Envelope(getattr(found, "format", ""), getattr(found, "version", 0))
        except msgspec.ValidationError:  # of another version, as likely as not
            head = msgspec.json.decode(payload, type=_Envelope)
            if (head.format, head.version) == (name, version):
                raise
        if (head.format, head.version) != (name, version):
            raise ShardError(
                f"{path}: format {head.format!r} version {head.version}; this code reads {name!r} version {version}: "
                "read it with the Trivium release that wrote it, or build the set again"
            )
        return found
    except RecursionError:
        raise ShardError(f"{path}: its values are nested too deep; our writer made no such file") from None
    except (msgspec.DecodeError, UnicodeDecodeError, ValueError) as error:
        raise ShardError(f"{path}: damaged ({error}); copy the file again, or build the set again") from None


def encode(value: Manifest) -> bytes:
    """Canonical bytes: sorted keys, indented, since people read it. A whole set says nothing of `limit`, so that its
    bytes, and the digest that runs know it by, are those of sets from before there were parts."""
    facts = msgspec.to_builtins(value)
    if value.limit is None:
        del facts["limit"]
    return msgspec.json.format(msgspec.json.encode(facts, order="sorted"), indent=2) + b"\n"


def read_manifest(folder: Place) -> tuple[Manifest, str]:
    """The manifest of a set and the sha256 of its bytes. Raises InputError (no folder), ShardError or StorageError."""
    path = folder / names.MANIFEST
    if isinstance(folder, Path) and not folder.is_dir():
        raise InputError(f"{folder}: no such folder; give the folder that holds {names.MANIFEST}")
    try:
        payload = read_file(path, MANIFEST_LIMIT)
    except ShardError:
        if isinstance(path, Path) and path.exists():
            raise
        raise ShardError(
            f"{folder}: no {names.MANIFEST}; either this is no shard set, or its build did not finish, or the file was "
            "lost: build the set again, or copy the file again"
        ) from None
    manifest = parse(payload, Manifest, path, MANIFEST_FORMAT, MANIFEST_VERSION)
    for info in manifest.shards:
        if not names.SHARD.fullmatch(info.name):  # a name with folders would lead out of the set
            raise ShardError(f"{path}: {info.name!r} is no shard name; copy the file again, or build the set again")
    for name in manifest.reject_files:
        if not names.REJECT.fullmatch(name):
            raise ShardError(f"{path}: {name!r} is no name of rejects; copy the file again, or build the set again")
    if len({info.name for info in manifest.shards}) != len(manifest.shards):
        raise ShardError(f"{path}: a shard is listed twice; copy the file again, or build the set again")
    return manifest, hashlib.sha256(payload).hexdigest()


def begin(folder: Path) -> None:
    """Opens a folder for (re)building: the old manifest goes first, so that a half-built set is never taken for one,
    then what an earlier build refused and what a killed one left."""
    (folder / names.SHARDS).mkdir(parents=True, exist_ok=True)
    (folder / names.REJECTS).mkdir(exist_ok=True)
    (folder / names.MANIFEST).unlink(missing_ok=True)
    for left in (*folder.glob(".*.tmp"), *folder.glob("*/.*.tmp"), *(folder / names.REJECTS).glob("*.jsonl")):
        left.unlink(missing_ok=True)


def write_manifest(folder: Path, manifest: Manifest) -> Manifest:
    """The last step of a build: names the set whole, atomically, with the rejects that lie there, and then removes
    shards of an earlier run that this one does not list. Returns what was written."""
    whole = msgspec.structs.replace(manifest, reject_files=_reject_files(folder))
    write_whole(folder / names.MANIFEST, encode(whole))
    remove_unlisted(folder, whole)
    return whole


def _reject_files(folder: Path) -> dict[str, RejectFile]:
    found = {}
    for path in sorted((folder / names.REJECTS).glob("*.jsonl")):
        payload = path.read_bytes()
        found[path.name] = RejectFile(records=payload.count(b"\n"), sha256=hashlib.sha256(payload).hexdigest())
    return found


def remove_unlisted(folder: Path, manifest: Manifest) -> None:
    """Deletes shards, indexes and rejects of ours that the manifest does not list, and what killed writers left."""
    listed = {shard.name for shard in manifest.shards}
    listed |= {names.index_name(name) for name in listed}
    for path in (folder / names.SHARDS).glob("*"):
        if path.name not in listed and names.SHARD.fullmatch(path.name.replace(".idx.json", ".tar")):
            path.unlink()
    for path in (folder / names.REJECTS).glob("*.jsonl"):
        if path.name not in manifest.reject_files:
            path.unlink()
    for left in (*folder.glob(".*.tmp"), *folder.glob("*/.*.tmp")):
        left.unlink(missing_ok=True)
