"""Opening the shard sets that a schedule names, and refusing those that may not be mixed."""

import hashlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from os.path import normpath
from pathlib import Path

import numpy as np

from trivium.curriculum.catalogue import Part
from trivium.curriculum.lengths import Runs
from trivium.curriculum.schedule import Schedule
from trivium.data.shards import Address, Patience, Place, ShardInfo, ShardSet, place
from trivium.data.shards.columns import numbers_of, strings_of
from trivium.data.shards.index import index_path, read_raw
from trivium.data.shards.reader import each_of
from trivium.errors import ConfigError, DigestError, InputError

TOGETHER = 16  # indexes behind an address asked for at once


def open_corpora(
    folder: Place | str,
    schedule: Schedule,
    *,
    patience: Patience | None = None,
    damaged: bool = False,
    keep: Path | None = None,
) -> dict[str, ShardSet]:
    """The shard set of every corpus of the schedule, by its name there; paths are below `folder`, a path or an address.

    `patience` is for addresses; with `damaged`, sets whose tars are cut or gone are opened all the same; `keep` is a
    folder for what is read of their indexes (`ShardSet.open`).
    Raises InputError when one is missing or not tokenised, ConfigError when one set is read under two names,
    DigestError when sets were made with different tokenizers or picture rules, ShardError when one is damaged.
    """
    sets: dict[str, ShardSet] = {}
    folder = place(folder)
    for name, corpus in schedule.corpora.items():
        path = folder / corpus.path
        if isinstance(folder, Path) and isinstance(path, Path) and not path.is_dir():
            found = sorted(child.name for child in folder.iterdir() if child.is_dir()) if folder.is_dir() else []
            there = f" (there: {', '.join(found)})" if found else ""
            raise InputError(
                f"corpora.{name}: no folder {normpath(path)}{there}; its path {corpus.path!r} is relative to the "
                f"corpora folder {folder}. Build it with `trivium build RECIPE --out …`, tokenise it with "
                f"`trivium shards tokenize … --out {normpath(path)}`, or correct the path"
            )
        opened = ShardSet.open(path, patience=patience, damaged=damaged, keep=keep)
        if opened.manifest.tokenizer is None:
            raise InputError(
                f"corpora.{name}: {path} is not tokenised; run `trivium shards tokenize {path} --tokenizer TOKENIZER "
                f"--out {path}.tokens` and name that folder in the schedule"
            )
        sets[name] = opened
    _refuse_one_set_twice(sets)
    _refuse_mixed_digests(sets)
    return sets


@dataclass(frozen=True)
class SetCatalogue:
    """An opened set as a plan reads it: index by index, in the order of its records."""

    corpus: str
    shards: ShardSet

    @property
    def buckets(self) -> tuple[str, ...]:
        return tuple(bucket.name for bucket in self.shards.manifest.buckets)

    @cached_property
    def digest(self) -> str:
        parts = (self.corpus, self.shards.digest, *self.buckets)
        return hashlib.sha256("\x1f".join(parts).encode()).hexdigest()[:16]

    def __len__(self) -> int:
        return sum(info.records for info in self.shards.manifest.shards)

    def runs(self) -> tuple[Runs, ...]:
        infos = self.shards.manifest.shards
        ends = np.cumsum([0, *(info.records for info in infos)], dtype=np.int64)
        found = []
        for bucket in self.buckets:
            mine = np.array([info.bucket == bucket and info.records > 0 for info in infos], dtype=bool)
            found.append(Runs.between(ends[:-1][mine], ends[1:][mine]))
        return tuple(found)

    def parts(self) -> Iterator[Part]:
        infos = self.shards.manifest.shards
        together = TOGETHER if isinstance(self.shards.folder, Address) else 1
        for at in range(0, len(infos), together):
            yield from each_of(self.shards.folder, self._part, infos[at : at + together])

    def document(self, record: int) -> str:
        return str(self.shards.entries.id[record])

    def _part(self, info: ShardInfo) -> Part:
        payload, path = read_raw(self.shards.folder, info), index_path(self.shards.folder, info)
        numbers, strings = numbers_of(payload, info, path), strings_of(payload, info, path)
        return Part(numbers.tokens, numbers.patches, strings.cluster, numbers.id)


def catalogue_of(name: str, shards: ShardSet) -> SetCatalogue:
    """What the curriculum reads of one opened set; nothing is read yet."""
    return SetCatalogue(name, shards)


def catalogues_of(sets: Mapping[str, ShardSet]) -> dict[str, SetCatalogue]:
    """`catalogue_of` for every set."""
    return {name: catalogue_of(name, shards) for name, shards in sets.items()}


def _refuse_one_set_twice(sets: Mapping[str, ShardSet]) -> None:
    """Read under two names, its documents would come twice an epoch and its weight be counted twice."""
    for what, key in (("folder", lambda s: str(s.folder.resolve())), ("manifest", lambda s: s.digest)):
        seen: dict[str, str] = {}
        for name, shards in sets.items():
            other = seen.setdefault(key(shards), name)
            if other != name:
                raise ConfigError(
                    f"corpora: {other!r} and {name!r} are one dataset by two paths ({sets[other].folder} and "
                    f"{shards.folder} have the same {what}); keep one of them and add their weights",
                    ("corpora", name),
                )


def _refuse_mixed_digests(sets: Mapping[str, ShardSet]) -> None:
    for what, field in (("tokenizer", "tokenizer"), ("picture rules", "pictures")):
        # A set without pictures may have no picture rules; it goes with any.
        made = {name: getattr(shards.manifest, field) for name, shards in sets.items()}
        made = {name: value for name, value in made.items() if value is not None}
        first = next(iter(made), "")
        for name, found in made.items():
            if found != made[first]:
                raise DigestError(
                    f"corpora {first!r} and {name!r} were made with different {what}: {made[first]} in "
                    f"{sets[first].folder}, {found} in {sets[name].folder}; tokenise both again with one tokenizer and "
                    "one set of picture rules (`trivium shards tokenize`)"
                )
