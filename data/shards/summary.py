"""What a set holds, from its manifest alone: counts by bucket, licence and language, and a length histogram."""

import itertools
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

from trivium.data.shards.address import Place, place
from trivium.data.shards.manifest import Manifest, Sums, read_manifest
from trivium.data.shards.reader import length_faults
from trivium.data.shards.storage import set_folders
from trivium.errors import InputError, ShardError, StorageError


class Headed(Protocol):
    """What has been read of a set: a `Head` or a whole `ShardSet`."""

    @property
    def folder(self) -> Place: ...

    @property
    def manifest(self) -> Manifest: ...

    @property
    def digest(self) -> str: ...

    @property
    def faults(self) -> Mapping[str, str]: ...


class NotRead(str):
    """A fault that says nothing of bytes: nothing is there, or storage can't be reached; `code` is the exit code."""

    code: int

    @classmethod
    def of(cls, error: InputError | StorageError) -> "NotRead":
        fault = cls(error)
        fault.code = error.exit_code
        return fault


@dataclass(frozen=True, slots=True)
class Head:
    """A set known by its manifest; `faults` are shards that are absent or of another length, by name."""

    folder: Place
    manifest: Manifest
    digest: str
    faults: Mapping[str, str]


def read_heads(paths: Sequence[Path | str | Place]) -> tuple[list[Head], dict[str, str]]:
    """The sets at or below the paths by their manifests, and why others can't be read, by folder: a `NotRead` where
    nothing is there or storage fails.

    Raises InputError or StorageError when that is so of all paths.
    """
    heads: list[Head] = []
    damaged: dict[str, str] = {}
    failures: list[InputError | StorageError] = []
    for path in paths:
        try:
            folders = find_sets([path])
        except (InputError, StorageError) as error:
            failures.append(error)
            damaged[str(path)] = NotRead.of(error)
            continue
        for folder in [one for one in folders if all(one != head.folder for head in heads)]:
            try:
                manifest, digest = read_manifest(folder)
                heads.append(Head(folder, manifest, digest, length_faults(folder, manifest)))
            except StorageError as error:
                failures.append(error)
                damaged[str(folder)] = NotRead.of(error)
            except ShardError as error:
                damaged[str(folder)] = str(error)
    if failures and not heads and all(isinstance(fault, NotRead) for fault in damaged.values()):
        raise failures[0]
    return heads, damaged


def find_sets(paths: Sequence[Path | str | Place]) -> list[Place]:
    """The shard sets at or below the given places, sorted, and those that lost their manifest.

    Raises InputError when there is none below one of them.
    """
    found: list[Place] = []
    for path in paths:
        found += [folder for folder in set_folders(place(path)) if folder not in found]
    return found


def below(folder: Place, root: Path | str | Place) -> str:
    """The way from `root` down to a set that `find_sets` found in it; `.` for itself."""
    start = str(place(root)).rstrip("/")
    return str(folder).removeprefix(start).lstrip("/") or "."


def summarize(shards: Headed) -> dict[str, Any]:
    """Facts of one set, ready for JSON."""
    manifest = shards.manifest
    by_bucket = {bucket.name: Sums() for bucket in manifest.buckets}
    for info in manifest.shards:
        one = Sums(records=info.records, tokens=info.tokens, patches=info.patches)
        by_bucket[info.bucket] = by_bucket.get(info.bucket, Sums()) + one
    return {
        "path": str(shards.folder),
        "digest": shards.digest,
        "corpus": manifest.corpus,
        "domain": manifest.domain,
        "recipe": manifest.recipe,
        "limit": manifest.limit,
        "tokenizer": manifest.tokenizer,
        "pictures": manifest.pictures,
        "shards": len(manifest.shards),
        "records": manifest.records,
        "tokens": manifest.tokens,
        "patches": manifest.patches,
        "images": sum(info.images for info in manifest.shards),
        "bytes": sum(info.bytes for info in manifest.shards),
        "rejects": manifest.rejects - sum(one.records for one in manifest.takedowns),
        "buckets": {name: _plain(sums) for name, sums in by_bucket.items()},
        "licences": total(info.licences for info in manifest.shards),
        "languages": total(info.languages for info in manifest.shards),
        "histogram": histogram(manifest),
        "takedowns": sum(one.records for one in manifest.takedowns),
    }


def by_corpus(sets: Iterable[Headed]) -> dict[str, dict[str, int]]:
    """Sums of several sets by the corpus that they are of."""
    manifests = [one.manifest for one in sets]
    return total({one.corpus: Sums(records=one.records, tokens=one.tokens, patches=one.patches)} for one in manifests)


def total(tables: Iterable[Mapping[str, Sums]]) -> dict[str, dict[str, int]]:
    """Tables of sums added up, most records first."""
    sums: dict[str, Sums] = {}
    for table in tables:
        for name, one in table.items():
            sums[name] = sums[name] + one if name in sums else one
    return {name: _plain(sums[name]) for name in sorted(sums, key=lambda name: (-sums[name].records, name))}


def _plain(sums: Sums) -> dict[str, int]:
    return {"records": sums.records, "tokens": sums.tokens, "patches": sums.patches}


def histogram(manifest: Manifest) -> dict[str, Any]:
    """Records by length in powers of two: tokens when there are any, else bytes. `edges[i] ≤ length < edges[i + 1]`."""
    unit = "tokens" if manifest.tokens else "bytes"
    held = [info.lengths if unit == "tokens" else info.sizes for info in manifest.shards]
    counts = [sum(column) for column in itertools.zip_longest(*held, fillvalue=0)]
    low = next((power for power, count in enumerate(counts) if count), len(counts))
    edges = [1 << power for power in range(low, len(counts) + 1)] if counts[low:] else []
    return {"unit": unit, "edges": edges, "records": counts[low:]}
