"""From the drops of all jobs to the set's rejects: sorted files of a bounded size, each written by one worker.

Odd: only names of files go through the shuffle. Each file of drops is dealt out by hash into small files, one for each
file of rejects that it has lines for; whoever writes a file of rejects gathers its own. What a retried bundle dealt out
before is named by nobody.
"""

import hashlib
import os
import shutil
import uuid
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

import apache_beam as beam
import msgspec

from trivium.data.shards.storage import write_whole
from trivium.errors import BuildError
from trivium.pipelines.corpora.linefiles import spread, write
from trivium.pipelines.corpora.spool import lines_of

PER_FILE = 100_000  # drops: about 100 MB, which whoever writes or reads the file holds in memory
_HELD = 64 << 20  # bytes that are dealt out at once


class _Key(msgspec.Struct, frozen=True):
    """What of a drop decides its file."""

    stage: str
    source_id: str


def files_of(counts: Mapping[tuple[str, str], int]) -> dict[str, int]:
    """How many files each stage's rejects make, from the drops by (stage, reason)."""
    totals: dict[str, int] = {}
    for (stage, _), count in counts.items():
        totals[stage] = totals.get(stage, 0) + count
    return {stage: -(-total // PER_FILE) for stage, total in sorted(totals.items()) if total}


def file_name(stage: str, number: int, files: int) -> str:
    """`heuristics.jsonl`, or one of several: `heuristics-00007.jsonl`."""
    return f"{stage}.jsonl" if files == 1 else f"{stage}-{number:05d}.jsonl"


class Deal(beam.DoFn):
    """A file of drops → (file of rejects, the part of the drops that belongs there)."""

    def __init__(self, folder: str, files: Mapping[str, int]) -> None:
        self._folder, self._files = Path(folder), dict(files)

    def process(self, path: str) -> Iterator[tuple[str, str]]:
        parts: dict[str, list[bytes]] = {}
        held = 0
        with Path(path).open("rb") as file:
            for line in file:
                parts.setdefault(self._target(line), []).append(line)
                held += len(line)
                if held > _HELD:
                    yield from self._write(parts)
                    parts, held = {}, 0
        yield from self._write(parts)

    def _target(self, line: bytes) -> str:
        key = msgspec.json.decode(line, type=_Key)
        files = self._files[key.stage]
        number = int.from_bytes(hashlib.blake2b(key.source_id.encode(), digest_size=8).digest(), "big") % files
        return file_name(key.stage, number, files)

    def _write(self, parts: dict[str, list[bytes]]) -> Iterator[tuple[str, str]]:
        for name, lines in parts.items():
            path = self._folder / f".{name}-{uuid.uuid4().hex}"
            path.write_bytes(b"".join(lines))
            yield name, str(path)


class Gather(beam.DoFn):
    """(File of rejects, its parts) → the file, sorted; yields how many drops it holds."""

    def __init__(self, folder: str) -> None:
        self._folder = Path(folder)

    def process(self, group: tuple[str, Iterable[str]]) -> Iterator[bytes]:
        name, parts = group
        paths = sorted(set(parts))
        lines = sorted(line for path in paths for line in Path(path).read_bytes().split(b"\n") if line)
        write_whole(self._folder / name, b"\n".join(lines) + b"\n")
        yield msgspec.json.encode((name, len(lines)))


class Rejects:
    """The part of a job's graph that writes `folder`/<file of rejects> from all `drops` files, and `rejects-*` about
    them. `counts` are the drops by (stage, reason)."""

    def __init__(self, drops: Iterable[Path], counts: Mapping[tuple[str, str], int], folder: Path) -> None:
        self._paths = [str(path) for path in drops]
        self._folder, self._files = folder, files_of(counts)

    def __call__(self, pipeline: beam.Pipeline) -> None:
        if not self._paths:
            return
        self._folder.mkdir(exist_ok=True)
        names = spread(pipeline | "drops: names" >> beam.Create(self._paths), "drops")
        written = (
            names
            | "deal drops" >> beam.ParDo(Deal(str(self._folder), self._files))
            | "gather drops" >> beam.GroupByKey()
            | "sort rejects" >> beam.ParDo(Gather(str(self._folder)))
        )
        write(written, self._folder, "rejects")


def take_rejects(folder: Path, target: Path, expected: int) -> int:
    """Puts the files of rejects that a job wrote into `folder` into `target`; returns how many drops they hold.

    Raises BuildError when these are not the `expected` ones.
    """
    counted = dict(msgspec.json.decode(line, type=tuple[str, int]) for line in lines_of(folder, "rejects"))
    if sum(counted.values()) != expected:
        raise BuildError(f"{sum(counted.values()):,} of {expected:,} rejects were written; run the build again")
    shutil.rmtree(target, ignore_errors=True)  # of a run that was killed
    target.mkdir(parents=True)
    for name in counted:
        try:
            os.link(folder / name, target / name)
        except OSError:  # a file system without links
            shutil.copyfile(folder / name, target / name)
    return expected
