"""What the curriculum needs to know of a corpus: one row of numbers a document, in columns; and who is held out.

Odd: a corpus is read in parts and never as a whole. What a plan needs of each document is 16 bytes (`Sizes`), kept in
files where there are many documents; of names only those of the part at hand are in memory.
"""

import hashlib
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from trivium.curriculum.kept import Arrays, kept, kept_numbers
from trivium.curriculum.lengths import SCAN, Columns, Integers, Runs
from trivium.curriculum.schedule import HeldOut
from trivium.data.config import digest

Names = npt.NDArray[np.str_] | npt.NDArray[np.bytes_]
Numbers = npt.NDArray[Any]  # of a whole type

_SIZES: Mapping[str, npt.DTypeLike] = {"tokens": np.uint32, "patches": np.uint32, "key": np.uint64}
_FNV_START, _FNV_PRIME = np.uint64(0xCBF29CE484222325), np.uint64(0x100000001B3)  # FNV-1a


@dataclass(frozen=True)
class Part:
    """Consecutive documents: tokens, patches, near-duplicate cluster ("" where none) and content id of each."""

    tokens: Numbers
    patches: Numbers
    cluster: Names
    id: Names


class Listed(Protocol):
    """A corpus that exists: its documents by number, in parts; `digest` names them all."""

    @property
    def corpus(self) -> str: ...

    @property
    def digest(self) -> str: ...

    @property
    def buckets(self) -> tuple[str, ...]:
        """Names of the length buckets."""

    def __len__(self) -> int: ...

    def runs(self) -> tuple[Runs, ...]:
        """The records of each bucket."""

    def parts(self) -> Iterator[Part]:
        """All documents in the order of their numbers."""

    def document(self, record: int) -> str:
        """The content id of a record."""


@dataclass(frozen=True, kw_only=True)
class Catalogue:
    """N documents of one tokenised corpus in memory: record i of its shard set is row i of every column.

    `tokens` and `patches` count; `bucket` indexes `buckets`; `cluster` and `id` are texts (near-duplicate cluster and
    content id). `identity` is the digest of the shards; where there is none, the columns themselves are digested.
    """

    corpus: str
    tokens: Integers
    patches: Integers
    bucket: Integers
    buckets: tuple[str, ...]
    cluster: npt.NDArray[np.str_]
    id: npt.NDArray[np.str_]
    identity: str = ""
    digest: str = field(init=False)

    def __post_init__(self) -> None:
        columns = (self.tokens, self.patches, self.bucket, self.cluster, self.id)
        if len({len(column) for column in columns}) != 1:
            raise ValueError(f"the columns of corpus {self.corpus!r} differ in length: {[len(c) for c in columns]}")
        sums = hashlib.sha256("\x1f".join((self.corpus, self.identity, *self.buckets)).encode())
        if not self.identity:
            for column in (self.tokens, self.patches, self.bucket):
                sums.update(np.ascontiguousarray(column, dtype=np.int64).tobytes())
            for texts in (self.cluster, self.id):
                sums.update("\n".join(texts.tolist()).encode())
        object.__setattr__(self, "digest", sums.hexdigest()[:16])

    def __len__(self) -> int:
        return len(self.tokens)

    def runs(self) -> tuple[Runs, ...]:
        return tuple(Runs.of(self.bucket == number) for number in range(len(self.buckets)))

    def parts(self) -> Iterator[Part]:
        tokens, patches = np.asarray(self.tokens), np.asarray(self.patches)
        yield Part(tokens, patches, np.asarray(self.cluster), np.asarray(self.id))

    def document(self, record: int) -> str:
        return str(self.id[record])


@dataclass(frozen=True)
class Sizes:
    """What a plan needs to know of each document of a corpus; `held_out` are record numbers, ascending.

    `key` is a 64-bit hash of the content id: two documents of one key count as one content. No document has patches
    where `patches` is None.
    """

    tokens: Numbers
    patches: Numbers | None
    key: Numbers
    held_out: Integers

    def patches_of(self, records: Integers) -> Integers:
        """Patches of some records."""
        return np.zeros(len(records), np.int64) if self.patches is None else self.patches[records].astype(np.int64)


@dataclass(frozen=True)
class Split:
    """Record numbers of one corpus of `records` documents, ascending: held out, and left out of both sides.

    `twins` have the content of a held-out document of another cluster or corpus, so they may not be trained on.
    """

    records: int
    held_out: Integers
    twins: Integers

    @property
    def train(self) -> Integers:
        """All other record numbers, in a new array."""
        mask = np.ones(self.records, dtype=bool)
        mask[self.held_out] = mask[self.twins] = False
        return np.flatnonzero(mask)

    @property
    def digest(self) -> str:
        """Names which records are not trained on."""
        parts = (self.held_out, self.twins)
        return hashlib.sha256(b"\x1f".join(np.asarray(p, dtype=np.int64).tobytes() for p in parts)).hexdigest()[:16]


def sizes_of(listed: Listed, rule: HeldOut, cache: Path | None, progress: Callable[[int], None] | None = None) -> Sizes:
    """Reads a corpus once; with a `cache` folder what is found is kept there under the corpus's digest, and mapped.

    `progress` is told how many documents are read. Raises InputError when the folder can't be written.
    """
    held: list[Integers] = []

    def read() -> Iterator[Mapping[str, Numbers]]:
        held.clear()
        first = 0
        for part in listed.parts():
            held.append(first + np.flatnonzero(_held(part, rule)))
            first += len(part.tokens)
            if progress is not None:
                progress(first)
            yield {"tokens": part.tokens, "patches": part.patches, "key": key_of(part.id)}

    folder = None if cache is None else cache / f"sizes-{listed.digest}"
    arrays = kept(folder, len(listed), _SIZES, read)
    path = None if cache is None else cache / f"held-{listed.digest}-{digest(rule)}.npy"

    def found() -> Integers:
        if not held and rule.fraction:
            for _ in read():
                pass
        return np.concatenate([np.empty(0, dtype=np.int64), *held])

    numbers = kept_numbers(path, found)
    tokens, key = (_column(arrays, name, len(listed)) for name in ("tokens", "key"))
    return Sizes(tokens, arrays.get("patches"), key, numbers)


def split_sizes(sizes: Mapping[str, Sizes], cache: Path | None = None, key: str = "") -> dict[str, Split]:
    """Both sides of every corpus: what is held out, and the twins of it in all; `key` names all that for `cache`."""
    held = np.unique(np.concatenate([np.empty(0, np.uint64), *(one.key[one.held_out] for one in sizes.values())]))
    sides = {}
    for name, one in sizes.items():

        def twins(keys: Numbers = one.key) -> Integers:
            found = [np.empty(0, dtype=np.int64)]
            for at in range(0, len(keys) if len(held) else 0, SCAN):
                found.append(at + np.flatnonzero(np.isin(keys[at : at + SCAN], held)))
            return np.concatenate(found)

        same = kept_numbers(None if cache is None else cache / f"twins-{key}-{name}.npy", twins)
        sides[name] = Split(len(one.tokens), one.held_out, np.setdiff1d(same, one.held_out))
    return sides


def split(catalogues: Mapping[str, Listed], rule: HeldOut) -> dict[str, Split]:
    """Divides every corpus by dedup cluster, never by record: a cluster is on one side in all corpora.

    A document without a cluster stands for itself. A cluster is held out when the hash of (salt, cluster) falls below
    `fraction` of its range.
    """
    return split_sizes({name: sizes_of(listed, rule, None) for name, listed in catalogues.items()})


def columns_of(listed: Listed, sizes: Sizes, side: Split, folder: Path | None) -> Columns:
    """The sizes that a plan reads, with held-out documents and twins at 0 tokens; mapped from `folder` when given."""
    out = np.union1d(side.held_out, side.twins)

    def masked() -> Iterator[Mapping[str, Numbers]]:
        for at in range(0, len(sizes.tokens), SCAN):
            tokens = np.array(sizes.tokens[at : at + SCAN])
            tokens[out[np.searchsorted(out, at) : np.searchsorted(out, at + SCAN)] - at] = 0
            yield {"tokens": tokens}

    tokens = sizes.tokens
    if len(out):
        kinds = {"tokens": _SIZES["tokens"]}
        tokens = _column(kept(folder, side.records, kinds, masked), "tokens", side.records)
    return Columns(tokens, sizes.patches, listed.runs())


def key_of(names: Names) -> Numbers:
    """A 64-bit hash of each name (FNV-1a over its bytes)."""
    texts = np.asarray(names, np.bytes_) if names.dtype.kind == "S" else np.char.encode(names.astype(np.str_), "utf-8")
    width = texts.dtype.itemsize
    letters = np.ascontiguousarray(texts).view(np.uint8).reshape(len(texts), width)
    sums = np.full(len(texts), _FNV_START)
    for place in range(width):
        letter = letters[:, place].astype(np.uint64)
        sums = np.where(letter > 0, (sums ^ letter) * _FNV_PRIME, sums)  # a name ends at its first zero
    return sums


def _column(arrays: Arrays, name: str, records: int) -> Numbers:
    """The column, or a row of zeros that takes no memory."""
    found = arrays.get(name)
    return np.broadcast_to(np.zeros(1, _SIZES[name]), (records,)) if found is None else found


def _held(part: Part, rule: HeldOut) -> npt.NDArray[np.bool_]:
    if not rule.fraction or not len(part.tokens):
        return np.zeros(len(part.tokens), dtype=bool)
    names = np.where(np.asarray(part.cluster) == part.cluster.dtype.type(), part.id, part.cluster)
    clusters, member = np.unique(names, return_inverse=True)
    limit = int(rule.fraction * 2**64)
    salt = rule.salt.encode() + b"\x1f"
    encoded = (name if isinstance(name, bytes) else name.encode() for name in clusters.tolist())
    chosen = [_hash(salt + name) < limit for name in encoded]
    return np.array(chosen, dtype=bool)[member.reshape(-1)]


def _hash(payload: bytes) -> int:
    return int.from_bytes(hashlib.blake2b(payload, digest_size=8).digest(), "little")
