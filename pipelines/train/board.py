"""TensorBoard events beside the metrics: the same numbers for those who look there. Optional."""

import importlib.util
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any


class Board:
    """Writes scalars of metrics lines; `purge` tells TensorBoard to forget what a killed run wrote after that step."""

    def __init__(self, folder: Path, *, purge: int) -> None:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # its protobuf and distutils imports warn
            from torch.utils.tensorboard import SummaryWriter
        self._writer = SummaryWriter(str(folder), purge_step=purge, max_queue=200, flush_secs=30)

    def write(self, line: dict[str, Any]) -> None:
        for name, value in _scalars(line):
            self._writer.add_scalar(name, value, line["step"])

    def sync(self) -> None:
        self._writer.flush()

    def close(self) -> None:
        self._writer.close()


def open_board(folder: Path, *, purge: int, note: Callable[[str], None]) -> Board | None:
    """None, and one line to `note`, where tensorboard is not installed."""
    if importlib.util.find_spec("tensorboard") is None:
        note("TensorBoard events are left out: tensorboard is not installed (pip install tensorboard)")
        return None
    return Board(folder, purge=purge)


def _scalars(line: dict[str, Any]) -> list[tuple[str, float]]:
    """`loss/text`, `held_out/image`, `time/step` …: numbers one level deep; lists as `name/max/mean` are left out."""
    scalars: list[tuple[str, float]] = []
    held = line["kind"] == "held_out"
    for key, value in line.items():
        if held and isinstance(value, dict) and "loss" in value:
            scalars.append((f"held_out/{key}", value["loss"]))
        elif isinstance(value, dict):
            prefix = "experts" if key == "experts" else key
            for inner, number in value.items():
                if isinstance(number, int | float):
                    scalars.append((f"{prefix}/{inner}", float(number)))
                elif inner == "max_over_mean":
                    scalars.append((f"{prefix}/max_over_mean", max(number)))
        elif isinstance(value, int | float) and key not in ("step", "stage", "context"):
            scalars.append((f"train/{key}", float(value)))
    return scalars
