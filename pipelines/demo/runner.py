"""Runs the demo's steps one after another, keeps what is already done, and writes the demo's report."""

import hashlib
import json
import os
import shutil
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path

from rich.rule import Rule

import trivium
from trivium.console import err, note
from trivium.errors import InputError, TriviumError
from trivium.pipelines.demo.page import write_page
from trivium.pipelines.demo.steps import Step, fingerprint, steps


def find_root() -> Path:
    """The checkout that holds recipes/ and examples/. Raises InputError when only the package is installed."""
    root = Path(trivium.__file__).resolve().parent.parent
    if not (root / "recipes").is_dir() or not (root / "examples").is_dir():
        raise InputError(f"{root}: no recipes/ and examples/ here; the demo runs from a clone of the repository")
    return Path(os.path.relpath(root))


def run_demo(out: Path, *, fresh: bool = False) -> None:
    """Runs every step that is not done yet, then writes `report.json` and `report.html` into `out`.

    Raises InputError outside a checkout, TriviumError when a step fails (naming it and how to go on).
    """
    root = find_root()
    plan = steps(root, out)
    out.mkdir(parents=True, exist_ok=True)
    ledger = _Ledger(out / "demo.json", fresh=fresh)
    code = _code_digest(root)
    started = time.monotonic()
    for number, step in enumerate(plan, start=1):
        err.print(Rule(f"[bold]{number}/{len(plan)}[/] {step.title}", align="left", style="dim"))
        note(f"$ trivium {' '.join(_shell(step.arguments))}")
        key = fingerprint(step, code)
        if ledger.done(step, key):
            note(f"done before, in {ledger.seconds[step.name]:.0f} s; `--fresh` runs it again")
            continue
        ledger.begin(step, key)
        before = time.monotonic()
        _run(step)
        ledger.add(step, key, time.monotonic() - before)
    facts = write_page(out, plan, ledger.seconds)
    note(f"\ndone in {time.monotonic() - started:.0f} s")
    for name in ("report.html", "gallery.html", "run/report.html", "curriculum.png"):
        note(f"  {out / name}")
    held_out = facts["held_out"]
    note(
        f"held-out text {held_out['text']['first']:.2f} → {held_out['text']['last']:.2f} nats "
        f"(bigram entropy {facts['bigram_entropy']:.2f}); code after its picture "
        f"{held_out['image']['last']:.2f}, after another's {held_out['image_shuffled']['last']:.2f}"
    )


class _Ledger:
    """Which steps are begun and done: fingerprint and seconds by step name, kept in one JSON file."""

    def __init__(self, path: Path, *, fresh: bool) -> None:
        self.path = path
        self.begun: dict[str, str] = {}
        self.keys: dict[str, str] = {}
        self.seconds: dict[str, float] = {}
        if path.exists() and not fresh:
            kept = json.loads(path.read_text())
            self.begun, self.keys, self.seconds = kept["begun"], kept["keys"], kept["seconds"]

    def done(self, step: Step, key: str) -> bool:
        return self.keys.get(step.name) == key and step.writes.exists()

    def begin(self, step: Step, key: str) -> None:
        """A step begun with another fingerprint left work that can't be gone on with: its folder goes."""
        if self.begun.get(step.name) != key and step.resumes is not None and step.resumes.exists():
            shutil.rmtree(step.resumes)
        self.begun[step.name] = key
        self._write()

    def add(self, step: Step, key: str, seconds: float) -> None:
        self.keys[step.name] = key
        self.seconds[step.name] = round(seconds, 2)
        self._write()

    def _write(self) -> None:
        partial = self.path.with_suffix(".tmp")
        partial.write_text(json.dumps({"begun": self.begun, "keys": self.keys, "seconds": self.seconds}, indent=2))
        partial.replace(self.path)


def _run(step: Step) -> None:
    command = [sys.executable, "-m", "trivium", *step.arguments]
    result = subprocess.run(command, stdout=subprocess.PIPE if step.capture else None, check=False)
    if result.stdout:
        sys.stdout.buffer.write(result.stdout)
        sys.stdout.flush()
    if result.returncode != 0:
        raise TriviumError(
            f"step {step.name} failed with exit code {result.returncode} (its message stands above); "
            "mend that and run the demo again: it goes on from here"
        )
    if step.capture:
        step.writes.write_bytes(result.stdout)


def _code_digest(root: Path) -> str:
    """Digest of the package's Python sources: other code means that steps are run again."""
    state = hashlib.sha256()
    for folder in ("trivium", "data", "vision", "model", "kernels", "curriculum", "pipelines"):
        for path in sorted((root / folder).rglob("*.py")):
            state.update(path.read_bytes())
    return state.hexdigest()[:16]


def _shell(arguments: Sequence[str]) -> list[str]:
    return [f'"{a}"' if " " in a else a for a in arguments]
