"""What a run left out: one line a piece in `skipped.jsonl`, and the share above which it stops.

`side` is `train`, or `held_out` for what evaluations miss; those lines stand at the step whose start met them first.

Odd: lines are written when their step is trained, not when the loader meets them, and cut back with the metrics; so the
file of a killed run equals that of an undisturbed one.
"""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import msgspec

from trivium.errors import TrainError
from trivium.pipelines.train.folder import CONFIG
from trivium.pipelines.train.loading.faults import Skip
from trivium.pipelines.train.metrics import MetricsLog, read_metrics

AT_LEAST = 1000  # documents: a budget of 1 % bears ten bad ones however early they come
SHOWN = 8  # keys in a metrics line


class Skipped:
    """Counts of documents read and left out so far, both of them state of the run.

    Of several ranks, all keep the counts and one `writes`.
    """

    def __init__(self, path: Path, most: float, *, writes: bool = True) -> None:
        self.path, self.most, self.writes = path, most, writes
        self.documents = self.skipped = 0
        self._log: MetricsLog | None = None

    def resume(self, state: Mapping[str, int]) -> None:
        """Takes up the counts of a checkpoint."""
        self.documents, self.skipped = state["documents"], state["skipped"]

    def begin(self, step: int) -> None:
        """Opens the file and cuts the lines behind `step`; -1 begins anew."""
        if not self.writes:
            return
        self._log = MetricsLog(self.path)
        self._log.cut(step)

    @property
    def state(self) -> dict[str, int]:
        return {"documents": self.documents, "skipped": self.skipped}

    def take(self, step: int, documents: int, skips: Sequence[Skip]) -> dict[str, Any] | None:
        """Notes what step `step` reads and leaves out; returns its part of the metrics line, None when whole.

        Raises TrainError when the share of bad documents is above the budget.
        """
        self.documents += documents
        if not skips:
            return None
        self.skipped += len(skips)
        assert self._log is not None or not self.writes
        for skip in skips if self._log is not None else ():
            self._log.write({"step": step, "side": "train", **msgspec.to_builtins(skip)})
        if self.skipped > self.most * max(self.documents, AT_LEAST):
            raise self._spent(step, skips)
        keys = list(dict.fromkeys(skip.key for skip in skips))
        return {"documents": len(skips), "tokens": sum(skip.tokens for skip in skips), "keys": keys[:SHOWN]}

    def miss(self, step: int, skips: Sequence[Skip]) -> int:
        """Notes what evaluations from step `step` on leave out; returns how many of them no earlier start noted.

        They count for no budget: nothing is trained on them.
        """
        assert self._log is not None
        seen = {(line["key"], line["start"]) for line in read_skipped(self.path) if line.get("side") == "held_out"}
        fresh = [skip for skip in skips if (skip.key, skip.start) not in seen]
        for skip in fresh:
            self._log.write({"step": step, "side": "held_out", **msgspec.to_builtins(skip)})
        return len(fresh)

    def _spent(self, step: int, skips: Sequence[Skip]) -> TrainError:
        last, config = skips[-1], self.path.with_name(CONFIG)  # which holds the run's --set options
        return TrainError(
            f"{self.skipped} of {self.documents} documents up to step {step} could not be used, more than "
            f"data.max_bad_fraction ({self.most:g}) bears; the last is {last.key} ({last.reason}: {last.detail}). All "
            f"are named in {self.path}: look at them with `trivium replay {config} --from {self.path}`, mend the "
            "shards (`trivium shards verify` names what is damaged), or raise the fraction"
        )

    def sync(self) -> None:
        """Forces the lines to the disk; called before the checkpoint that counts on them."""
        if self._log is not None:
            self._log.sync()

    def close(self) -> None:
        if self._log is not None:
            self._log.close()
            self._log = None


def read_skipped(path: Path) -> list[dict[str, Any]]:
    """All lines of a run's file; [] when there is none."""
    return read_metrics(path)
