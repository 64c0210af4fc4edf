"""Leaving a step in its middle: between two blocks of the model, forwards or backwards, when a stop is asked for.

Odd: nothing has to be undone. Parameters and optimizer change only behind the backward pass, and the counts that a
forward pass leaves (load, margins, logit maxima) are no part of a checkpoint; so the state of the last whole step can
be saved from here, and a run that goes on trains the step that was left from its beginning, to the same bits.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from torch import Tensor, nn

BLOCKS = ("attn", "mlp")  # of the backbone's layers and the MTP layer; the vision tower's blocks are watched whole


class StepLeftError(Exception):
    """Raised inside a step that is left; the loop catches it and saves."""


class Leaving:
    """Watches a model's blocks; inside `armed`, the next one raises StepLeftError once `asked` says so."""

    def __init__(self, model: nn.Module, asked: Callable[[], bool]) -> None:
        self._asked, self._armed = asked, False
        for name, module in model.named_modules():
            parts = name.split(".")
            if parts[-1] in BLOCKS or parts[-2:-1] == ["blocks"]:
                module.register_forward_hook(self._behind)

    @contextmanager
    def armed(self) -> Iterator[None]:
        """Around a training step, and nothing else: an evaluation counts only when it is whole."""
        self._armed = True
        try:
            yield
        finally:
            self._armed = False

    def _behind(self, module: nn.Module, inputs: Any, output: Any) -> None:
        """Forwards: looks now, and lets the backward pass look when it comes by here."""
        if not self._armed:
            return
        self._look()
        for tensor in output if isinstance(output, tuple) else (output,):
            if isinstance(tensor, Tensor) and tensor.requires_grad:
                tensor.register_hook(self._look)

    def _look(self, gradient: Tensor | None = None) -> None:
        if self._armed and self._asked():
            raise StepLeftError
