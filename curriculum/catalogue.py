"""What the curriculum needs to know of a corpus: one row of numbers a document, in columns; and who is held out."""

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import numpy.typing as npt

from trivium.curriculum.lengths import Columns, Integers, Runs, kept
from trivium.curriculum.schedule import HeldOut


@dataclass(frozen=True, kw_only=True)
class Catalogue:
    """N documents of one tokenised corpus: record i of its shard set is row i of every column.

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

    def document(self, record: int) -> str:
        """The content id of a record."""
        return str(self.id[record])


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


def split(catalogues: Mapping[str, Catalogue], rule: HeldOut) -> dict[str, Split]:
    """Divides every corpus by dedup cluster, never by record: a cluster is on one side in all corpora.

    A document without a cluster stands for itself. A cluster is held out when the hash of (salt, cluster) falls below
    `fraction` of its range.
    """
    held = {name: _held(catalogue, rule) for name, catalogue in catalogues.items()}
    kept_ids = [catalogue.id[held[name]] for name, catalogue in sorted(catalogues.items())]
    held_ids = np.unique(np.concatenate(kept_ids)) if kept_ids else np.empty(0, dtype=np.str_)
    sides = {}
    for name, catalogue in catalogues.items():
        twin = np.isin(catalogue.id, held_ids) & ~held[name] if held_ids.size else np.zeros(len(catalogue), dtype=bool)
        sides[name] = Split(len(catalogue), np.flatnonzero(held[name]), np.flatnonzero(twin))
    return sides


def columns_of(catalogue: Catalogue, side: Split, folder: Path | None) -> Columns:
    """The sizes that a plan reads, with held-out documents and twins at 0 tokens; mapped from `folder` when given."""

    def make() -> dict[str, npt.NDArray[np.generic]]:
        tokens = catalogue.tokens.astype(np.uint32)
        tokens[side.held_out] = tokens[side.twins] = 0
        made: dict[str, npt.NDArray[np.generic]] = {"tokens": tokens}
        if catalogue.patches.any():
            made["patches"] = catalogue.patches.astype(np.uint32)
        return made

    arrays = kept(folder, make)
    buckets = tuple(Runs.of(catalogue.bucket == number) for number in range(len(catalogue.buckets)))
    return Columns(arrays["tokens"], arrays.get("patches"), buckets)


def _held(catalogue: Catalogue, rule: HeldOut) -> npt.NDArray[np.bool_]:
    if not rule.fraction or not len(catalogue):
        return np.zeros(len(catalogue), dtype=bool)
    names = np.where(catalogue.cluster == "", catalogue.id, catalogue.cluster)
    clusters, member = np.unique(names, return_inverse=True)
    limit = int(rule.fraction * 2**64)
    salt = rule.salt.encode() + b"\x1f"
    chosen = [_hash(salt + str(cluster).encode()) < limit for cluster in clusters]
    return np.array(chosen, dtype=bool)[member.reshape(-1)]


def _hash(payload: bytes) -> int:
    return int.from_bytes(hashlib.blake2b(payload, digest_size=8).digest(), "little")
