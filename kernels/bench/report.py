"""The report: what was measured, by which command on which machine, as JSON that any machine can read and judge.

Odd: a file holds several runs, since a long table may be made in parts; a part measured anew replaces the old one.
Ratios never cross runs: only figures of one process on one machine are divided.
"""

import importlib.metadata
import statistics
import subprocess
from pathlib import Path

import msgspec
import torch

from trivium.errors import InputError

__all__ = [
    "Accuracy",
    "Cold",
    "ColdStep",
    "Family",
    "Figure",
    "Gap",
    "Launches",
    "Limits",
    "Report",
    "Row",
    "Run",
    "Step",
    "Waste",
    "commit",
    "read",
    "versions",
    "write",
]

VERSION = 1
LISTS = ("rows", "accuracy", "cold", "steps")  # of a run, written one entry a line


class Figure(msgspec.Struct, frozen=True, kw_only=True):
    """Samples in ms and the work that can't be avoided: bytes moved once, floating-point operations."""

    samples_ms: list[float]
    bytes: int
    flops: int

    @property
    def ms(self) -> float:
        """The median."""
        return statistics.median(self.samples_ms)


class Launches(msgspec.Struct, frozen=True, kw_only=True):
    """The kernels of one pass by name, as the profiler saw them: how often each was launched, and its µs in all."""

    kernels: dict[str, int]
    us: dict[str, float]

    @property
    def count(self) -> int:
        return sum(self.kernels.values())


class Waste(msgspec.Struct, frozen=True, kw_only=True):
    """Rows of the experts' buffers and tiles that hold no pair of a token and an expert, as shares."""

    buffer: float | None  # of the pairs; None: nothing that is kept for the backward has a row a pair
    tiles: float  # of the rows of all tiles
    rows_a_tile: int
    fullest: float  # pairs of the fullest expert over the mean


class Row(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One contestant on one layout; without figures when `red` says what is wrong with its results."""

    op: str
    layout: str
    contestant: str
    peer: bool
    path: str  # the autograd function that ran
    errors: dict[str, float | None]  # None: not finite
    red: str = ""
    forward: Figure | None = None
    both: Figure | None = None  # forwards and backwards
    peak_bytes: int | None = None  # extra memory at the peak of `both`; None where the device doesn't tell
    launches: dict[str, Launches] = {}  # by way; empty: not asked, or the device doesn't tell
    waits: bool | None = None  # whether the host waits for the device in a pass both ways
    waste: Waste | None = None


class Accuracy(msgspec.Struct, frozen=True, kw_only=True):
    """Errors of one contestant on one hard case, root mean squares of `draws` of its operands; `problem` when it raised
    or returned what is not finite.
    """

    op: str
    case: str
    contestant: str
    peer: bool
    errors: dict[str, float | None]
    problem: str = ""
    causal: bool | None = None  # an edit leaves every earlier output bit-equal; None: not asked
    repeats: bool | None = None  # a second run gives the same bits
    draws: int = 1


class Cold(msgspec.Struct, frozen=True, kw_only=True):
    """The first call of an operator both ways, with an empty cache, in a process that calls all of its run in turn."""

    op: str
    layout: str
    seconds: float
    compiled: int  # kernels
    again: dict[str, int]  # kernels compiled anew for other lengths of the row
    problem: str = ""


class Family(msgspec.Struct, frozen=True, kw_only=True):
    """Kernels of one operator, or of one kind, in a step."""

    ms: float
    launches: int


class Gap(msgspec.Struct, frozen=True, kw_only=True):
    """A time with nothing on the device, and what the host did in it."""

    ms: float
    host: str


class ColdStep(msgspec.Struct, frozen=True, kw_only=True):
    """The first training step of a fresh process with an empty cache; the clock starts with the model on the device."""

    seconds: float
    compiled: int  # kernels
    compile_s: float  # of them, inside the compiler
    slowest: dict[str, float]  # seconds by kernel, over its variants
    again: dict[str, int]  # kernels compiled anew for other rows


class Step(msgspec.Struct, frozen=True, kw_only=True):
    """A whole training step of a preset: forward, backward, optimizer; times of the device except `samples_ms`."""

    preset: str
    rows: str  # what the step's batch held
    tokens: int
    compiled: bool  # small pieces by torch.compile
    samples_ms: list[float]
    flops: int  # algorithmic products
    peak: float | None  # FLOP/s of the device's data sheet; None where it is not known
    peak_bytes: int | None
    families: dict[str, Family]
    idle_ms: float | None  # None: no device was seen
    gaps: int  # of 10 µs and more
    gap_ms: float
    largest: list[Gap]
    waits: dict[str, int]  # of the host for the device, by operator
    wait_ms: float
    cold: ColdStep | None = None
    problem: str = ""

    @property
    def ms(self) -> float:
        """The median."""
        return statistics.median(self.samples_ms) if self.samples_ms else 0.0

    @property
    def mfu(self) -> float | None:
        return self.flops / (self.ms / 1e3 * self.peak) if self.peak and self.ms else None


class Limits(msgspec.Struct, frozen=True, kw_only=True):
    """What the machine does at best, measured in the same process."""

    copy_bytes_s: float  # read + write
    matmul_flop_s: float

    def seconds(self, figure: Figure) -> float:
        """The least time for a figure's work."""
        return max(figure.bytes / self.copy_bytes_s, figure.flops / self.matmul_flop_s)


class Run(msgspec.Struct, kw_only=True):
    """One process's measurements."""

    command: str
    commit: str
    device: str
    versions: dict[str, str]
    limits: Limits
    rows: list[Row] = []
    accuracy: list[Accuracy] = []
    cold: list[Cold] = []
    steps: list[Step] = []

    @property
    def empty(self) -> bool:
        return not (self.rows or self.accuracy or self.cold or self.steps)


class Report(msgspec.Struct, kw_only=True):
    version: int
    runs: list[Run]

    def with_run(self, run: Run) -> "Report":
        """The report with `run` at its end; what it measured anew leaves the earlier runs, the peers' part too.

        First calls leave together: seconds of two processes don't add up.
        """
        rows = {(row.op, row.layout) for row in run.rows}
        cases = {(entry.op, entry.case) for entry in run.accuracy}
        steps = {(step.preset, step.compiled) for step in run.steps}
        kept = []
        for old in self.runs:
            left = msgspec.structs.replace(
                old,
                rows=[row for row in old.rows if (row.op, row.layout) not in rows],
                accuracy=[entry for entry in old.accuracy if (entry.op, entry.case) not in cases],
                cold=[] if run.cold else old.cold,
                steps=[step for step in old.steps if (step.preset, step.compiled) not in steps],
            )
            if not left.empty:
                kept.append(left)
        return Report(version=VERSION, runs=[*kept, run])


def read(path: Path) -> Report:
    """Raises InputError when the file is missing or no report of this version."""
    try:
        report = msgspec.json.decode(path.read_bytes(), type=Report)
    except OSError as error:
        raise InputError(f"{path}: can't be read ({error.strerror}); make it with --json on a GPU") from None
    except msgspec.DecodeError as error:
        raise InputError(f"{path}: no report of the kernels' table ({error}); make it anew with --json") from None
    if report.version != VERSION:
        raise InputError(f"{path}: version {report.version}; this code reads {VERSION}: make it anew with --json")
    return report


def write(path: Path, report: Report) -> None:
    """One measurement a line, so that a change can be read."""
    runs = []
    for run in report.runs:
        head = msgspec.to_builtins(run)
        parts = [f"{_json(key)}: {_json(head[key])}" for key in head if key not in LISTS]
        for key in LISTS:
            if key == "steps" and not run.steps:
                continue
            lines = ",\n    ".join(_json(entry) for entry in getattr(run, key))
            parts.append(f"{_json(key)}: [\n    {lines}\n  ]" if lines else f"{_json(key)}: []")
        runs.append("{\n  " + ",\n  ".join(parts) + "\n}")
    path.parent.mkdir(parents=True, exist_ok=True)
    whole = path.with_name(path.name + ".part")
    whole.write_text(f'{{"version": {report.version}, "runs": [\n' + ",\n".join(runs) + "\n]}\n", encoding="utf-8")
    whole.replace(path)


def _json(value: object) -> str:
    return msgspec.json.encode(value).decode()


def commit(folder: Path) -> str:
    """The commit of the checkout that holds `folder`, `+` behind it when files differ; "unknown" outside of one."""
    try:
        head = _git(folder, "rev-parse", "HEAD").strip()
        own = ":(top,exclude)docs/benchmarks.*"  # what a run itself writes
        changed = _git(folder, "status", "--porcelain", "--untracked-files=no", "--", ":/", own).strip()
        return head + ("+" if changed else "")
    except (OSError, subprocess.CalledProcessError):
        return "unknown"


def _git(folder: Path, *arguments: str) -> str:
    done = subprocess.run(["git", *arguments], cwd=folder, capture_output=True, text=True, check=True)
    return done.stdout


def versions(packages: set[str]) -> dict[str, str]:
    """Versions of Python packages; torch names its own, which holds the CUDA release."""
    found = {"torch": str(torch.__version__)}
    for package in sorted(packages | {"triton"}):
        try:
            found[package] = importlib.metadata.version(package)
        except importlib.metadata.PackageNotFoundError:
            found[package] = "not installed"
    return found
