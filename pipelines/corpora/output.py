"""The output folder of a build: whose it is, one build at a time, and the swap from old set to new.

Odd: a new set is written whole below `.build/` and takes its place by renames, manifest last. So a killed build leaves
the old set untouched (or, in the moment of the swap, a set without manifest that every reader refuses), and what lies
in `.build/` is ours to clean. Nothing that we did not write is ever deleted.
"""

import contextlib
import errno
import fcntl
import os
import shutil
from collections.abc import Iterable, Iterator
from pathlib import Path

import msgspec

from trivium.data.dedup.kept import FOLDER as LEFT
from trivium.data.shards import names, read_manifest
from trivium.data.shards.storage import write_whole
from trivium.data.shards.takedown import refuse_return
from trivium.errors import BuildError, ShardError, UsageError
from trivium.pipelines.corpora.marks import FOLDER, Input

BUILD, REPORT = ".build", "report"
_OWNER, _LOCK = "owner.json", "lock"
_VERSION = 2  # of what a build folder holds
_FOLDERS = (names.SHARDS, names.REJECTS, REPORT, LEFT)
_OURS = frozenset({BUILD, names.MANIFEST, *_FOLDERS})
_REPORT_FILES = frozenset({"index.html", "report.json", "sample.jsonl"})


class Owner(msgspec.Struct, frozen=True, kw_only=True):
    """The mark in `.build/`: this folder is a build's, of which corpus, by which code from which inputs."""

    format: str = "trivium.build"
    version: int = _VERSION
    corpus: str
    recipe: str
    code: str = ""
    limit: int | None = None
    inputs: dict[str, Input] = {}
    cuts: tuple[str, ...] = ()  # stages behind which an earlier run was told to stop


class Claim:
    """A build folder that is ours for now. `before` is the owner that an earlier run left with jobs that are done;
    `keep` = leave the folder when the block ends well."""

    def __init__(self, folder: Path, before: Owner | None) -> None:
        self.folder, self.before, self.keep = folder, before, False

    def own(self, owner: Owner) -> None:
        """Writes whose the folder is from now on."""
        write_whole(self.folder / _OWNER, msgspec.json.encode(owner))


@contextlib.contextmanager
def claimed(out: Path, corpus: str, recipe: str, *, fresh: bool = False) -> Iterator[Claim]:
    """The build folder `out/.build` for one build; removed when the block ends well, kept for the next run when not.

    What an earlier run of the corpus has done stays in it, unless `fresh`. Raises UsageError when `out` holds something
    else, BuildError when another build runs there.
    """
    refuse_foreign(out, corpus)
    build = out / BUILD
    try:
        build.mkdir(parents=True, exist_ok=True)
    except (FileNotFoundError, NotADirectoryError) as error:  # below a file, or where the system makes the names
        raise UsageError(f"--out {out}: can't be made there ({error.strerror}); give a folder elsewhere") from None
    with _locked(build / _LOCK, out):
        before = _owner(build)
        done = before is not None and before.version == _VERSION and (build / FOLDER).is_dir()
        if fresh or not done:
            before = None
            for entry in build.iterdir():
                if entry.name not in (_LOCK, _OWNER):
                    _remove(entry)
        claim = Claim(build, before)
        claim.own(before or Owner(corpus=corpus, recipe=recipe))
        yield claim
        if not claim.keep:
            shutil.rmtree(build)


def refuse_foreign(out: Path, corpus: str) -> None:
    """Raises UsageError unless `out` is absent, empty, or an earlier build of the same corpus."""
    if out.is_symlink() and not out.exists():
        raise UsageError(f"--out {out}: a link that leads nowhere; give another folder")
    if not out.exists():
        return
    if not out.is_dir():
        raise UsageError(f"--out {out}: a file; give a folder that is new, empty, or of an earlier build")
    cure = "give another --out, or move it away (nothing was deleted)"
    foreign = sorted({entry.name for entry in out.iterdir()} - _OURS)
    if foreign:
        raise UsageError(f"--out {out}: holds {', '.join(foreign[:3])}, which no build wrote; {cure}")
    owner = _owner(out / BUILD)
    if (out / BUILD).exists() and owner is None and any(e.name != _LOCK for e in (out / BUILD).iterdir()):
        raise UsageError(f"--out {out}: {BUILD} there was not made by a build; {cure}")
    odd = [path for path in _inside(out) if not _written_by_us(path)]
    if odd:
        raise UsageError(f"--out {out}: holds {odd[0].relative_to(out)}, which no build wrote; {cure}")
    if (out / names.MANIFEST).exists():
        try:
            manifest, _ = read_manifest(out)
        except ShardError as error:
            raise UsageError(f"--out {out}: its manifest is not one of ours ({error}); {cure}") from None
        if manifest.corpus != corpus or manifest.tokenizer is not None:
            what = f"corpus {manifest.corpus!r}" + (", tokenised" if manifest.tokenizer else "")
            raise UsageError(f"--out {out}: holds {what}, and this recipe makes {corpus!r}; {cure}")
        refuse_return(out)
    elif owner is None and any(path.parent.name != REPORT for path in _inside(out)):
        raise UsageError(f"--out {out}: holds shards without a manifest and no mark of a build; {cure}")
    elif owner is not None and owner.corpus != corpus:
        raise UsageError(f"--out {out}: holds an unfinished build of {owner.corpus!r}, not of {corpus!r}; {cure}")


def refuse_inside(out: Path, reader: str, inputs: Iterable[Path]) -> None:
    """Raises UsageError when `out` and an input lie in each other: the next run would read what this one wrote."""
    target = out.resolve()
    for place in inputs:
        there = place.resolve()
        if target == there or there in target.parents:
            raise UsageError(
                f"--out {out}: lies in what {reader} reads ({there}), so the next run would read its own output; "
                "give a folder elsewhere"
            )
        if target in there.parents:
            raise UsageError(
                f"--out {out}: holds what {reader} reads ({there}), and what is there is replaced; give a folder "
                "elsewhere"
            )


def swap(new: Path, out: Path) -> None:
    """Puts the finished set `new` in the place of what `out` held. The manifest goes first and comes last."""
    (out / names.MANIFEST).unlink(missing_ok=True)
    for path in _inside(out):
        path.unlink()
    folders = [folder for folder in _FOLDERS if folder != LEFT or (new / LEFT).is_dir()]
    for folder in folders:
        (out / folder).mkdir(exist_ok=True)
        for path in sorted((new / folder).glob("*")):
            os.replace(path, out / folder / path.name)
    os.replace(new / names.MANIFEST, out / names.MANIFEST)
    for folder in (*(out / folder for folder in folders), out):
        handle = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)


def show(new: Path, out: Path) -> None:
    """Puts the report in `new`, and rejects if any, into `out`, which holds no set: a build that stopped."""
    for folder in (REPORT, names.REJECTS):
        for path in (out / folder).glob("*"):
            path.unlink()
        for path in sorted((new / folder).glob("*")):
            (out / folder).mkdir(exist_ok=True)
            os.replace(path, out / folder / path.name)


def refuse_part(out: Path, what: str) -> None:
    """Raises UsageError when a part of a corpus (`what`: how it is less) would take the place of the whole."""
    if not (out / names.MANIFEST).is_file():
        return
    try:
        limit = read_manifest(out)[0].limit
    except ShardError:  # `refuse_foreign` has its own word on it
        return
    if limit is None or not what.startswith("--limit"):
        raise UsageError(
            f"--out {out}: holds a finished set, which {what} would replace by less; give another --out, or remove it"
        )


@contextlib.contextmanager
def _locked(path: Path, out: Path) -> Iterator[None]:
    with path.open("w") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            if error.errno not in (errno.EAGAIN, errno.EACCES):
                raise
            raise BuildError(f"another build is writing to {out}; wait for it, or give another --out") from None
        yield


def _owner(build: Path) -> Owner | None:
    try:
        owner = msgspec.json.decode((build / _OWNER).read_bytes(), type=Owner)
    except (OSError, msgspec.DecodeError):
        return None
    return owner if owner.format == "trivium.build" else None


def _inside(out: Path) -> list[Path]:
    return sorted(path for folder in _FOLDERS for path in (out / folder).glob("*"))


def _written_by_us(path: Path) -> bool:
    if path.is_symlink() or not path.is_file():
        return False
    if path.parent.name == names.REJECTS:
        return path.suffix == ".jsonl"
    if path.parent.name == REPORT:
        return path.name in _REPORT_FILES or path.suffix == ".json"
    if path.parent.name == LEFT:
        return path.suffix in (".json", ".jsonl", ".rows", ".sets")
    return names.SHARD.fullmatch(path.name.replace(".idx.json", ".tar")) is not None


def _remove(entry: Path) -> None:
    if entry.is_dir() and not entry.is_symlink():
        shutil.rmtree(entry)
    else:
        entry.unlink()
