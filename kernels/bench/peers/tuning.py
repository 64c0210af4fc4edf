"""How much of a peer's tuning the comparison waits for."""

import importlib.util
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

__all__ = ["FEW", "few_configurations"]

FEW = 2  # the first may not fit the device


@contextmanager
def few_configurations() -> Iterator[None]:
    """Inside, Triton's autotuners try the first two configurations of a kernel instead of dozens.

    For errors only, never for figures of speed: which tiles a kernel takes hardly moves its rounding, and tuning every
    hard case takes fla-core minutes. Choices made before stay.
    """
    if importlib.util.find_spec("triton") is None:
        yield
        return
    from triton.runtime.autotuner import Autotuner

    whole = Autotuner.prune_configs

    def few(tuner: Any, arguments: dict[str, Any]) -> list[Any]:
        return whole(tuner, arguments)[:FEW]

    Autotuner.prune_configs = few  # type: ignore[method-assign]
    try:
        yield
    finally:
        Autotuner.prune_configs = whole  # type: ignore[method-assign]
