"""Trains until a gradient is not finite, then finds out which operator made it so.

    python bench/nan_hunt.py RUN.yaml --out FOLDER [--set KEY=VALUE …] [--replays 10]

A run as of `trivium train`. When a step's loss or gradient is not finite, its weights are still those that the step
began with, so the same batch is trained again and again: as it was (does it come back?), with one operator after
another on its PyTorch path, and with all of them there. A line each says in how many replays the gradient was not
finite, and which parameters, from the last layer back. A module that got a finite gradient and made one that is not is
named, and what it read is kept for the documents concerned: FOLDER/broken-NAME.safetensors. The batch is kept as
FOLDER/not-finite.safetensors. Exit code 1 when something was found, 0 when the run ended well.
"""

import argparse
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from torch import nn

from trivium.console import note
from trivium.errors import TrainError
from trivium.kernels import dispatch
from trivium.model.batch import Batch
from trivium.pipelines.train import loop
from trivium.pipelines.train.runner import train
from trivium.pipelines.train.step import Counts, weigh

OPERATORS = (
    "kda", "kda_segment", "mla", "mla_gated", "attnres", "attnres_normed", "experts", "situ_glu", "route",
    "route's gradient", "newton_schulz", "cross_entropy", "linear_cross_entropy", "short_conv", "gated_norm",
    "rms_norm", "patch_attention",
)  # fmt: skip


@contextmanager
def without(operators: frozenset[str]) -> Iterator[None]:
    """Inside, these operators take their PyTorch path."""
    original = dispatch.use_triton

    def chosen(operator: str, x: torch.Tensor, **options: Any) -> bool:
        return operator not in operators and original(operator, x, **options)

    holders = [module for module in list(sys.modules.values()) if getattr(module, "use_triton", None) is original]
    for module in holders:
        module.use_triton = chosen  # type: ignore[attr-defined]
    try:
        yield
    finally:
        for module in holders:
            module.use_triton = original  # type: ignore[attr-defined]


def broken(model: nn.Module) -> list[str]:
    """Parameters whose gradient is not finite, from the last layer back."""
    named = [(name, p.grad) for name, p in model.named_parameters() if p.grad is not None]
    return [name for name, gradient in reversed(named) if not bool(gradient.isfinite().all())]


def replays(again: Callable[[], None], model: nn.Module, times: int) -> Iterator[tuple[str, int, list[str]]]:
    """(what was switched off, replays that broke, the parameters of the last one that did)."""
    cases = [("nothing", frozenset[str]()), *((name, frozenset([name])) for name in OPERATORS)]
    for label, off in [*cases, ("all of them", frozenset(OPERATORS))]:
        count, names = 0, []
        with without(off):
            for _ in range(times):
                model.zero_grad(set_to_none=True)
                again()
                if found := broken(model):
                    count, names = count + 1, found
        yield label, count, names


@dataclass
class Trace:
    """What one module read, and the gradients that came to it and left it; first dimension T where packed."""

    read: torch.Tensor
    got: torch.Tensor | None = None
    made: torch.Tensor | None = None

    @property
    def guilty(self) -> bool:
        known = self.got is not None and self.made is not None
        return known and bool(self.got.isfinite().all()) and not bool(self.made.isfinite().all())


@contextmanager
def traced(model: nn.Module) -> Iterator[dict[str, Trace]]:
    """Inside, what each module below `model` reads and its gradients, by the module's name.

    Recomputed passes of a checkpoint make tensors of their own: the first one counts, whose gradients are the step's.
    """
    found: dict[str, Trace] = {}

    def watch(name: str) -> Callable[..., None]:
        def look(_: nn.Module, given: tuple[Any, ...], output: Any) -> None:
            made = output[0] if isinstance(output, tuple) else output
            tensors = given and isinstance(given[0], torch.Tensor) and isinstance(made, torch.Tensor)
            if name in found or not tensors or not (given[0].requires_grad and made.requires_grad):
                return
            trace = found[name] = Trace(given[0].detach())
            made.register_hook(lambda gradient: setattr(trace, "got", gradient.detach()))
            # Others may read the same tensor: `made` then holds the sum of what all gave back.
            given[0].register_hook(lambda gradient: setattr(trace, "made", gradient.detach()))

        return look

    hooks = [module.register_forward_hook(watch(name)) for name, module in model.named_modules() if name]
    try:
        yield found
    finally:
        for hook in hooks:
            hook.remove()


def broken_rows(gradient: torch.Tensor) -> list[int]:
    """Rows of the first dimension that are not finite."""
    return (~gradient.flatten(1).isfinite().all(1)).nonzero()[:, 0].tolist() if gradient.ndim > 1 else []


def describe(name: str, trace: Trace) -> str:
    rows = broken_rows(trace.made) if trace.made is not None else []
    ends = f", rows {rows[0]:,} to {rows[-1]:,}" if rows else ""
    largest = float(trace.got.abs().max()) if trace.got is not None else 0.0
    return f"{name}: got a finite gradient (largest {largest:.3g}) and made {len(rows):,} rows that are not{ends}"


def keep_trace(name: str, trace: Trace, module: nn.Module, batch: Batch, out: Path) -> None:
    """What the module read in the documents concerned, the gradient that it got there, and its weights."""
    from safetensors.torch import save_file

    rows = broken_rows(trace.made) if trace.made is not None else []
    if not rows or trace.read.shape[0] != batch.tokens or trace.got is None:
        return
    borders = batch.cu_seqlens.tolist()
    first = max(border for border in borders if border <= rows[0])
    last = min(border for border in borders if border > rows[0])
    tensors = {"read": trace.read[first:last], "got": trace.got[first:last]}
    tensors |= {f"weights.{key}": value for key, value in module.state_dict().items()}
    wide = {key: value.bfloat16() if value.numel() > 1 << 20 else value for key, value in tensors.items()}
    save_file({key: value.contiguous().cpu() for key, value in wide.items()}, out / f"broken-{name}.safetensors")


def hunting(step: Callable[..., dict[str, Any]], times: int, out: Path) -> Callable[..., dict[str, Any]]:
    """The trainer's step, which looks closer where it raises."""

    def look(model: nn.Module, optimizer: Any, prepared: Any, batch: Batch, **options: Any) -> dict[str, Any]:
        try:
            return step(model, optimizer, prepared, batch, **options)
        except TrainError as error:
            note(f"{error}\nfirst time: {', '.join(broken(model)[:12]) or 'no gradient: the loss itself'}")
            keep(batch, out)

            def again() -> None:
                with prepared.autocast():
                    losses = weigh(model(batch), batch, prepared.run.loss, Counts.of(batch, model.config))
                losses.objective.backward()

            with traced(model) as found:
                model.zero_grad(set_to_none=True)
                again()
            guilty = [(name, trace) for name, trace in found.items() if trace.guilty]
            note(f"{len(guilty)} of {len(found)} modules turned a finite gradient into one that is not")
            for name, trace in guilty[-8:]:
                note(describe(name, trace))
                keep_trace(name, trace, model.get_submodule(name), batch, out)
            del found, guilty
            for label, count, names in replays(again, model, times):
                note(f"without {label}: {count} of {times} replays not finite {', '.join(names[:6])}")
            raise

    return look


def keep(batch: Batch, out: Path) -> None:
    from safetensors.torch import save_file

    tensors = {name: value for name in batch.__slots__ if isinstance(value := getattr(batch, name), torch.Tensor)}
    save_file({name: value.contiguous().cpu() for name, value in tensors.items()}, out / "not-finite.safetensors")


def main(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("run", type=Path, metavar="RUN.yaml")
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--set", action="append", default=[], metavar="KEY=VALUE")
    parser.add_argument("--replays", type=int, default=10)
    options = parser.parse_args(arguments)
    loop.train_step = hunting(loop.train_step, options.replays, options.out)  # type: ignore[assignment]
    try:
        train(options.run, options.out, options.set)
    except TrainError:
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
