"""Shard sets that stand already, as a source: each record as it is, with its media, for more stages.

Odd: a record keeps its source, address, licence and lineage, so what is known about it, and the right to take it down,
go on with it; corpus and domain become the recipe's.
"""

from collections.abc import Iterable, Iterator
from functools import lru_cache
from pathlib import Path

import msgspec

from trivium.data.records import Step
from trivium.data.shards import ShardSet, read_manifest
from trivium.data.stage import Content, Draft, Drop, Outcome, touched
from trivium.errors import ShardError
from trivium.pipelines.corpora.sources import AbsentError, Place, Source

TOKENS = "tokens"
_OPEN = 8  # sets that a worker keeps open


def set_path(path: str, base: Path) -> str:
    """Where a recipe's set lies: an address as it is, a path relative to the recipe's folder."""
    return path if "://" in path else str((base / Path(path).expanduser()).absolute())


def local_paths(paths: Iterable[str]) -> tuple[Path, ...]:
    """Those that are no addresses."""
    return tuple(Path(path) for path in paths if "://" not in path)


def check_set(source: str, path: str, keys: tuple[str | int, ...] = ("path",)) -> None:
    """Raises AbsentError with `keys` when no set lies there."""
    if "://" not in path and not Path(path, "manifest.json").is_file():
        raise AbsentError(
            f"source {source!r}: {path} holds no shard set (no manifest.json); build it with `trivium build RECIPE "
            f"--out {path}`, or mend `path` in the recipe",
            keys,
        )


def open_set(path: str) -> ShardSet:
    """The set there, opened once in a process for as long as its manifest stays the same."""
    where: Path | str = path if "://" in path else Path(path)
    return _opened(path, read_manifest(where)[1])  # type: ignore[arg-type]


@lru_cache(maxsize=_OPEN)
def _opened(path: str, digest: str) -> ShardSet:
    return ShardSet.open(path)


class Shards(Source, kw_only=True, tag="shards"):
    """The records of the shard set at `path` (a folder, or an address such as s3://…); their tokens are left behind."""

    GIVES = Content.RECORDS

    license: str = ""  # each record has its own

    def reads(self, base: Path) -> tuple[Path, ...]:
        return local_paths([set_path(self.path, base)])

    def check(self, base: Path) -> None:
        check_set(self.name, set_path(self.path, base))

    def places(self, base: Path) -> Iterator[Place]:
        """One place a shard."""
        path = set_path(self.path, base)
        for number, info in enumerate(open_set(path).manifest.shards):
            yield Place(path=path, address=info.name, offset=number)

    def split(self, place: Place) -> Iterator[Place | Drop]:
        shards = open_set(place.path)
        for record, (shard, key) in enumerate(zip(shards.entries.shard.tolist(), shards.entries.id, strict=True)):
            if shard == place.offset:
                yield Place(path=place.path, address=str(key), offset=record)

    def read(self, place: Place, corpus: str, domain: str) -> Iterator[Outcome]:  # type: ignore[override]
        try:
            document, media = open_set(place.path).read(place.offset)
        except ShardError as error:
            yield self.drop(place.address, "damaged", str(error), error=True)
            return
        media.pop(TOKENS, None)
        meta = msgspec.structs.replace(document.meta, corpus=corpus, domain=domain)
        draft = Draft(document=msgspec.structs.replace(document, meta=meta, id=""), media=media)
        yield touched(draft, Step(name="shards", version=1, parameters=place.address))
