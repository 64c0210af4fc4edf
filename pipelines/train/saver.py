"""Writes checkpoints beside the training: the loop waits for a copy in memory, the disk for nothing.

Odd: an error of the writing thread (a full disk) is raised in the loop, at the next step border or at the end.
"""

from collections.abc import Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from typing import Any

from torch import Tensor

from trivium.pipelines.train.checkpoint import CheckpointStore


class Saver:
    """At most one checkpoint is being written; a second one waits for it. `with` waits for the last."""

    def __init__(self, store: CheckpointStore) -> None:
        self._store = store
        self._thread = ThreadPoolExecutor(max_workers=1, thread_name_prefix="checkpoint")
        self._writing: Future[Path] | None = None

    def save(
        self, step: int, tensors: Mapping[str, Tensor], state: Mapping[str, Any], identity: Mapping[str, Any]
    ) -> None:
        """Copies everything and begins to write. Raises TrainError when the one before could not be written."""
        self.wait()
        copies = {name: tensor.detach().to("cpu", copy=True) for name, tensor in tensors.items()}
        self._writing = self._thread.submit(self._store.save, step, copies, dict(state), identity)

    def check(self) -> None:
        """Raises TrainError when writing has failed since."""
        if self._writing is not None and self._writing.done():
            self.wait()

    def wait(self) -> None:
        """Until the checkpoint that is being written stands. Raises TrainError."""
        writing, self._writing = self._writing, None
        if writing is not None:
            writing.result()

    def __enter__(self) -> "Saver":
        return self

    def __exit__(self, kind: object, *raised: object) -> None:
        """Waits; an error of the loop is not covered up by one of the disk."""
        try:
            if kind is None:
                self.wait()
        finally:
            self._thread.shutdown(wait=True)
