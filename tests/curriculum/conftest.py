"""Synthetic catalogues and schedules: factories, session-wide so that hypothesis may use them."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pytest

from trivium.curriculum.catalogue import Catalogue
from trivium.curriculum.schedule import Schedule
from trivium.data.config import from_mapping

BOUNDS = (256, 1024, 4096)
BUCKETS = ("256", "1024", "4096", "8192")

MakeCatalogue = Callable[..., Catalogue]
MakeSchedule = Callable[..., Schedule]


@pytest.fixture(scope="session")
def make_catalogue() -> MakeCatalogue:
    def make(
        corpus: str,
        tokens: Sequence[int],
        patches: Sequence[int] | None = None,
        clusters: Sequence[str] | None = None,
        ids: Sequence[str] | None = None,
    ) -> Catalogue:
        sizes = np.asarray(tokens, dtype=np.int64)
        names = [f"{corpus}{i}" for i in range(len(sizes))]
        return Catalogue(
            corpus=corpus,
            tokens=sizes,
            patches=np.asarray(patches if patches is not None else np.zeros(len(sizes)), dtype=np.int64),
            bucket=np.searchsorted(BOUNDS, sizes).astype(np.int64),
            buckets=BUCKETS,
            cluster=np.array(names if clusters is None else clusters, dtype=np.str_),
            id=np.array(names if ids is None else ids, dtype=np.str_),
        )

    return make


@pytest.fixture(scope="session")
def make_schedule() -> MakeSchedule:
    def make(stages: Sequence[dict[str, Any]], **changes: Any) -> Schedule:
        corpora = {name: {"path": name} for stage in stages for name in stage["mixture"]}
        named = [{"name": f"s{number}"} | stage for number, stage in enumerate(stages)]
        raw = {"version": 1, "seed": 5, "corpora": corpora, "lr": {"peak": 0.002}, "stages": named}
        return from_mapping(raw | changes, Schedule, name="test.yaml")

    return make


@pytest.fixture(scope="session")
def mixed(make_catalogue: MakeCatalogue) -> dict[str, Catalogue]:
    """Text of 2 to 3000 tokens and pictures' documents, fixed for golden digests."""
    rng = np.random.default_rng(20261129)
    text = np.exp(rng.normal(5.0, 1.2, 400)).astype(np.int64) % 3000 + 2
    pictures = rng.integers(1, 9, 150) * 4
    return {
        "web": make_catalogue("web", text),
        "svg": make_catalogue("svg", pictures // 4 + rng.integers(20, 400, 150), pictures),
    }
