"""Which record goes to which bucket and shard: pure functions of the set of records, never of their arrival."""

from collections.abc import Mapping, Sequence

from trivium.data.shards.manifest import Bucket
from trivium.data.shards.tar import BLOCK, padded
from trivium.errors import ConfigError, UsageError

_UNITS = {"k": 1 << 10, "m": 1 << 20}


def stored_bytes(member_sizes: Sequence[int]) -> int:
    """Bytes that a record of such members takes in a tar, headers and padding included."""
    return sum(BLOCK + padded(size) for size in member_sizes)


def plan_shards(sizes_by_id: Mapping[str, int], target_bytes: int) -> tuple[tuple[str, ...], ...]:
    """Ids, sorted, cut into ceil(total / target) runs of nearly equal bytes; a record is never split.

    A run may exceed `target_bytes` by one record. No records give no shards.
    """
    if target_bytes < 1:
        raise ConfigError(f"target_bytes is {target_bytes}; give at least 1 (256 MiB is usual)")
    total = sum(sizes_by_id.values())
    count = max(1, -(-total // target_bytes))
    runs: dict[int, list[str]] = {}
    before = 0
    for key in sorted(sizes_by_id):
        runs.setdefault(before * count // max(1, total), []).append(key)
        before += sizes_by_id[key]
    return tuple(tuple(runs[number]) for number in sorted(runs))


def parse_buckets(text: str) -> tuple[Bucket, ...]:
    """`8k,64k,1m` or `256,1024` → buckets, each named as written. Raises UsageError."""
    buckets: list[Bucket] = []
    for name in text.split(","):
        name = name.strip().lower()
        digits, unit = (name[:-1], _UNITS[name[-1]]) if name[-1:] in _UNITS else (name, 1)
        if not (digits.isascii() and digits.isdigit()) or int(digits) == 0:
            raise UsageError(f"--buckets {text!r}: {name!r} is no length; write tokens like 256,1024 or 8k,64k,256k,1m")
        limit = int(digits) * unit
        last = buckets[-1].tokens if buckets else 0
        if last is not None and limit <= last:
            raise UsageError(f"--buckets {text!r}: {name} is not above the one before; list them in rising order")
        buckets.append(Bucket(name=name, tokens=limit))
    return tuple(buckets)


def bucket_for(tokens: int, buckets: Sequence[Bucket]) -> Bucket | None:
    """The first bucket that holds `tokens`; None when the record is longer than all of them."""
    return next((bucket for bucket in buckets if bucket.tokens is None or tokens <= bucket.tokens), None)
