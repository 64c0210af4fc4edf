"""Runs many `trivium train` processes on one machine's GPUs until a deadline, and packs what they measured.

Odd: nobody knows beforehand how long a step takes when several runs share a GPU, and a cosine needs its last step. So a
run that would not end in time is looked at after some steps, and begun once more with as many steps as will.
"""

import io
import json
import os
import shutil
import signal
import subprocess
import sys
import tarfile
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import msgspec
import yaml
from _family_jobs import ROOT, RUN, Job

from trivium.data.config import from_mapping

LOOK = 0.5  # seconds between two looks
SAMPLE = 40  # steps after which a run's end is foreseen
MARGIN = 0.9  # share of the time left that is planned with
PACKED = ("metrics.jsonl", "config.yaml", "report.json", "skipped.jsonl", "starts.jsonl")


@dataclass
class Running:
    """One process, and what is known about it."""

    job: Job
    gpu: str | None
    process: subprocess.Popen[bytes]
    began: float
    beside: list[int] = field(default_factory=list)  # other processes on the GPU, at each look
    foreseen: bool = False
    asked: bool = False  # to leave
    over: bool = False  # ended by us, since all of its steps are measured


class Pool:
    """Up to `slots` processes a GPU; without GPUs, `slots` in all. Times are seconds of time.monotonic().

    `jobs.json` in `work` says what was begun, so that a later call goes on with it and does nothing twice.
    """

    def __init__(
        self, work: Path, corpora: Path, gpus: Sequence[str], slots: int, note: Callable[[str], None],
        *, extra: Sequence[str] = (), later: float = 0.0,
    ) -> None:  # fmt: skip
        self.work, self.corpora, self.slots, self.note, self.extra = work, corpora, slots, note, tuple(extra)
        self.later = later  # seconds that calls after this one will have
        self.gpus: list[str | None] = list(gpus) or [None]
        self.running: list[Running] = []
        self.file = work / "jobs.json"
        self.known: dict[str, dict[str, Any]] = json.loads(self.file.read_text()) if self.file.is_file() else {}

    def run(self, jobs: Sequence[Job], soft: float, hard: float) -> None:
        """All jobs in their order; at `soft` those that run are asked to leave, at `hard` they are killed."""
        waiting = [job for job in map(self._again, jobs) if not self._complete(job)]
        try:
            while waiting or self.running:
                now = time.monotonic()
                while now < soft and (following := self._next(waiting)) is not None:
                    waiting.remove(following[0])
                    self._start(*following)
                if waiting and now >= soft:
                    self.note(f"no time left for {', '.join(job.name for job in waiting)}")
                    waiting = []
                for one in list(self.running):
                    self._look(one, now, soft, hard)
                time.sleep(LOOK)
        finally:
            for one in self.running:  # an error, or Ctrl-C
                one.process.kill()

    def _next(self, waiting: Sequence[Job]) -> tuple[Job, str | None] | None:
        """The first job that may start now, and the GPU for it: one with a free slot and enough memory."""
        for job in waiting:
            gpus = self.gpus if job.place is None else [self.gpus[job.place % len(self.gpus)]]
            gpu = min(gpus, key=self._processes)
            taken = sum(one.job.memory for one in self.running if one.gpu == gpu)
            if self._processes(gpu) < self.slots and taken + job.memory <= 1:
                return job, gpu
        return None

    def _processes(self, gpu: str | None) -> int:
        return sum(one.gpu == gpu for one in self.running)

    def lines(self, job: Job) -> list[dict[str, Any]]:
        return step_lines(self.work / "runs" / job.name / "metrics.jsonl")

    def _again(self, job: Job) -> Job:
        """A job that was begun before keeps its number of steps: its schedule may not change."""
        known = self.known.get(job.name)
        return from_mapping(known["job"], Job, name=str(self.file)) if known else job

    def _complete(self, job: Job) -> bool:
        done = self.lines(job)
        return bool(done) and done[-1]["step"] == job.steps and (job.kind != "run" or self._reported(job))

    def _reported(self, job: Job) -> bool:
        """Whether the last evaluation stands too: a run may be killed between its last step and that."""
        report = self.work / "runs" / job.name / "report.json"
        return report.is_file() and bool(json.loads(report.read_bytes())["complete"])

    def _start(self, job: Job, gpu: str | None, *, anew: bool = False) -> None:
        goes_on = job.name in self.known and not anew
        schedule = self.work / "schedules" / f"{job.name}.yaml"
        schedule.parent.mkdir(parents=True, exist_ok=True)
        schedule.write_text(yaml.safe_dump(job.schedule(), sort_keys=False), encoding="utf-8")
        command = [sys.executable, "-m", "trivium", "train", str(RUN), "--out", str(self.work / "runs" / job.name)]
        for change in [*job.overrides(schedule.resolve(), self.corpora.resolve()), *self.extra]:
            command += ["--set", change]
        environment = surroundings()
        if gpu is not None:
            environment |= {"CUDA_VISIBLE_DEVICES": gpu, "PYTORCH_CUDA_ALLOC_CONF": "expandable_segments:True"}
        log = self.work / "logs" / f"{job.name}.log"
        log.parent.mkdir(parents=True, exist_ok=True)
        with log.open("ab") as file:
            process = subprocess.Popen(command, cwd=ROOT, env=environment, stdout=file, stderr=file)
        where = "" if gpu is None else f" on GPU {gpu}"
        self.note(f"{job.name}: {job.steps} steps{where}{', going on' if goes_on else ''}")
        self.running.append(Running(job, gpu, process, time.monotonic(), foreseen=goes_on or anew))
        places = {str(self.work.resolve()): "WORK", str(self.work): "WORK", str(self.corpora.resolve()): "CORPORA"}
        told = [_placed(word, places) for word in command[1:]]
        self.known[job.name] = {"job": msgspec.to_builtins(job), "command": told, "starts": []} | (
            {"starts": self.known[job.name]["starts"]} if goes_on else {}
        )
        self._keep()

    def _keep(self) -> None:
        self.file.write_text(json.dumps(self.known, indent=1), encoding="utf-8")

    def _look(self, one: Running, now: float, soft: float, hard: float) -> None:
        one.beside.append(sum(other.gpu == one.gpu for other in self.running) - 1)
        code = one.process.poll()
        if code is not None:
            self.running.remove(one)
            self._finish(one, 0 if one.over else code, now)
        elif one.job.kind != "run" and self._complete(one.job):
            one.over = True  # its checkpoint and its report are of no use
            one.process.kill()
        elif now >= hard:
            one.process.kill()
        elif now >= soft and not one.asked:
            one.asked = True
            one.process.send_signal(signal.SIGTERM)
        elif one.job.kind == "run" and not one.foreseen and not one.asked:
            self._foresee(one, now, soft)

    def _foresee(self, one: Running, now: float, soft: float) -> None:
        """Begins a run anew with fewer steps when it would not end in time."""
        lines = self.lines(one.job)
        if len(lines) < SAMPLE:
            return
        one.foreseen = True
        seconds = sorted(line["time"]["step"] for line in lines[SAMPLE // 2 :])
        rate = seconds[len(seconds) // 2]
        start_up = max(0.0, now - one.began - len(lines) * rate)  # a new start costs about what this one did
        steps = fitting(one.job.steps - lines[-1]["step"], rate, soft + self.later - now, start_up)
        if steps is None:
            return
        if steps < 4 * SAMPLE:
            self.note(f"{one.job.name}: {rate:.3f} s a step; goes on as far as time allows")
            return
        one.process.kill()
        one.process.wait()
        shutil.rmtree(self.work / "runs" / one.job.name)
        self.running.remove(one)
        self.note(f"{one.job.name}: {rate:.3f} s a step; begun again with {steps} steps")
        self._start(one.job.shortened(steps), one.gpu, anew=True)

    def _finish(self, one: Running, code: int, now: float) -> None:
        lines = self.lines(one.job)
        seconds = round(now - one.began, 1)
        beside = round(sum(one.beside) / max(1, len(one.beside)), 2)
        self.known[one.job.name]["starts"].append(
            {"gpu": one.gpu, "seconds": seconds, "exit": code, "beside": beside, "left": one.asked}
        )
        self._keep()
        loss = f", loss {lines[0]['loss']['total']:.3f} → {lines[-1]['loss']['total']:.3f}" if lines else ""
        self.note(f"{one.job.name}: {len(lines)} of {one.job.steps} steps, {seconds:.0f} s, exit {code}{loss}")
        if code and not one.asked:
            log = (self.work / "logs" / f"{one.job.name}.log").read_text(errors="replace").strip().splitlines()
            self.note("\n".join(log[-6:]))


def surroundings() -> dict[str, str]:
    """The environment of a process that trains: this checkout's code, beside what this process was given."""
    given = os.environ.get("PYTHONPATH")
    return os.environ | {"PYTHONPATH": os.pathsep.join(filter(None, (str(ROOT), given))), "COLUMNS": "120"}


def _placed(word: str, places: dict[str, str]) -> str:
    """Without where this machine keeps its files; a folder inside another one comes first."""
    for path in sorted(places, key=len, reverse=True):
        word = word.replace(path, places[path])
    return word


def fitting(left: int, rate: float, seconds: float, start_up: float) -> int | None:
    """How many steps a new start should have so that it ends within `seconds`; None: the `left` ones will, go on."""
    if left * rate <= MARGIN * seconds:
        return None
    return max(0, int((MARGIN * seconds - start_up) / rate / 100) * 100)


def step_lines(path: Path) -> list[dict[str, Any]]:
    """The whole step lines of a metrics file that may be written to right now."""
    if not path.is_file():
        return []
    lines = [json.loads(raw) for raw in path.read_bytes().split(b"\n")[:-1] if raw]
    return [line for line in lines if line["kind"] == "step"]


def pack(work: Path, file: Path, facts: dict[str, Any]) -> None:
    """What every run measured, without its checkpoints, as one archive."""
    file.parent.mkdir(parents=True, exist_ok=True)
    with tarfile.open(file, "w:gz") as archive:
        payload = json.dumps(facts, indent=1).encode()
        entry = tarfile.TarInfo("family.json")
        entry.size = len(payload)
        archive.addfile(entry, io.BytesIO(payload))
        for folder in sorted((work / "runs").glob("*")):
            for name in PACKED:
                if (folder / name).is_file():
                    archive.add(folder / name, f"runs/{folder.name}/{name}")
        for log in sorted((work / "logs").glob("*.log")):
            archive.add(log, f"logs/{log.name}")


def unpack(corpora: Path, work: Path) -> Path:
    """The folder with corpora/ and tokenizer.json; an archive is unpacked below `work`."""
    if corpora.is_dir():
        return corpora
    folder = work / "data"
    if not (folder / "tokenizer.json").is_file():
        with tarfile.open(corpora, ignore_zeros=True) as archive:  # several archives may stand in one file
            archive.extractall(folder, filter="data")
    return folder
