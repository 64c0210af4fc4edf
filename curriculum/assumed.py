"""Corpora that exist on paper: sizes given as a distribution, so that a schedule is checked before any corpus is built.

Odd: no length is stored. Documents fall into 16384 equal parts that ascend in length, so that record numbers give
lengths, buckets are ranges, 10^10 documents take no memory, and their sums need no scan; the shuffle makes an order of
them as of any corpus.
"""

import hashlib
import math
from collections.abc import Iterator
from functools import cached_property
from pathlib import Path
from statistics import NormalDist

import numpy as np

from trivium.curriculum.lengths import Integers, Runs
from trivium.curriculum.schedule import Schedule
from trivium.curriculum.stage import PATCHES_A_TOKEN
from trivium.data.config import Strict, digest, load_yaml, to_mapping
from trivium.data.shards import parse_buckets
from trivium.errors import ConfigError, UsageError

_KNOTS = 1 << 14  # equal parts of a corpus; all documents of one part have one length


class Lengths(Strict, frozen=True, kw_only=True):
    """Tokens of a document: log-normal with this `mean` and spread `sigma` of the logarithm, within [min, max].

    Or `quantiles`, a list of [share of the documents, tokens] from share 0 to share 1; between them the logarithm is a
    line.
    """

    mean: float | None = None
    sigma: float = 1.0
    min: int = 2
    max: int = 1 << 20
    quantiles: tuple[tuple[float, float], ...] | None = None

    def __post_init__(self) -> None:
        if (self.mean is None) == (self.quantiles is None):
            raise ValueError("give either mean (and sigma) or quantiles")
        if not 1 <= self.min <= self.max or not 0 <= self.sigma <= 5 or (self.mean is not None and self.mean < 1):
            raise ValueError("mean must be 1 or more, sigma from 0 to 5, and 1 <= min <= max")
        shares = [share for share, _ in self.quantiles or ((0.0, 1.0), (1.0, 1.0))]
        lengths = [tokens for _, tokens in self.quantiles or ()]
        if shares[0] != 0 or shares[-1] != 1 or shares != sorted(set(shares)) or lengths != sorted(lengths):
            raise ValueError("quantiles must ascend, in shares from 0 to 1 and in tokens")
        if lengths and lengths[0] < 1:
            raise ValueError("quantiles begin at 1 token or more")

    def knots(self) -> Integers:
        """Tokens at the middles of `_KNOTS` equal parts of the documents, ascending."""
        places = (np.arange(_KNOTS) + 0.5) / _KNOTS
        if self.quantiles is not None:
            shares, lengths = zip(*self.quantiles, strict=True)
            return np.exp(np.interp(places, shares, np.log(lengths))).round().astype(np.int64)
        normal = NormalDist(math.log(self.mean or 1.0) - self.sigma**2 / 2, self.sigma or 1e-12)
        found = np.exp([normal.inv_cdf(float(place)) for place in places])
        return found.clip(self.min, self.max).round().astype(np.int64)


class Assumed(Strict, frozen=True, kw_only=True):
    """One corpus on paper; `vision` is the share of picture tokens in each of its documents."""

    documents: int
    lengths: Lengths
    vision: float = 0.0

    def __post_init__(self) -> None:
        if self.documents < 1:
            raise ValueError(f"documents is {self.documents}; give at least 1")
        if not 0.0 <= self.vision < 1.0:
            raise ValueError(f"vision is {self.vision:g}; give a share of the tokens, at least 0 and below 1")


class Assumptions(Strict, frozen=True, kw_only=True):
    """The file behind `--assume`: corpora by their names in the schedule, and the bounds of the length buckets."""

    corpora: dict[str, Assumed]
    buckets: str = "8k,64k,256k,1m"


class AssumedCorpus:
    """A corpus on paper as a plan reads it; nothing of it is held out."""

    def __init__(self, corpus: str, rules: Assumed, buckets: str) -> None:
        bounds = parse_buckets(buckets)
        self.corpus, self.rules = corpus, rules
        self.buckets = tuple(bucket.name for bucket in bounds)
        self._bounds = [bucket.tokens for bucket in bounds]
        self._knots = rules.lengths.knots()
        self.digest = digest(["assumed", corpus, to_mapping(rules), buckets])

    def __len__(self) -> int:
        return self.rules.documents

    @cached_property
    def _ends(self) -> list[int]:
        """The first record of each bucket, and the number of records."""
        ends = [0]
        for bound in self._bounds[:-1]:
            low, high = ends[-1], len(self)
            while low < high:
                middle = (low + high) // 2
                if bound is None or self._tokens(np.array([middle], dtype=np.int64))[0] <= bound:
                    low = middle + 1
                else:
                    high = middle
            ends.append(low)
        return [*ends, len(self)]

    def runs(self, bucket: int) -> Runs:
        start, stop = self._ends[bucket], self._ends[bucket + 1]
        if start == stop:
            return Runs.between(np.empty(0, dtype=np.int64), np.empty(0, dtype=np.int64))
        return Runs.between(np.array([start]), np.array([stop]))

    def sizes(self, records: Integers) -> tuple[Integers, Integers]:
        return self._both(self._tokens(records))

    def _both(self, tokens: Integers) -> tuple[Integers, Integers]:
        if not self.rules.vision:
            return tokens, np.zeros(len(tokens), dtype=np.int64)
        pictures = np.minimum((tokens * self.rules.vision).astype(np.int64) + 1, tokens - 1)
        return tokens, PATCHES_A_TOKEN * pictures.clip(0)

    def _tokens(self, records: Integers) -> Integers:
        return self._knots[records * _KNOTS // len(self)]

    def groups(self, bucket: int) -> Iterator[tuple[Integers, Integers, Integers]]:
        places = np.arange(_KNOTS + 1, dtype=np.int64)
        borders = (-(-places * len(self) // _KNOTS)).clip(self._ends[bucket], self._ends[bucket + 1])
        count = np.diff(borders)
        tokens, patches = self._both(self._knots[count > 0])
        yield tokens, patches, count[count > 0]

    def document(self, record: int) -> str:
        """A made-up content id."""
        return hashlib.sha256(f"{self.digest}/{record}".encode()).hexdigest()[:26]


def assumed_corpora(path: Path, schedule: Schedule) -> dict[str, AssumedCorpus]:
    """The corpora of a schedule as `path` (YAML) describes them. Raises InputError and ConfigError."""
    given = load_yaml(path, Assumptions)
    try:
        parse_buckets(given.buckets)
    except UsageError as error:
        raise ConfigError(f"{path}: buckets: {error}") from None
    missing = sorted(set(schedule.corpora) - set(given.corpora))
    if missing:
        raise ConfigError(f"{path}: corpora: describes no {', '.join(missing)}, which the schedule reads; add it")
    return {name: AssumedCorpus(name, given.corpora[name], given.buckets) for name in schedule.corpora}
