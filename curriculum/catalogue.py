"""What the curriculum needs to know of a corpus: one row of numbers a document, in columns; no file is opened here."""

import hashlib
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from trivium.curriculum.schedule import HeldOut

Integers = npt.NDArray[np.int64]


@dataclass(frozen=True, kw_only=True)
class Catalogue:
    """N documents of one tokenised corpus: record i of its shard set is row i of every column.

    `tokens` and `patches` count; `bucket` indexes `buckets`; `cluster` and `id` are texts (near-duplicate cluster and
    content id). `identity` tells two shard sets of equal sizes apart (digest of the shards).
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
        for column in (self.tokens, self.patches, self.bucket):
            sums.update(np.ascontiguousarray(column, dtype=np.int64).tobytes())
        for texts in (self.cluster, self.id):
            sums.update("\n".join(texts.tolist()).encode())
        object.__setattr__(self, "digest", sums.hexdigest()[:16])

    def __len__(self) -> int:
        return len(self.tokens)


@dataclass(frozen=True)
class Split:
    """Record numbers of one corpus, ascending: for training, held out, and left out of both.

    `twins` have the content of a held-out document of another cluster or corpus, so they may not be trained on.
    """

    train: Integers
    held_out: Integers
    twins: Integers


def split(catalogues: dict[str, Catalogue], rule: HeldOut) -> dict[str, Split]:
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
        train = ~held[name] & ~twin
        sides[name] = Split(np.flatnonzero(train), np.flatnonzero(held[name]), np.flatnonzero(twin))
    return sides


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
