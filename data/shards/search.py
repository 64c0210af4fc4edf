"""Finding records by what they say, and drawing some by chance that is the same every time."""

import hashlib
import heapq
import math
import re
from collections.abc import Callable, Collection, Iterator
from dataclasses import dataclass
from typing import Any

import msgspec

from trivium.data.config import nearest
from trivium.data.records import Document, Evidence, Lineage, Meta, Step
from trivium.data.shards.reader import ShardSet
from trivium.data.shards.sound import Tell, each_document, refuse
from trivium.errors import UsageError

TEXT = "text"
_PARTS: dict[str, type[msgspec.Struct]] = {"lineage": Lineage, "lineage.steps": Step, "evidence": Evidence}
AROUND = 60  # characters shown before and after a match


@dataclass(frozen=True, slots=True)
class Match:
    """One record's field in which the pattern was found `count` times; `before`, `found`, `after` are the first."""

    record: int
    id: str
    field: str
    count: int
    before: str
    found: str
    after: str


def check_fields(fields: tuple[str, ...]) -> None:
    """Raises UsageError unless each is `text`, `meta` or a key of the metadata such as `title`, `lineage.steps.name`
    or `scores.words`; which scores there are, the records say (`check_scores`)."""
    known = [TEXT, "meta", *_names(Meta)]
    for field in fields:
        first, *rest = field.removeprefix("meta.").split(".")
        if first not in known:
            raise UsageError(f"--field {field}: records have no such field{nearest(field, known)}")
        if first == "scores":
            continue
        path = first
        for key in rest:
            parts = _names(_PARTS[path]) if path in _PARTS else []
            if key not in parts:
                there = f"it has {', '.join(parts)}" if parts else "it has no parts"
                raise UsageError(f"--field {field}: {path} has no part {key!r}; {there}")
            path += f".{key}"


def check_scores(fields: tuple[str, ...], seen: Collection[str]) -> None:
    """Raises UsageError for a score that none of the records has, of which `seen` are all."""
    for field in fields:
        name = field.removeprefix("meta.").removeprefix("scores.")
        if name != field.removeprefix("meta.") and name not in seen:
            there = f"they have {', '.join(sorted(seen))}" if seen else "they have no scores"
            raise UsageError(f"--field {field}: no record has the score {name!r}; {there}")


def _names(kind: type[msgspec.Struct]) -> list[str]:
    return [field.name for field in msgspec.structs.fields(kind)]


def grep(
    shards: ShardSet,
    pattern: re.Pattern[str],
    fields: tuple[str, ...] = (TEXT,),
    *,
    tell: Tell = refuse,
    scores: set[str] | None = None,
    searched: Callable[[int], None] = lambda _record: None,
) -> Iterator[Match]:
    """Matches in the order of the set, at most one a record and field. Reads documents alone, no media.

    Damage is told, and the search goes on; `scores` gathers the names of the scores that records have; `searched` gets
    the number of each record that could be read.
    """
    for record, document in each_document(shards, tell):
        searched(record)
        if scores is not None:
            scores.update(document.meta.scores)
        for field in fields:
            yield from _search(pattern, record, document, field)


def _search(pattern: re.Pattern[str], record: int, document: Document, field: str) -> Iterator[Match]:
    first: tuple[str, re.Match[str]] | None = None
    count = 0
    for value in _values(document, field):
        for match in pattern.finditer(value):
            first = first or (value, match)
            count += 1
    if first is not None:
        value, match = first
        start, stop = match.span()
        before, after = value[max(0, start - AROUND) : start], value[stop : stop + AROUND]
        yield Match(record, document.id, field, count, before, value[start:stop], after)


def _values(document: Document, field: str) -> Iterator[str]:
    if field == TEXT:
        yield document.text
        return
    keys = [] if field == "meta" else field.removeprefix("meta.").split(".", 1 if "scores." in field else -1)
    for value in _reached(msgspec.to_builtins(document.meta), keys):
        yield from _strings(value)


def _reached(value: Any, keys: list[str]) -> Iterator[Any]:
    """What stands at a path, in every item of the lists on the way."""
    if not keys:
        yield value
    elif isinstance(value, list | tuple):
        for one in value:
            yield from _reached(one, keys)
    elif isinstance(value, dict) and keys[0] in value:
        yield from _reached(value[keys[0]], keys[1:])


def _strings(value: Any) -> Iterator[str]:
    if isinstance(value, dict):
        for one in value.values():
            yield from _strings(one)
    elif isinstance(value, list | tuple):
        for one in value:
            yield from _strings(one)
    elif value is not None:
        yield str(value)


def sample(shards: ShardSet, count: int, seed: int, *, by_tokens: bool = False) -> list[int]:
    """At most `count` different records, in the order of the set: a pure function of ids, lengths and seed.

    Each record is as likely as any other, or, `by_tokens`, as its tokens weigh (weighted draws without replacement,
    Efraimidis and Spirakis 2006). Raises UsageError for tokens of a set without any.
    """
    prefix, entries = f"{seed} ".encode(), shards.entries
    if by_tokens and shards.manifest.tokenizer is None:
        raise UsageError(
            f"{shards.folder}: not tokenised, so no record weighs any tokens; draw --by records, or run "
            "`trivium shards tokenize` on it and draw from what it writes"
        )

    def ranks() -> Iterator[tuple[float, str, int]]:
        number = 0
        for keys, sizes in zip(entries.id.parts(), entries.tokens.parts(), strict=True):
            for key, size in zip(keys.tolist(), sizes.tolist(), strict=True):
                drawn = int.from_bytes(hashlib.blake2b(prefix + key.encode(), digest_size=8).digest(), "little")
                weight = float(max(1, size)) if by_tokens else 1.0
                yield -math.log((drawn + 1) / ((1 << 64) + 1)) / weight, key, number
                number += 1

    return sorted(number for _, _, number in heapq.nsmallest(count, ranks()))
