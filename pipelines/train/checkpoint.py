"""Checkpoints that are whole or not there.

    DIR/checkpoints/step-00000120/
        __0_0.distcp, .metadata     tensors, by torch.distributed.checkpoint
        manifest.json               step, identity of the run, small state, size and sha256 of each file

Odd: a checkpoint is written under a hidden name, forced to the disk, hashed, and only then renamed; one that is
replaced or outlived is renamed to a hidden name before its files go. So at any moment of a kill every `step-*` folder
is whole, and one that fails its hashes was damaged later: `newest` then warns and takes the one before.
"""

import hashlib
import os
import shutil
import warnings
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import msgspec
import torch
from torch import Tensor

from trivium.errors import CheckpointError, TrainError

FORMAT = "trivium.checkpoint"
VERSION = 1
_PREFIX = "step-"
_HIDDEN = (".new-", ".old-")


class File(msgspec.Struct, frozen=True, kw_only=True):
    """One file of a checkpoint; size in bytes."""

    name: str
    bytes: int
    sha256: str


class Manifest(msgspec.Struct, frozen=True, kw_only=True):
    """What `manifest.json` holds; `digest` is the sha256 of all the rest."""

    format: str
    version: int
    step: int
    identity: dict[str, Any]
    state: dict[str, Any]
    files: tuple[File, ...]
    digest: str = ""

    def sealed(self) -> "Manifest":
        return msgspec.structs.replace(self, digest=self._sum())

    def whole(self) -> bool:
        return self.digest == self._sum()

    def _sum(self) -> str:
        blank = msgspec.structs.replace(self, digest="")
        return hashlib.sha256(msgspec.json.encode(blank, order="sorted")).hexdigest()


@dataclass(frozen=True, slots=True)
class Checkpoint:
    """A checkpoint whose hashes were verified."""

    folder: Path
    manifest: Manifest

    @property
    def step(self) -> int:
        return self.manifest.step

    @property
    def state(self) -> dict[str, Any]:
        return self.manifest.state

    def tensors(self) -> dict[str, Tensor]:
        """All tensors by the names they were saved under, on the CPU. Raises CheckpointError."""
        import torch.distributed.checkpoint as dcp  # a second of imports, sympy among them, for those that need it
        from torch.distributed.checkpoint.metadata import TensorStorageMetadata

        try:
            _quiet()
            metadata = dcp.FileSystemReader(self.folder).read_metadata()
            loaded: dict[str, Tensor] = {}
            for name, entry in metadata.state_dict_metadata.items():
                if not isinstance(entry, TensorStorageMetadata):
                    raise CheckpointError(f"{self.folder}: {name!r} is not a tensor; this code did not write it")
                loaded[name] = torch.empty(entry.size, dtype=entry.properties.dtype)
            dcp.load(dict(loaded), storage_reader=dcp.FileSystemReader(self.folder), no_dist=True)
        except (OSError, RuntimeError, dcp.CheckpointException) as error:
            raise CheckpointError(f"{self.folder}: can't be read ({_reason(error)})") from None
        return loaded


class CheckpointStore:
    """The checkpoints of one run; the `keep` newest stay."""

    def __init__(self, folder: Path, *, keep: int) -> None:
        self.folder = folder
        self.keep = keep

    def clean(self) -> None:
        """Removes what a killed process left half-written; call it under the run folder's lock."""
        if self.folder.is_dir():
            for path in self.folder.iterdir():
                if path.name.startswith(_HIDDEN):
                    shutil.rmtree(path, ignore_errors=True)

    def steps(self) -> list[int]:
        """Steps with a checkpoint, whole or damaged, oldest first."""
        if not self.folder.is_dir():
            return []
        names = [path.name.removeprefix(_PREFIX) for path in self.folder.glob(f"{_PREFIX}*")]
        return sorted(int(name) for name in names if name.isdigit())

    def path(self, step: int) -> Path:
        return self.folder / f"{_PREFIX}{step:08d}"

    def save(
        self, step: int, tensors: Mapping[str, Tensor], state: Mapping[str, Any], identity: Mapping[str, Any]
    ) -> Path:
        """Writes the checkpoint of `step` and forgets the oldest beyond `keep`.

        Raises TrainError when it can't be written; the checkpoints that stood before are then untouched.
        """
        import torch.distributed.checkpoint as dcp

        new = self.folder / f".new-{step:08d}"
        try:
            self.folder.mkdir(parents=True, exist_ok=True)
            shutil.rmtree(new, ignore_errors=True)
            self._write(new, step, tensors, state, identity)
        except (OSError, RuntimeError, dcp.CheckpointException) as error:
            shutil.rmtree(new, ignore_errors=True)
            before = self.steps()
            intact = f"the one of step {before[-1]} is intact" if before else "there is none before it"
            raise TrainError(
                f"{self.path(step)}: the checkpoint can't be written ({_reason(error)}); {intact}: free some space "
                "and give the same command again"
            ) from None
        final = self.path(step)
        if final.exists():
            self._forget(step)
        new.rename(final)
        _sync(self.folder)
        for old in self.steps()[: -self.keep]:
            self._forget(old)
        return final

    def _write(
        self, new: Path, step: int, tensors: Mapping[str, Tensor], state: Mapping[str, Any], identity: Mapping[str, Any]
    ) -> None:
        import torch.distributed.checkpoint as dcp

        _quiet()
        writer = dcp.FileSystemWriter(new, single_file_per_rank=True, sync_files=False)
        dcp.save(dict(tensors), storage_writer=writer, no_dist=True)
        paths = sorted(path for path in new.iterdir() if path.is_file())
        # Two threads: the disk takes the bytes while the processor hashes them.
        with ThreadPoolExecutor(max_workers=1) as pool:
            synced = [pool.submit(_sync, path) for path in paths]
            files = tuple(File(name=path.name, bytes=path.stat().st_size, sha256=_sha256(path)) for path in paths)
            for done in synced:
                done.result()
        manifest = Manifest(
            format=FORMAT, version=VERSION, step=step, identity=dict(identity), state=dict(state), files=files
        ).sealed()
        place = new / "manifest.json"
        place.write_bytes(msgspec.json.format(msgspec.json.encode(manifest), indent=1))
        _sync(place)
        _sync(new)

    def _forget(self, step: int) -> None:
        old = self.folder / f".old-{step:08d}"
        shutil.rmtree(old, ignore_errors=True)
        self.path(step).rename(old)
        shutil.rmtree(old, ignore_errors=True)

    def newest(self, warn: Callable[[str], None]) -> Checkpoint | None:
        """The newest whole checkpoint, None when there is none at all.

        A damaged one is named through `warn` and set aside as `damaged-*`. Raises CheckpointError when all are
        damaged, or when one was written by a version of the format that this code does not know.
        """
        steps = self.steps()
        damaged: list[tuple[Path, str]] = []
        for step in reversed(steps):
            found = verify(self.path(step))
            if isinstance(found, str):
                damaged.append((self.path(step), found))
                continue
            for path, why in damaged:
                warn(f"{why}; going on from the checkpoint before it, of step {step}")
                aside = path.with_name(f"damaged-{path.name}")
                shutil.rmtree(aside, ignore_errors=True)
                path.rename(aside)
            return found
        if damaged:
            listed = "; ".join(why for _, why in damaged)
            raise CheckpointError(
                f"{self.folder}: no checkpoint is whole: {listed}. Bring one back from a copy, or begin anew "
                "with another --out"
            )
        return None


def verify(folder: Path) -> Checkpoint | str:
    """The checkpoint in `folder` when every file has its size and sha256, else one line that says what differs.

    Raises CheckpointError when the format's version is not known here.
    """
    try:
        manifest = msgspec.json.decode((folder / "manifest.json").read_bytes(), type=Manifest)
    except (OSError, msgspec.DecodeError, UnicodeDecodeError) as error:
        return f"{folder} is damaged: manifest.json can't be read ({error})"
    if manifest.format != FORMAT or not manifest.whole():
        return f"{folder} is damaged: manifest.json does not have its own digest"
    if manifest.version != VERSION:
        raise CheckpointError(
            f"{folder}: format version {manifest.version}, this code reads {VERSION}; use the release that wrote it"
        )
    for file in manifest.files:
        path = folder / file.name
        if not path.is_file():
            return f"{folder} is damaged: {file.name} is missing"
        size = path.stat().st_size
        if size != file.bytes:
            return f"{folder} is damaged: {file.name} has {size} bytes, {file.bytes} were written"
        if _sha256(path) != file.sha256:
            return f"{folder} is damaged: the sha256 of {file.name} differs from what was written"
    return Checkpoint(folder, manifest)


def check_identity(found: Checkpoint, identity: Mapping[str, Any]) -> None:
    """Raises CheckpointError naming every key in which the run that wrote `found` differs from this one."""
    plain = msgspec.json.decode(msgspec.json.encode(dict(identity)))  # as it comes back: no tuples
    theirs, ours = dict(_flat(found.manifest.identity)), dict(_flat(plain))
    keys = [key for key in (theirs | ours) if theirs.get(key) != ours.get(key)]
    if not keys:
        return
    shown = [f"{key} was {_short(theirs.get(key))}, is {_short(ours.get(key))}" for key in sorted(keys)[:8]]
    more = f" (and {len(keys) - 8} more)" if len(keys) > 8 else ""
    raise CheckpointError(
        f"{found.folder}: written by a run of another configuration: {'; '.join(shown)}{more}. Set these back to go on "
        "with it, or give another --out to begin a new run"
    )


def _flat(value: Any, path: str = "") -> list[tuple[str, Any]]:
    if isinstance(value, dict) and value:
        return [pair for key, inner in value.items() for pair in _flat(inner, f"{path}.{key}" if path else str(key))]
    if isinstance(value, list) and value:
        return [pair for index, inner in enumerate(value) for pair in _flat(inner, f"{path}.{index}")]
    return [(path, value)]


def _short(value: Any) -> str:
    text = "absent" if value is None else repr(value)
    return text if len(text) <= 40 else text[:37] + "…"


def _sha256(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _sync(path: Path) -> None:
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def _quiet() -> None:
    """torch warns at each call that there is no process group; one process without a group is what we mean.

    Odd: a filter that stays, since `catch_warnings` swaps the filters of all threads and this one is not alone.
    """
    warnings.filterwarnings("ignore", message="torch.distributed is disabled", category=UserWarning)


def _reason(error: BaseException) -> str:
    """The first line of the innermost cause: torch wraps a full disk in three layers."""
    import torch.distributed.checkpoint as dcp

    if isinstance(error, dcp.CheckpointException):
        inner = next(iter(error.failures.values()), None)
        if inner is not None:
            return _reason(inner[0])
    if isinstance(error, OSError) and error.strerror:
        return error.strerror
    lines = str(error).splitlines() or [type(error).__name__]
    return lines[0][:200]
