"""A copy of a local set that is there only when all that is done to it went well.

Odd: shards are linked where the file system can, since no shard is ever changed.
"""

import contextlib
import os
import shutil
from collections.abc import Iterator
from pathlib import Path

from trivium.data.shards import names
from trivium.data.shards.manifest import Manifest, read_manifest, write_manifest
from trivium.data.shards.verify import verify
from trivium.errors import ShardError, UsageError


def check_target(folder: Path, target: Path) -> None:
    """Raises UsageError unless `target` is a place for a copy of the set: a new or empty folder outside of it."""
    if target.exists() and (not target.is_dir() or any(target.iterdir())):
        raise UsageError(f"--out {target}: is there already; give a folder that is new or empty (nothing was deleted)")
    if folder.resolve() in target.resolve().parents:
        raise UsageError(f"--out {target}: lies in the set {folder}; give a folder elsewhere")


@contextlib.contextmanager
def copied(folder: Path, target: Path) -> Iterator[Path]:
    """A copy of the set in `target`, proven whole at the end of the block; when that or the block fails, none is left.

    Raises UsageError (see `check_target`), ShardError (what was left of the set is not whole).
    """
    check_target(folder, target)
    manifest, _ = read_manifest(folder)
    new = not target.exists()
    try:
        _copy(folder, target, manifest)
        yield target
        if faults := verify(target).problems:
            raise ShardError(f"{target}: {faults[0]}; it was removed again. `trivium shards verify {folder}` says more")
    except BaseException:
        for path in target.glob("*"):
            shutil.rmtree(path) if path.is_dir() else path.unlink()
        if new and target.exists():
            target.rmdir()
        raise


def _copy(folder: Path, target: Path, manifest: Manifest) -> None:
    for path in sorted(folder.rglob("*")):
        inside = path.relative_to(folder)
        if not path.is_file() or inside.parts[0].startswith(".") or inside.name == names.MANIFEST:
            continue
        copy = target / inside
        copy.parent.mkdir(parents=True, exist_ok=True)
        try:
            os.link(path, copy)
        except OSError:
            shutil.copyfile(path, copy)
    write_manifest(target, manifest)
