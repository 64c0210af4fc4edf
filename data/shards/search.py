"""Finding records by what they say, and drawing some by chance that is the same every time."""

import hashlib
import heapq
import math
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import msgspec

from trivium.data.config import nearest
from trivium.data.records import Document, Meta
from trivium.data.shards.reader import ShardSet
from trivium.errors import UsageError

TEXT = "text"
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
    """Raises UsageError unless each is `text`, `meta` or a key of the metadata such as `title` or `scores.words`."""
    known = [TEXT, "meta", *(field.name for field in msgspec.structs.fields(Meta))]
    for field in fields:
        if field.removeprefix("meta.").partition(".")[0] not in known:
            raise UsageError(f"--field {field}: records have no such field{nearest(field, known)}")


def grep(shards: ShardSet, pattern: re.Pattern[str], fields: tuple[str, ...] = (TEXT,)) -> Iterator[Match]:
    """Matches in the order of the set, at most one a record and field. Reads documents alone, no media."""
    for record in range(len(shards)):
        document = shards.read_document(record)
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
    value: Any = msgspec.to_builtins(document.meta)
    for key in () if field == "meta" else field.removeprefix("meta.").split("."):
        value = value.get(key) if isinstance(value, dict) else None
    yield from _strings(value)


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
    Efraimidis and Spirakis 2006; records without tokens weigh their bytes).
    """
    prefix = f"{seed} ".encode()

    def ranks() -> Iterator[tuple[float, str, int]]:
        number = 0
        for keys, sizes in zip(shards.entries.id.parts(), weights.parts(), strict=True):
            for key, size in zip(keys.tolist(), sizes.tolist(), strict=True):
                drawn = int.from_bytes(hashlib.blake2b(prefix + key.encode(), digest_size=8).digest(), "little")
                weight = float(max(1, size)) if by_tokens else 1.0
                yield -math.log((drawn + 1) / ((1 << 64) + 1)) / weight, key, number
                number += 1

    weights = shards.entries.tokens if shards.manifest.tokens else shards.entries.size
    return sorted(number for _, _, number in heapq.nsmallest(count, ranks()))
