"""Training with the Triton kernels beside training on the PyTorch path: the same seeds, the same rows.

    python bench/curves.py --out FOLDER [--preset nano --preset tiny] [--steps 500]

(a) with dense feed-forwards in place of experts the losses may differ by 0.005 at most over the first 100 steps;
(b) with experts the mean of the last 50 losses may differ by 0.01. There single steps differ, since a rounding may
flip a choice of experts and nothing pulls the runs together again: the flip rate says how often, on fixed rows.
Fails too when an operator took another path than its run asked for. Writes curves.json and curves.svg.

Odd: training is chaotic, so two runs part even when no one is wrong. A third run tells how far: the PyTorch path again
with other, equally right roundings (each row's documents in reverse order, and without experts on a GPU the products of
fp32 in TF32). Its distance from the second run is the floor, printed beside the verdict and no part of it.
"""

import argparse
import itertools
import logging
import multiprocessing
import os
import sys
import time
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass
from functools import partial
from itertools import islice
from pathlib import Path
from typing import Any

import _corpus
import _curve_plot
import msgspec
import torch
from _curve_facts import FIRST, Comparison, Curve, Facts, flip_rates, judge
from torch import Tensor

from trivium.console import note, out
from trivium.kernels import dispatch
from trivium.kernels.bench.report import commit, versions
from trivium.model.batch import Batch
from trivium.model.joint import JointConfig, JointModel
from trivium.model.optim import OptimizerConfig
from trivium.model.presets import configure, dense
from trivium.pipelines.train.balance import router_scores
from trivium.pipelines.train.config import Run
from trivium.pipelines.train.ranks import ALONE, Ranks
from trivium.pipelines.train.step import train_step

ROOT = Path(__file__).resolve().parent.parent
CONTEXT = {"nano": 16384, "tiny": 16384}  # tokens a step: fewer make a step's loss that much noisier
# Learning rate behind a warm-up of 30 steps. The fit for Kimi Linear (AttnRes table: 2.57e-3 (C/1e20)^-0.186, times the
# root of this batch over the fit's) allows 0.04 and 0.01 here, far outside what it was fitted to. At 4e-3 nano's
# reference came 0.013 apart from itself, rounded otherwise, which is more than rule (a) allows anyone.
PEAK = {"nano": 2e-3, "tiny": 2e-3}
PATHS = ("triton", "reference", "rounded")
WARMUP, SEED = 30, 20260
TRITON = {"kda", "short_conv", "gated_norm", "rms_norm"}  # operators with kernels
PARTLY = {"newton_schulz"}  # with kernels for some shapes of a model; others take PyTorch beside them
PROBE_EVERY = 50


@dataclass(frozen=True, slots=True)
class Setting:
    """What the trainer's step reads of a prepared run."""

    run: Run
    device: torch.device
    ranks: Ranks = ALONE

    def autocast(self) -> AbstractContextManager[Any]:
        return torch.autocast("cuda", dtype=torch.bfloat16) if self.device.type == "cuda" else nullcontext()


class Paths(logging.Handler):
    """Which path each operator says it takes, from the log."""

    def __init__(self) -> None:
        super().__init__(logging.INFO)
        self.seen: set[str] = set()

    def emit(self, record: logging.LogRecord) -> None:
        operator, path, *_ = record.args or ("", "")
        self.seen.add(f"{operator}: {path}")


@contextmanager
def path_of(name: str) -> Iterator[Paths]:
    """Switches the kernels on or off inside, and listens to what the operators say."""
    before = os.environ.pop(dispatch.KERNELS_VARIABLE, None)
    if name == "reference":
        os.environ[dispatch.KERNELS_VARIABLE] = "reference"
    logger, paths = logging.getLogger(dispatch.__name__), Paths()
    level = logger.level
    logger.setLevel(logging.INFO)
    logger.addHandler(paths)
    dispatch.tell_again()
    try:
        yield paths
    finally:
        logger.removeHandler(paths)
        logger.setLevel(level)
        os.environ.pop(dispatch.KERNELS_VARIABLE, None)
        if before is not None:
            os.environ[dispatch.KERNELS_VARIABLE] = before


def check_paths(taken: set[str], path: str, device: torch.device) -> list[str]:
    """What is wrong with the paths taken; on a CPU every operator must take PyTorch's."""
    wanted = "Triton" if path == "triton" and device.type == "cuda" else "PyTorch"
    wrong = [
        f"{operator} never ran" for operator in sorted(TRITON) if not any(t.startswith(f"{operator}: ") for t in taken)
    ]
    both = {f"{operator}: PyTorch" for operator in PARTLY if f"{operator}: {wanted}" in taken}
    return wrong + [f"{entry} (wanted {wanted})" for entry in sorted(taken - both) if not entry.endswith(f": {wanted}")]


def model_config(preset: str, experts: bool) -> JointConfig:
    """Text only: the tower is no part of the comparison."""
    config = configure({"preset": preset, "vision": None}, name="curves")
    return config if experts else dense(config)


def reverse(batch: Batch) -> Batch:
    """The same documents in reverse order: the same losses and gradients, summed in another order. Text only."""
    edges = batch.cu_seqlens.tolist()
    spans = [slice(start, stop) for start, stop in itertools.pairwise(edges)][::-1]
    tokens, targets, kinds = (
        torch.cat([x_T[span] for span in spans]) for x_T in (batch.tokens_T, batch.targets_T, batch.modality_T)
    )
    lengths = torch.tensor([0, *(span.stop - span.start for span in spans)], dtype=torch.int64)
    return Batch(tokens, targets, lengths.cumsum(0), batch.patches_P, batch.grids_I3, kinds)


@contextmanager
def rounding(products: str) -> Iterator[None]:
    """torch's precision of fp32 products inside: "highest", or "high" (TF32 on a GPU)."""
    before = torch.get_float32_matmul_precision()
    torch.set_float32_matmul_precision(products)
    try:
        yield
    finally:
        torch.set_float32_matmul_precision(before)


def rate(step: int, peak: float) -> float:
    """A warm-up from 0, then constant; `step` counts from 1."""
    return peak * min(1.0, step / WARMUP)


@torch.no_grad()
def chosen_experts(model: JointModel, probe: Batch, setting: Setting) -> Tensor | None:
    """[N, K]: the choice of each router for each token of the probe, ascending; None for a model without experts."""
    balances = model.balances()
    if not balances:
        return None
    scores = router_scores(model, probe, setting.autocast())
    biases = [balance.bias for balance in balances.values()]
    k = model.config.backbone.moe.experts_per_token
    choice = [(s + b).topk(k, dim=-1).indices.sort(dim=-1).values for s, b in zip(scores.values(), biases, strict=True)]
    return torch.cat(choice).cpu()


def train(
    config: JointConfig, rows: list[Batch], probe: Batch, peak: float, setting: Setting, limit: float
) -> tuple[list[float], dict[int, Tensor]]:
    """Losses by step, and the routers' choices before step 1 and after every 50; stops early behind `limit` seconds."""
    model = config.build(seed=SEED).to(setting.device).train()
    optimizer = setting.run.optimizer.build(model)
    losses: list[float] = []
    choices: dict[int, Tensor] = {}
    began = time.monotonic()
    for step, row in enumerate(rows, 1):
        if (step - 1) % PROBE_EVERY == 0 and (choice := chosen_experts(model, probe, setting)) is not None:
            choices[step - 1] = choice
        batch = row.to(setting.device)
        facts = train_step(model, optimizer, setting, batch, step=step, lr=rate(step, peak))  # type: ignore[arg-type]
        losses.append(facts["loss"]["total"])
        if time.monotonic() - began > limit:
            note(f"stopped at step {step}: {limit:g} s are over")
            break
    if (choice := chosen_experts(model, probe, setting)) is not None:
        choices[len(losses)] = choice
    return losses, choices


def run_path(
    path: str, preset: str, experts: bool, steps: int, device: torch.device, options: argparse.Namespace
) -> tuple[Curve, dict[int, Tensor]]:
    """One training run on `path`, and the choices of its experts by step; the same rows for every path."""
    config = model_config(preset, experts)
    documents = _corpus.texts(ROOT)
    words = _corpus.Words(documents, config.backbone.vocab)
    ids = [words.encode(text) for text in documents]
    probe, *rows = islice(_corpus.batches(ids, options.context or CONTEXT[preset], config.media_pad, SEED), steps + 1)
    setting = Setting(Run(version=1, model={}, schedule="", corpora="", optimizer=OptimizerConfig()), device)
    other = path == "rounded"
    with (
        path_of(path if not other else "reference") as paths,
        rounding("high" if other and not experts else "highest"),
    ):
        began = time.monotonic()
        given = [reverse(row) for row in rows] if other else rows
        losses, chosen = train(config, given, probe.to(device), PEAK[preset], setting, options.limit)
        seconds = time.monotonic() - began
    taken = sorted(paths.seen)
    return Curve(preset=preset, experts=experts, path=path, losses=losses, seconds=seconds, taken=taken), chosen


def compare(
    preset: str, experts: bool, steps: int, device: torch.device, options: argparse.Namespace
) -> tuple[list[Curve], Comparison, list[str]]:
    """Both paths on the same rows, and the reference once more with other roundings unless that is not wanted."""
    third = options.floor == "both" or (options.floor == "dense" and not experts)
    names = PATHS if third else PATHS[:2]
    run = partial(run_path, preset=preset, experts=experts, steps=steps, device=device, options=options)
    curves, choices, wrong = [], [], []
    with (
        ProcessPoolExecutor(len(names), multiprocessing.get_context("spawn"), prepare, (device,))
        if options.apart
        else nullcontext()
    ) as p:
        for curve, chosen in p.map(run, names) if p else map(run, names):
            note(f"{preset} {'with experts' if experts else 'dense'} {curve.path}: {len(curve.losses)} steps in "
                 f"{curve.seconds:.1f} s, loss {curve.losses[0]:.4f} → {curve.losses[-1]:.4f}")  # fmt: skip
            wanted = "triton" if curve.path == "triton" else "reference"
            wrong += [f"{preset}, {curve.path} run: {line}" for line in check_paths(set(curve.taken), wanted, device)]
            curves.append(curve)
            choices.append(chosen)
    found = judge(
        preset,
        experts,
        curves[0].losses,
        curves[1].losses,
        flip_rates(*choices[:2]),
        curves[2].losses if third else None,
    )
    if third:
        found = msgspec.structs.replace(found, floor_flips=flip_rates(choices[2], choices[1]))
    return curves, found, wrong


def prepare(device: torch.device) -> None:
    """torch's switches, in each process that trains."""
    torch.use_deterministic_algorithms(device.type == "cpu")  # on a GPU steps take 4.5 times as long with it
    torch.utils.deterministic.fill_uninitialized_memory = False
    torch.set_flush_denormal(True)


def show(found: list[Comparison], curves: list[Curve]) -> None:
    """A line for each pair of runs, narrow enough for a log."""
    for entry in found:
        mine = {curve.path: curve for curve in curves if (curve.preset, curve.experts) == (entry.preset, entry.experts)}
        first, second = mine["triton"], mine["reference"]
        floor = "" if entry.floor is None else f"; the reference beside itself, rounded otherwise, {entry.floor:.5f}"
        rates = ""
        if entry.flips:
            flips, own = list(entry.flips.values()), list(entry.floor_flips.values())
            rates = f"; experts differ for {flips[0]:.2%} at the start, {flips[-1]:.2%} at the end"
            rates += f" (rounded otherwise {own[-1]:.2%})" if own else ""
        out.print(
            f"{entry.verdict:<7} {entry.preset} {'experts' if entry.experts else 'dense'}: {entry.what} is "
            f"{entry.found:.5f} (at most {entry.bound:g}{floor}); {len(first.losses)} steps, {first.seconds:.0f} s "
            f"beside {second.seconds:.0f} s{rates}",
            highlight=False, soft_wrap=True,
        )  # fmt: skip


def charts(found: list[Comparison], curves: list[Curve]) -> dict[str, dict[str, list[float]]]:
    """For each pair of runs its losses, and |Δ loss| to the reference."""
    drawn: dict[str, dict[str, list[float]]] = {}
    for curve in curves:
        title = f"{curve.preset}, {'experts' if curve.experts else 'dense feed-forwards'}: loss by step"
        drawn.setdefault(title, {})[curve.path] = curve.losses
    for entry in found:
        mine = {c.path: c.losses for c in curves if (c.preset, c.experts) == (entry.preset, entry.experts)}
        title = f"{entry.preset}, {'experts' if entry.experts else 'dense feed-forwards'}: |Δ loss| to the reference"
        drawn[title] = {
            path: [abs(x - y) for x, y in zip(mine[path], mine["reference"], strict=False)]
            for path in ("triton", "rounded")
            if path in mine
        }
    return drawn


def write(folder: Path, found: list[Comparison], curves: list[Curve], device: torch.device) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    facts = Facts(
        command=" ".join(["python bench/curves.py", *sys.argv[1:]]), commit=commit(ROOT),
        device=torch.cuda.get_device_name() if device.type == "cuda" else "cpu", versions=versions(set()),
        comparisons=found, curves=curves,
    )  # fmt: skip
    (folder / "curves.json").write_bytes(msgspec.json.encode(facts) + b"\n")
    (folder / "curves.svg").write_text(_curve_plot.plot(charts(found, curves)), encoding="utf-8")


def main(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--out", type=Path, required=True, help="folder for curves.json and curves.svg")
    parser.add_argument("--preset", action="append", choices=sorted(CONTEXT), help="may be repeated; default: both")
    parser.add_argument("--steps", type=int, default=500, help="with experts")
    parser.add_argument("--dense-steps", type=int, default=FIRST, help="without; 0 leaves them out")
    parser.add_argument("--context", type=int, help=f"tokens a row and step; default {CONTEXT}")
    parser.add_argument(
        "--floor", choices=("both", "dense", "none"), default="both", help="which pairs get the third run"
    )
    parser.add_argument("--limit", type=float, default=1e9, help="seconds of one run; it then stops where it is")
    parser.add_argument("--apart", action="store_true", help="each path in its own process, all at the same time")
    parser.add_argument("--device", choices=("auto", "cpu", "cuda"), default="auto")
    options = parser.parse_args(arguments)
    device = torch.device("cuda" if torch.cuda.is_available() and options.device != "cpu" else "cpu")
    if options.device == "cuda" and device.type != "cuda":
        parser.error("--device cuda: torch finds no CUDA device; leave the option out")
    prepare(device)
    found: list[Comparison] = []
    curves: list[Curve] = []
    wrong: list[str] = []
    for preset in options.preset or sorted(CONTEXT):
        for experts, steps in ((False, options.dense_steps), (True, options.steps)):
            if steps:
                pair, comparison, paths = compare(preset, experts, steps, device, options)
                curves += pair
                found.append(comparison)
                wrong += paths
                write(options.out, found, curves, device)
    show(found, curves)
    for line in wrong:
        note(f"wrong path: {line}")
    return int(bool(wrong) or any(entry.verdict == "FAIL" for entry in found))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
