"""Near duplicates among texts: MinHash signatures, verified by the texts' sets of n-grams."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from trivium.data.dedup.near import NearDedup
from trivium.data.dedup.shingles import shingle
from trivium.data.dedup.signature import sign_rows
from trivium.data.dedup.sketches import Set, compact
from trivium.data.stage import Draft
from trivium.pipelines.corpora.shuffles import banded
from trivium.pipelines.corpora.work import Work


def run(work: Work, name: str, near: NearDedup) -> None:
    """One record of each cluster of near duplicates stays."""
    banded.run(work, name, near, Texts(near))


class Texts:
    """Signatures and shingle sets of texts that are long enough to compare."""

    def __init__(self, near: NearDedup) -> None:
        self._near = near

    def open(self) -> None:
        self._spec = self._near.spec

    def close(self) -> None:
        pass

    def sketches(self, drafts: Sequence[Draft]) -> tuple[Any, list[Set | None]]:
        found = shingle([draft.document.text for draft in drafts], self._near.ngram)
        values = sign_rows(found.hashes, found.offsets, self._spec)
        enough = (np.diff(found.offsets) > 0) & (found.words >= self._near.min_words)
        parts = (found.hashes[found.offsets[i] : found.offsets[i + 1]] for i in range(len(drafts)))
        return values, [compact(part) if use else None for part, use in zip(parts, enough.tolist(), strict=True)]
