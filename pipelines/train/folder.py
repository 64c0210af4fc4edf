"""The run folder: what lies where, its lock, and what is written about code and machine at every start."""

import fcntl
import os
import platform
import socket
import subprocess
import time
from pathlib import Path
from typing import Any

import msgspec

import trivium
from trivium.errors import InputError, TrainError

CONFIG = "config.yaml"
TOKENIZER = "tokenizer.json"  # the copy's name in every run folder

# What a run killed before its first recorded start may leave behind.
BEFORE_START = {".lock", "plan", CONFIG, TOKENIZER}


class RunFolder:
    """Paths inside `root`; as a context manager it holds the folder's lock for one process."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.config = root / CONFIG
        self.metrics = root / "metrics.jsonl"
        self.skipped = root / "skipped.jsonl"
        self.checkpoints = root / "checkpoints"
        self.events = root / "tensorboard"
        self.starts = root / "starts.jsonl"
        self.changes = root / "changes.jsonl"
        self.report_html = root / "report.html"
        self.report_json = root / "report.json"
        self._lock: int | None = None

    def __enter__(self) -> "RunFolder":
        try:
            self.root.mkdir(parents=True, exist_ok=True)
        except (FileExistsError, NotADirectoryError):
            raise InputError(f"{self.root}: is not a folder; give another --out") from None
        except PermissionError:
            raise InputError(f"{self.root}: can't be made (permission denied); give another --out") from None
        self._refuse_foreign()
        self._lock = os.open(self.root / ".lock", os.O_RDWR | os.O_CREAT, 0o644)
        try:
            fcntl.flock(self._lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            holder = os.read(self._lock, 200).decode(errors="replace").strip() or "another process"
            os.close(self._lock)
            self._lock = None
            raise TrainError(
                f"{self.root}: {holder} is training in this folder; wait for it, stop it, or give another --out"
            ) from None
        os.ftruncate(self._lock, 0)
        os.write(self._lock, f"process {os.getpid()} on {socket.gethostname()}".encode())
        return self

    def _refuse_foreign(self) -> None:
        """A folder with files that no run wrote is left alone: a run would scatter its own among them."""
        found = {path.name for path in self.root.iterdir()}
        foreign = {name for name in found - BEFORE_START if not name.startswith(f".{CONFIG}.")}  # write_atomically's
        if foreign and self.starts.name not in found:
            first = ", ".join(sorted(foreign)[:3])
            raise InputError(
                f"{self.root}: holds {first}, which no training run wrote; give --out a new or empty folder, or the "
                "folder of a run to go on with"
            )

    def __exit__(self, *raised: object) -> None:
        if self._lock is not None:
            os.close(self._lock)
            self._lock = None


def write_atomically(path: Path, text: str) -> None:
    """Writes beside `path`, forces it to the disk, renames: a reader sees the old file or the new one."""
    beside = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        with beside.open("w", encoding="utf-8") as file:
            file.write(text)
            file.flush()
            os.fsync(file.fileno())
        beside.replace(path)
    finally:
        beside.unlink(missing_ok=True)


def code_version() -> dict[str, Any]:
    """The package's version and, in a git checkout, its commit and whether files differ from it."""
    root = Path(trivium.__file__).resolve().parent.parent
    version: dict[str, Any] = {"trivium": trivium.__version__, "commit": None, "changed": None}
    if not (root / ".git").exists():
        return version
    try:
        commit = _git(root, "rev-parse", "HEAD")
        changed = _git(root, "status", "--porcelain", "--untracked-files=no")
    except (OSError, subprocess.SubprocessError):
        return version
    return {**version, "commit": commit, "changed": bool(changed)}


def _git(root: Path, *arguments: str) -> str:
    done = subprocess.run(["git", "-C", str(root), *arguments], check=True, capture_output=True, text=True, timeout=10)
    return done.stdout.strip()


def machine() -> dict[str, Any]:
    """Python, libraries, processor and accelerator: what a reader needs to judge a difference between two runs."""
    import numpy as np
    import torch

    return {
        "python": platform.python_version(),
        "torch": str(torch.__version__),
        "numpy": str(np.__version__),
        "system": platform.platform(),
        "processor": _processor(),
        "cores": os.cpu_count(),
        "threads": torch.get_num_threads(),
        "host": socket.gethostname(),
        "accelerator": torch.cuda.get_device_name() if torch.cuda.is_available() else None,
    }


def _processor() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    except OSError:
        return platform.processor()
    names = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    return names[0] if names else platform.processor()


def record_start(folder: RunFolder, facts: dict[str, Any]) -> None:
    """One line a start: when, from which step, with which code on which machine."""
    line = {"at": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()), **facts}
    with folder.starts.open("ab") as file:
        file.write(msgspec.json.encode(line) + b"\n")


def read_starts(folder: RunFolder) -> list[dict[str, Any]]:
    return _whole_lines(folder.starts)


def read_changes(folder: RunFolder) -> list[dict[str, Any]]:
    """The schedule's changes between two starts, oldest first."""
    return _whole_lines(folder.changes)


def _whole_lines(path: Path) -> list[dict[str, Any]]:
    """A line that was cut short is left out; none where there is no file."""
    if not path.is_file():
        return []
    lines = []
    for raw in path.read_bytes().splitlines():
        try:
            lines.append(msgspec.json.decode(raw))
        except msgspec.DecodeError:
            continue
    return lines
