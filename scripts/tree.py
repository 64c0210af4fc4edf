"""Copies the checkout as git would see it, so that a test or a deliberate defect can work on it without harm."""

import shutil
import subprocess
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
_MADE = (".git", ".venv", ".cache", "out", "build", "dist", "__pycache__", "*.egg-info", ".*_cache", ".hypothesis")


def files(root: Path = ROOT) -> list[Path]:
    """The paths of all tracked and new files below `root`, relative; without git, all that is not made by a tool."""
    if (root / ".git").exists():
        command = ["git", "-C", str(root), "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
        listed = subprocess.run(command, capture_output=True, check=True).stdout.decode().split("\0")
        return sorted({Path(name) for name in listed if name and (root / name).is_file()})
    made = [path for pattern in _MADE for path in root.rglob(pattern)]
    return sorted(
        path.relative_to(root)
        for path in root.rglob("*")
        if path.is_file() and not any(path.is_relative_to(folder) for folder in made)
    )


def copy(target: Path, root: Path = ROOT) -> Path:
    """Copies the tree into the new folder `target` and returns it."""
    for path in files(root):
        place = target / path
        place.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy2(root / path, place)
    return target
