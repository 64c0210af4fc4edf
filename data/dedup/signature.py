"""MinHash signatures by rensa (fast) or datasketch (reference) behind one versioned type; mixes are refused.

Odd: a signature begins with the digest of everything that made it (engine and its algorithm version, permutations,
seed, n-gram, normaliser), because rensa changed its algorithm once and values carry no trace of it.
"""

import struct
from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import Literal

import msgspec
import numpy as np
import numpy.typing as npt

from trivium.data.config import digest
from trivium.data.dedup.shingles import shingle
from trivium.data.dedup.words import NORMALISER, NORMALISER_VERSION, Counts, Hashes
from trivium.errors import DigestError

Engine = Literal["rensa", "datasketch"]
HEAD = 8  # bytes of the spec's digest before the values
GROUP = 64  # texts whose values are Python's integers at once: they stay in the cache

Values = npt.NDArray[np.uint32]


class Spec(msgspec.Struct, frozen=True, kw_only=True):
    """How signatures are made; equal specs make comparable signatures."""

    engine: Engine
    algorithm: str
    permutations: int
    seed: int
    ngram: int
    normaliser: str = NORMALISER
    normaliser_version: int = NORMALISER_VERSION

    @property
    def head(self) -> bytes:
        return bytes.fromhex(digest(self))


def spec(engine: Engine, *, permutations: int, seed: int, ngram: int) -> Spec:
    """The spec of an engine as it is installed."""
    if engine == "rensa":
        from rensa import RMinHash

        algorithm = f"r-minhash-{RMinHash.ALGORITHM_VERSION}"
    else:
        algorithm = "affine32"
    return Spec(engine=engine, algorithm=algorithm, permutations=permutations, seed=seed, ngram=ngram)


def sign(text: str, made: Spec, *, min_words: int) -> bytes:
    """The signature's bytes, or b"" for a text too short to compare (it never enters the bands)."""
    return sign_texts([text], made, min_words=min_words)[0]


def sign_texts(texts: Sequence[str], made: Spec, *, min_words: int) -> list[bytes]:
    """Like `sign`, for many texts at once: a few hundred kB of them cost a third of what single texts do."""
    found = shingle(texts, made.ngram)
    enough = (np.diff(found.offsets) > 0) & (found.words >= min_words)
    head, rows = made.head, _packed(found.hashes, found.offsets, made)
    return [head + row if use else b"" for row, use in zip(rows, enough.tolist(), strict=True)]


def sign_rows(hashes: Hashes, offsets: Counts, made: Spec) -> Values:
    """One row of `permutations` values for each text, whose shingle hashes are `hashes[offsets[i]:offsets[i + 1]]`."""
    rows = b"".join(_packed(hashes, offsets, made))
    return np.frombuffer(rows, dtype="<u4").reshape(len(offsets) - 1, made.permutations)


def _packed(hashes: Hashes, offsets: Counts, made: Spec) -> Iterator[bytes]:
    """The values of each text as they are stored."""
    if made.engine == "datasketch":
        for start, stop in pairwise(offsets.tolist()):
            yield _datasketch(hashes[start:stop], made).astype("<u4").tobytes()
        return
    from rensa import RMinHash

    pack = struct.Struct(f"<{made.permutations}I").pack  # a quarter of the time of an array made of lists
    for first in range(0, len(offsets) - 1, GROUP):
        places = offsets[first : first + GROUP + 1]
        part = hashes[places[0] : places[-1]]
        rows = RMinHash.digest_matrix_from_flat_token_hashes(
            part, (places - places[0]).tolist(), made.permutations, made.seed
        )
        for row in rows.to_rows():
            yield pack(*row)


def sign_hashes(hashes: Hashes, made: Spec) -> bytes:
    """Like `sign`, from shingle hashes."""
    if not len(hashes):
        return b""
    offsets = np.array([0, len(hashes)], dtype=np.int64)
    return made.head + next(_packed(hashes, offsets, made))


def _datasketch(hashes: Hashes, made: Spec) -> Values:
    from datasketch import MinHash

    sketch = MinHash(num_perm=made.permutations, seed=made.seed, hashfunc=int, scheme="affine32")
    if len(hashes):
        sketch.update_batch((hashes >> np.uint64(32)).astype(np.uint32))
    return np.asarray(sketch.hashvalues, dtype=np.uint32)


def values_of(signature: bytes) -> Values:
    return np.frombuffer(signature, dtype="<u4", offset=HEAD)


def estimate(a: bytes, b: bytes) -> float:
    """Estimated Jaccard similarity: the share of equal values; standard error sqrt(J (1 - J) / permutations).

    Raises DigestError when the two were not made in the same way.
    """
    if a[:HEAD] != b[:HEAD] or len(a) != len(b):
        raise DigestError(
            f"MinHash signatures of two makes ({a[:HEAD].hex()} and {b[:HEAD].hex()}) can't be compared; sign both "
            "sets again with the same engine, version, seed and n-gram"
        )
    return float(np.mean(values_of(a) == values_of(b)))
