"""One process's measurements: which operators, on which device, told as they come and saved row by row."""

import argparse
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import torch

from trivium.console import note, out
from trivium.errors import UsageError
from trivium.kernels.bench import accuracy, cold, measure, report, table
from trivium.kernels.bench.case import Contestant, Operator
from trivium.kernels.bench.operators import chosen
from trivium.kernels.bench.peers.tuning import few_configurations

__all__ = ["PARTS", "Session"]

PARTS = ("speed", "accuracy", "cold")
ROUNDS, MILLISECONDS = 3, 40
QUICK_ROUNDS, QUICK_MILLISECONDS = 2, 10


@dataclass(frozen=True, kw_only=True)
class Session:
    """Options as the command line gave them, and the run that grows."""

    operators: list[Operator[Any]]
    contestants: dict[str, list[Contestant[Any]]]
    device: torch.device
    timed: measure.Timer
    parts: list[str]
    quick: bool
    words: list[str]  # only shapes and hard cases whose name holds it
    path: Path | None
    base: report.Report  # what the file held before
    run: report.Run

    @staticmethod
    def start(options: argparse.Namespace, arguments: list[str]) -> "Session":
        """Raises UsageError for an unknown operator or an absent device, InputError for a file that is no report."""
        device = _device(options.device)
        operators = chosen(options.op)
        base = report.Report(version=report.VERSION, runs=[])
        if options.json is not None and options.json.exists():
            base = report.read(options.json)
        contestants = {
            operator.name: [c for c in operator.contestants(device) if not (options.no_peers and c.peer)]
            for operator in operators
        }
        packages = {c.package for group in contestants.values() for c in group if c.package is not None}
        timed = measure.timer(device, QUICK_MILLISECONDS if options.quick else MILLISECONDS)
        run = report.Run(
            command=" ".join(["python -m trivium.kernels.bench", *arguments]),
            commit=options.commit or report.commit(Path(__file__).parent),
            device=torch.cuda.get_device_name() if device.type == "cuda" else "cpu",
            versions=report.versions(packages),
            limits=measure.limits(device, timed),
        )
        return Session(
            operators=operators, contestants=contestants, device=device, timed=timed,
            parts=[part for part in PARTS if getattr(options, part)] or list(PARTS),
            quick=options.quick, words=options.layout, path=options.json, base=base, run=run,
        )  # fmt: skip

    def measure(self) -> report.Report:
        """The report with this run; saved after every shape, so that a run cut short keeps what it has."""
        versions = ", ".join(f"{name} {version}" for name, version in self.run.versions.items())
        out.print(f"{self.run.device}; {versions}", highlight=False)
        steps = {"speed": self._each(self._speed), "accuracy": self._each(self._accuracy), "cold": self._cold()}
        for part in self.parts:  # all timings first: a peer that breaks the device on a hard case costs no figure
            for _ in steps[part]:
                if self.path is not None:
                    report.write(self.path, self.base.with_run(self.run))
        return self.base if self.run.empty else self.base.with_run(self.run)

    @property
    def small(self) -> bool:
        return self.quick or self.device.type == "cpu"

    def _chosen(self, name: str) -> bool:
        return not self.words or any(word in name for word in self.words)

    def _each(self, step: Callable[[Operator[Any]], Iterator[None]]) -> Iterator[None]:
        for operator in self.operators:
            yield from step(operator)

    def _speed(self, operator: Operator[Any]) -> Iterator[None]:
        rounds, rows = QUICK_ROUNDS if self.quick else ROUNDS, []
        for layout in operator.quick if self.small else operator.layouts:
            if self._chosen(layout.name):
                note(f"{operator.name}: {layout.name}")
                contestants = self.contestants[operator.name]
                found = measure.contest(operator, layout, contestants, self.device, self.timed, rounds)
                rows += found
                self.run.rows += found
                if self.device.type == "cuda":
                    torch.cuda.empty_cache()
                yield
        if rows:
            table.show_rows(rows, self.run)

    def _accuracy(self, operator: Operator[Any]) -> Iterator[None]:
        entries = []
        for hard in operator.hard:
            if self._chosen(hard.name):
                note(f"{operator.name}: hard case {hard.name}")
                if self.small:
                    hard = replace(hard, layout=replace(hard.layout, heads=1, width=64))
                with few_configurations():
                    found = accuracy.judge(operator, hard, self.contestants[operator.name], self.device)
                entries += found
                self.run.accuracy += found
                yield
        if entries:
            table.show_accuracy(entries)

    def _cold(self) -> Iterator[None]:
        operators = [operator for operator in self.operators if operator.cold]
        if operators:
            entries = cold.first_calls(operators, self.device)
            self.run.cold += entries
            table.show_cold(entries)
            yield


def _device(name: str) -> torch.device:
    cuda = torch.cuda.is_available()
    if name == "cuda" and not cuda:
        raise UsageError("--device cuda: no CUDA device is here; leave the option out to run the path on the CPU")
    return torch.device("cuda" if cuda and name != "cpu" else "cpu")
