"""`metrics.jsonl`: one JSON line a step, and one a held-out evaluation.

Odd: everything that depends on the clock stands under the one key `time`, so that two runs are equal when their lines
are equal without it. Lines are written whole, by one `write` each; a resumed run cuts the file back to its checkpoint.
"""

import math
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec

from trivium.errors import TrainError

Line = dict[str, Any]


class MetricsLog:
    """Appends lines to `path`; `cut` throws away what lies beyond a step."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._file = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o644)

    def write(self, line: Line) -> None:
        """One line; non-finite numbers become null (JSON has none). Raises TrainError when the disk is full."""
        raw = msgspec.json.encode(_finite(line)) + b"\n"
        before = os.fstat(self._file).st_size
        try:
            written = os.write(self._file, raw)
        except OSError as error:
            raise self._full(error.strerror) from None
        if written != len(raw):
            os.ftruncate(self._file, before)
            raise self._full("the line was cut short")

    def _full(self, why: str | None) -> TrainError:
        return TrainError(
            f"{self.path}: a line can't be written ({why}); free some space and give the same command again: "
            "it goes on from the last checkpoint"
        )

    def sync(self) -> None:
        """Forces lines to the disk; called before the checkpoint that counts on them."""
        os.fsync(self._file)

    def cut(self, step: int) -> int:
        """Drops every line after `step`, and a torn last line; returns the last step that stays (0: none)."""
        kept, last = 0, 0
        for raw in _whole_lines(self.path):
            try:
                line_step = msgspec.json.decode(raw)["step"]
            except (msgspec.DecodeError, KeyError, TypeError):
                break
            if line_step > step:
                break
            kept += len(raw)
            last = line_step
        os.ftruncate(self._file, kept)
        return last

    def close(self) -> None:
        os.close(self._file)


def read_metrics(path: Path) -> list[Line]:
    """All whole lines of a metrics file, a torn last line left out; [] when there is none."""
    if not path.is_file():
        return []
    return [msgspec.json.decode(raw) for raw in _whole_lines(path)]


def _whole_lines(path: Path) -> Iterator[bytes]:
    with path.open("rb") as file:
        for raw in file:
            if raw.endswith(b"\n"):
                yield raw


def _finite(value: Any) -> Any:
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, dict):
        return {key: _finite(inner) for key, inner in value.items()}
    if isinstance(value, list | tuple):
        return [_finite(inner) for inner in value]
    return value
