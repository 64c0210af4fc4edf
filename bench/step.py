"""One whole training step of a preset, as `trivium train` makes it: its time, where it goes, and its first time.

    python bench/step.py [--preset tiny --preset base] [--cold] [--compile] [--json docs/benchmarks.json]

Each preset runs in a fresh process: a first step, timed steps, one step under torch's profiler (time by family of
kernels, gaps of the device, waits of the host). With --cold Triton's cache begins empty; then the first step is K5's
figure, and steps with other rows (length, documents, pictures) must compile nothing. Random ids in ragged documents
with pictures; fails when a loss is not finite or K5's must is missed.

Odd: weights are drawn on the device, so they are not those of `trivium train`; seven billion from one CPU generator
take a minute.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable
from contextlib import nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import _step_compile
import _step_trace
import msgspec
import numpy as np
import torch
from curves import Setting, prepare

from trivium.console import note
from trivium.kernels.bench import report, table
from trivium.kernels.bench.check import failed, verdicts
from trivium.kernels.bench.cold import binaries
from trivium.kernels.bench.measure import limits, timer
from trivium.kernels.bench.page import page
from trivium.model import init
from trivium.model.batch import Batch, Sample, collate
from trivium.model.joint import JointConfig, JointModel
from trivium.model.machine import peak_of
from trivium.model.optim import OptimizerConfig
from trivium.model.presets import preset
from trivium.pipelines.train.config import Run
from trivium.pipelines.train.step import train_step

ROOT = Path(__file__).resolve().parent.parent
TOKENS = {"nano": 512, "tiny": 16384, "base": 8192}  # of a step
STEPS, QUICK_STEPS = 5, 2
LR = 1e-4
SHARES = (6, 3, 3, 2, 2)  # of a row's tokens, by document
LIMIT = 200  # seconds of one preset
SLOWEST = 8


@dataclass(frozen=True, slots=True)
class Rows:
    """What a step is given: `shares` of its tokens for each document, a picture of `grid` patches in every other."""

    name: str
    tokens: int
    shares: tuple[int, ...]
    grid: tuple[int, int] | None

    def batch(self, config: JointConfig) -> Batch:
        dice = np.random.default_rng(self.tokens)
        lengths = [self.tokens * share // sum(self.shares) for share in self.shares]
        lengths[0] += self.tokens - sum(lengths)
        return collate([self._sample(config, n, place % 2 == 0, dice) for place, n in enumerate(lengths)],
                       config.media_pad)  # fmt: skip

    def _sample(self, config: JointConfig, size: int, pictured: bool, dice: np.random.Generator) -> Sample:
        ids = dice.integers(0, config.media_pad, size)  # below it: no id is a picture's by chance
        rows, columns = self.grid or (0, 0)
        media = rows * columns // 4
        if not media or not pictured or media + 4 > size or config.vision is None:
            return Sample(ids, np.ones(size, bool))
        ids[2 : 2 + media] = config.media_pad
        patches = torch.from_numpy(dice.random((rows * columns, 588), dtype=np.float32))
        return Sample(ids, np.ones(size, bool), [(1, rows, columns)], [patches])


def given(tokens: int) -> tuple[Rows, tuple[Rows, ...]]:
    """The rows of the first and the timed steps, and others for which nothing may be compiled."""
    grid = (8, 8) if tokens < 2048 else (32, 32)
    other = (6, 10) if tokens < 2048 else (20, 46)
    first = Rows(
        f"{tokens} tokens, 5 documents, pictures of {grid[0]}×{grid[1]} patches", tokens, (7, 4, 3, 1, 1), grid
    )
    shorter = tokens * 5 // 8 + 3
    return first, (
        Rows(f"T{shorter}", shorter, SHARES, grid),
        Rows("one document", tokens, (1,), grid),
        Rows("32 documents", tokens, (1,) * 32, None),
        Rows(f"pictures of {other[0]}×{other[1]}", tokens, SHARES, other),
    )


def built(name: str, device: torch.device) -> JointModel:
    """A model with random weights, drawn where it lives."""
    config = preset(name)
    if device.type == "cpu":
        return config.build(seed=0).train()
    with torch.device("meta"):
        model = JointModel(config)
    model = model.to_empty(device=device)
    for each, buffer in model.named_buffers():
        buffer.fill_(-torch.inf if each.endswith("logit_max") else 0)
    generator = torch.Generator(device).manual_seed(0)
    with torch.no_grad(), torch.device(device):
        for each, parameter in model.named_parameters():
            parameter.copy_(init._draw(each, parameter, config.backbone.init_std, generator))
    return model.train()


class Trainer:
    """The trainer's step on a model of its own."""

    def __init__(self, name: str, device: torch.device, compiled: bool) -> None:
        self.setting = Setting(Run(version=1, model={}, schedule="", corpora="", optimizer=OptimizerConfig()), device)
        self.device = device
        self.model = built(name, device)
        self.optimizer = self.setting.run.optimizer.build(self.model)
        self.done = 0
        if compiled:
            _step_compile.compile_pieces(self.model)

    def step(self, batch: Batch) -> tuple[float, dict[str, Any]]:
        """Seconds of one step until the device is done, and its line of metrics."""
        self.sync()
        began = time.perf_counter()
        self.done += 1
        setting: Any = self.setting  # the part of a prepared run that a step reads
        facts = train_step(self.model, self.optimizer, setting, batch, step=self.done, lr=LR)
        self.sync()
        return time.perf_counter() - began, facts

    def sync(self) -> None:
        if self.device.type == "cuda":
            torch.cuda.synchronize()


def measured(name: str, tokens: int, steps: int, device: torch.device, cold: bool, compiled: bool) -> report.Step:
    """All of one preset, in this process."""
    if device.type == "cuda":
        prepare(device)  # on a CPU its switches would load torch's compiler for nothing
    first, others = given(tokens)
    trainer = Trainer(name, device, compiled)
    batch = first.batch(trainer.model.config).to(device)
    compile_times = listen()
    seconds, facts = trainer.step(batch)
    start = None
    if cold:
        cache = Path(os.environ["TRITON_CACHE_DIR"])
        compiled_first, within = binaries(cache), dict(compile_times.most_common())
        again = {}
        for rows in others:
            before = binaries(cache)
            trainer.step(rows.batch(trainer.model.config).to(device))
            again[rows.name] = binaries(cache) - before
        start = report.ColdStep(
            seconds=round(seconds, 3), compiled=compiled_first, compile_s=round(sum(within.values()), 3),
            slowest={kernel: round(s, 2) for kernel, s in list(within.items())[:SLOWEST]}, again=again,
        )  # fmt: skip
    trainer.step(batch)  # again with its own shapes, which the memory pool then holds
    if device.type == "cuda":
        torch.cuda.reset_peak_memory_stats()
    samples = [trainer.step(batch)[0] * 1e3 for _ in range(steps)]
    memory = torch.cuda.max_memory_allocated() if device.type == "cuda" else None
    seen = profiled(lambda: trainer.step(batch), device)
    return report.Step(
        preset=name, rows=first.name, tokens=batch.tokens, compiled=compiled, samples_ms=samples,
        flops=facts["flops"], peak=peak_of(torch.cuda.get_device_name()) if device.type == "cuda" else None,
        peak_bytes=memory, families=seen.families, idle_ms=seen.idle, gaps=seen.gaps, gap_ms=seen.gap_ms,
        largest=seen.largest, waits=seen.waits, wait_ms=seen.wait_ms, cold=start,
    )  # fmt: skip


def listen() -> Counter[str]:
    """Seconds in Triton's compiler by kernel from now on; stays empty where Triton is not installed."""
    seconds: Counter[str] = Counter()
    try:
        from triton import knobs
    except ImportError:
        return seconds

    def add(*, src: Any, metadata: Any, metadata_group: Any, times: Any, cache_hit: bool) -> None:
        if not cache_hit:
            module = getattr(getattr(src, "fn", None), "__module__", "").removeprefix("trivium.kernels.")
            seconds[f"{module.split('.')[0]}.{src.name}"] += times.total / 1e6

    knobs.compilation.listener = add
    return seconds


def profiled(step: Callable[[], object], device: torch.device) -> _step_trace.Seen:
    from torch.profiler import ProfilerActivity, profile, record_function

    kinds = [ProfilerActivity.CPU] + [ProfilerActivity.CUDA] * (device.type == "cuda")
    with profile(activities=kinds) as found, record_function(_step_trace.STEP):
        step()
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "trace.json"
        found.export_chrome_trace(str(path))
        return _step_trace.read(json.loads(path.read_bytes()))


def in_a_fresh_process(name: str, options: argparse.Namespace, device: torch.device) -> report.Step:
    """One preset's figures, or what went wrong with it."""
    tokens = options.tokens or TOKENS[name]
    problem = f"no result after {LIMIT} s"
    with tempfile.TemporaryDirectory(prefix="trivium-step-") as cache:
        command = [sys.executable, __file__, "--child", name, "--tokens", str(tokens), "--steps", str(options.steps)]
        command += ["--device", device.type, *(f"--{word}" for word in ("cold", "compile") if getattr(options, word))]
        own = {"TRITON_CACHE_DIR": cache, "TORCHINDUCTOR_CACHE_DIR": f"{cache}/inductor"} if options.cold else {}
        try:
            done = subprocess.run(
                command, env={**os.environ, **own}, capture_output=True, text=True, timeout=LIMIT, check=False
            )
            lines = [line for line in done.stdout.splitlines() if line.startswith("{")]
            if done.returncode == 0 and lines:
                return msgspec.json.decode(lines[-1], type=report.Step)
            problem = (done.stderr.strip().splitlines() or ["no message"])[-1][:300]
            sys.stderr.write(done.stderr[-4000:])
        except subprocess.TimeoutExpired:
            pass
    return report.Step(
        preset=name, rows="", tokens=tokens, compiled=options.compile, samples_ms=[], flops=0, peak=None,
        peak_bytes=None, families={}, idle_ms=None, gaps=0, gap_ms=0.0, largest=[], waits={}, wait_ms=0.0,
        problem=problem,
    )  # fmt: skip


def parse(arguments: list[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--preset", action="append", choices=sorted(TOKENS), help="may be repeated; tiny and base")
    parser.add_argument("--tokens", type=int, help=f"of a step; default {TOKENS}")
    parser.add_argument("--steps", type=int, default=STEPS, help="that are timed")
    parser.add_argument("--cold", action="store_true", help="begin with an empty cache; time the first step (K5)")
    parser.add_argument("--compile", action="store_true", help="attention and channel mixers through torch.compile")
    parser.add_argument("--quick", action="store_true", help="nano, two steps: proves the path, no figures")
    parser.add_argument("--json", type=Path, metavar="FILE", help="add the steps to the kernels' report")
    parser.add_argument("--page", type=Path, metavar="FILE", help="write the report's page; with --json")
    parser.add_argument("--commit", help="the commit to name where this is no checkout")
    parser.add_argument("--device", choices=("auto", "cpu", "cuda"), default="auto")
    parser.add_argument("--child", choices=sorted(TOKENS), help=argparse.SUPPRESS)
    options = parser.parse_args(arguments)
    if options.quick:
        options.preset, options.steps = ["nano"], QUICK_STEPS
    if options.page and not options.json:
        parser.error("--page: the page is made of a report; give --json too")
    if options.device == "cuda" and not torch.cuda.is_available():
        parser.error("--device cuda: torch finds no CUDA device; leave the option out")
    return options


def main(arguments: list[str]) -> int:
    options = parse(arguments)
    device = torch.device("cuda" if torch.cuda.is_available() and options.device != "cpu" else "cpu")
    if options.child:
        with _step_compile.operators_whole() if options.compile else nullcontext():
            step = measured(options.child, options.tokens, options.steps, device, options.cold, options.compile)
        print(msgspec.json.encode(step).decode(), flush=True)
        return 0
    run = report.Run(
        command=" ".join(["python bench/step.py", *arguments]), commit=options.commit or report.commit(ROOT),
        device=torch.cuda.get_device_name() if device.type == "cuda" else "cpu", versions=report.versions(set()),
        limits=limits(device, timer(device, 10)),
    )  # fmt: skip
    if device.type == "cuda":
        torch.cuda.empty_cache()
    base = report.Report(version=report.VERSION, runs=[])
    if options.json is not None and options.json.exists():
        base = report.read(options.json)
    for name in options.preset or (["tiny", "base"] if device.type == "cuda" else ["nano"]):
        note(f"step of {name}")
        run.steps.append(in_a_fresh_process(name, options, device))
        table.show_step(run.steps[-1])
        if options.json is not None:
            report.write(options.json, base.with_run(run))
    if options.page is not None:
        options.page.write_text(page(base.with_run(run)), encoding="utf-8")
    judged = [verdict for verdict in verdicts(report.Report(version=report.VERSION, runs=[run])) if options.cold]
    table.show_verdicts([verdict for verdict in judged if verdict.target == "K5"])
    return int(failed(judged) or any(step.problem for step in run.steps))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
