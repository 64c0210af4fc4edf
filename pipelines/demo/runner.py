"""Runs the demo's steps, keeps what is already done, and writes the demo's report.

Odd: steps that need nothing of each other run at the same time, each a process of its own. What they print is kept and
shown whole when they end, so that it reads as if they had come one after another.
"""

import hashlib
import os
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from dataclasses import dataclass
from pathlib import Path

from rich.progress import Progress, SpinnerColumn, TextColumn, TimeElapsedColumn
from rich.rule import Rule

import trivium
from trivium.console import err, note, printable
from trivium.errors import InputError, TriviumError
from trivium.pipelines.demo.ledger import Ledger
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
    ledger = Ledger(out / "demo.json", fresh=fresh)
    code = _code_digest(root)
    started = time.monotonic()
    number, count = 1, sum(len(wave) for wave in plan)
    for wave in plan:
        _run_wave({step: f"{number + at}/{count}" for at, step in enumerate(wave)}, ledger, code)
        number += len(wave)
    facts = write_page(out, [step for wave in plan for step in wave], ledger.seconds, ledger.total(plan))
    note(f"\ndone in {time.monotonic() - started:.0f} s")
    for name in ("report.html", "gallery.html", "run/report.html", "curriculum.png"):
        note(f"  {out / name}")
    held_out = facts["held_out"]
    note(
        f"held-out text {held_out['text']['first']:.2f} → {held_out['text']['last']:.2f} nats "
        f"(bigram entropy {facts['bigram_entropy']:.2f}); code after its picture "
        f"{held_out['image']['last']:.2f}, after another's {held_out['image_shuffled']['last']:.2f}"
    )


def _run_wave(wave: dict[Step, str], ledger: Ledger, code: str) -> None:
    """The steps of one wave that are not done yet; `wave` numbers them. Raises TriviumError when one fails."""
    keys = {step: fingerprint(step, code) for step in wave}
    left = [step for step in wave if not ledger.done(step, keys[step])]
    for step, number in wave.items():
        if step not in left:
            _head(step, number)
            note(f"done before, in {ledger.seconds[step.name]:.0f} s; `--fresh` runs it again")
    for step in left:
        ledger.begin(step, keys[step])
    failed = []
    for ran in _together(left, wave) if len(left) > 1 else map(_alone, left, [wave[step] for step in left]):
        if ran.code == 0:
            ledger.add(ran.step, keys[ran.step], ran.seconds)
        else:
            failed.append(f"step {ran.step.name} failed with exit code {ran.code}")
    if failed:
        raise TriviumError(
            f"{'; '.join(failed)} (the message stands above); mend that and run the demo again: it goes on from here"
        )


@dataclass(frozen=True, slots=True)
class _Ran:
    step: Step
    code: int
    seconds: float
    out: bytes = b""
    err: bytes = b""


def _alone(step: Step, number: str) -> _Ran:
    """One step that shows what it prints as it prints it."""
    _head(step, number)
    ran = _call(step, quiet=False)
    _show(ran)
    return ran


def _together(left: Sequence[Step], numbers: dict[Step, str]) -> Iterator[_Ran]:
    """Several steps at the same time; each with all that it printed, as it ends."""
    columns = (SpinnerColumn(), TextColumn("{task.description}"), TimeElapsedColumn())
    with ThreadPoolExecutor(len(left)) as pool, Progress(*columns, console=err, transient=True) as progress:
        if not err.is_terminal:
            note(f"at the same time: {', '.join(step.name for step in left)}")
        lines = {step: progress.add_task(f"{numbers[step]} {step.title}", total=None) for step in left}
        for future in as_completed([pool.submit(_call, step, quiet=True) for step in left]):
            ran = future.result()
            progress.remove_task(lines[ran.step])
            _head(ran.step, numbers[ran.step])
            _show(ran)
            yield ran


def _call(step: Step, *, quiet: bool) -> _Ran:
    started = time.monotonic()
    command = [sys.executable, "-m", "trivium", *step.arguments]
    done = subprocess.run(
        command,
        stdout=subprocess.PIPE if step.capture or quiet else None,
        stderr=subprocess.PIPE if quiet else None,
        env=os.environ | ({"COLUMNS": str(err.width)} if quiet else {}),
        check=False,
    )
    if step.capture and done.returncode == 0:
        step.writes.write_bytes(done.stdout)
    return _Ran(step, done.returncode, time.monotonic() - started, done.stdout or b"", done.stderr or b"")


def _head(step: Step, number: str) -> None:
    err.print(Rule(f"[bold]{number}[/] {step.title}", align="left", style="dim"))
    note(f"$ trivium {' '.join(_shell(step.arguments))}")


def _show(ran: _Ran) -> None:
    """What a step printed, each stream to its own; what a model wrote may hold commands to a terminal."""
    for stream, output in ((sys.stderr, ran.err), (sys.stdout, ran.out)):
        text = output.decode(errors="replace")
        stream.write(printable(text) if stream.isatty() else text)
        stream.flush()


def _code_digest(root: Path) -> str:
    """Digest of the package's Python sources: other code means that steps are run again."""
    state = hashlib.sha256()
    for folder in ("trivium", "data", "vision", "model", "kernels", "curriculum", "pipelines"):
        for path in sorted((root / folder).rglob("*.py")):
            state.update(path.read_bytes())
    return state.hexdigest()[:16]


def _shell(arguments: Sequence[str]) -> list[str]:
    return [f'"{a}"' if " " in a else a for a in arguments]
