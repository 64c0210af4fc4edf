"""How long a set of a million records takes to count, to open, to stream the lengths of, and to find one record in, and
how much memory that takes; pass or fail.

The indexes are real ones in form, of invented records in 16 shards; the tars are sparse, since nothing here reads them
but the one record that is shown. Floors: `stat` in 2 s and `show` in 1 s of processor time, the interpreter's start
included; an opened set takes less than 1 MB, and its lengths are streamed through at most as much as is allowed.
"""

import base64
import hashlib
import resource
import subprocess
import sys
import tempfile
import time
import tracemalloc
import zlib
from pathlib import Path

import msgspec
import numpy as np

from trivium.data.records import Document, Meta, Text, encode, finish
from trivium.data.shards import Manifest, ShardInfo, ShardSet, begin, names, shard_name, tally, tar, write_manifest
from trivium.data.shards.index import Index, sums_of
from trivium.data.shards.index import encode as encode_index

RECORDS, SHARDS = 1_000_000, 16
STAT_LIMIT, SHOW_LIMIT = 2.0, 1.0  # seconds of processor time
JSON_BLOCKS = 3 * tar.BLOCK


def key(number: int, kind: str) -> str:
    return base64.b32encode(hashlib.sha256(f"{kind} {number}".encode()).digest())[:26].decode().lower()


def real() -> tuple[Document, bytes]:
    """The one record that has its bytes."""
    meta = Meta(source_id="s" * 26, corpus="big", domain="d", source="s", address="a", license="MIT")
    document = finish(Document(segments=(Text(text="one of a million"),), meta=meta), {})
    return document, encode(document)


def shard(folder: Path, number: int, ids: list[str], rng: np.random.Generator) -> ShardInfo:
    """Writes an index of `ids` and the sparse tar that it speaks of."""
    count = len(ids)
    tokens = np.maximum(2, rng.lognormal(6.5, 1.2, count)).astype(int)
    spans = 2 * tar.BLOCK + JSON_BLOCKS + -(-tokens * 4 // tar.BLOCK) * tar.BLOCK
    offsets = np.concatenate([[0], np.cumsum(spans)[:-1]])
    document, payload = real()
    sizes = np.full(count, 1400)
    crcs = rng.integers(0, 1 << 32, (count, 2))
    name = shard_name("big", "all", number)
    with (folder / names.SHARDS / name).open("wb") as file:
        if document.id in ids:
            at = ids.index(document.id)
            sizes[at], crcs[at, 0], crcs[at, 1] = len(payload), zlib.crc32(payload), zlib.crc32(bytes(4 * tokens[at]))
            file.seek(int(offsets[at]) + tar.BLOCK)
            file.write(payload)
        file.truncate(int(spans.sum()) + len(tar.END))
    members = np.stack([offsets + tar.BLOCK, offsets + 2 * tar.BLOCK + JSON_BLOCKS], 1)
    index = Index(
        shard=name,
        bytes=int(spans.sum()) + len(tar.END),
        id=ids,
        offset=offsets.tolist(),
        size=spans.tolist(),
        sha256=[hashlib.sha256(one.encode()).hexdigest() for one in ids],
        tokens=tokens.tolist(),
        patches=[0] * count,
        images=[0] * count,
        cluster=[key(n, name) for n in range(count)],
        source_id=[key(n, name) for n in range(count)],
        license=[("MIT", "CC0-1.0", "Apache-2.0")[n % 3] for n in range(count)],
        language=[("en", "de")[n % 2] for n in range(count)],
        members=[2] * count,
        field=["json", "tokens"] * count,
        member_offset=members.ravel().tolist(),
        member_size=np.stack([sizes, tokens * 4], 1).ravel().tolist(),
        crc32=crcs.ravel().tolist(),
    )
    raw = encode_index(index)
    (folder / names.SHARDS / names.index_name(name)).write_bytes(raw)
    digest = hashlib.sha256(raw).hexdigest()
    return ShardInfo(name=name, bucket="all", bytes=index.bytes, sha256="0" * 64, index_sha256=digest, **sums_of(index))


def build(folder: Path) -> str:
    """The set of a million; returns the id of the record that is really there."""
    begin(folder)
    document, _ = real()
    ids = sorted([key(number, "id") for number in range(RECORDS - 1)] + [document.id])
    rng = np.random.default_rng(0)
    step = -(-RECORDS // SHARDS)
    infos = tuple(shard(folder, number, ids[number * step :][:step], rng) for number in range(SHARDS))
    licences, languages = tally(folder, infos)
    manifest = Manifest(corpus="big", domain="d", recipe="", shards=infos, licences=licences, languages=languages)
    write_manifest(folder, manifest)
    return document.id


def command(*arguments: str) -> tuple[float, float, bytes]:
    """Seconds of processor and of wall, and what a command said."""
    before, start = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
    done = subprocess.run([sys.executable, "-m", "trivium", *arguments], capture_output=True, check=True)
    wall, after = time.perf_counter() - start, resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime, wall, done.stdout


def memory_is_bounded(folder: Path, kept: Path) -> bool:
    """Opens, streams, and reads at random, with room for two of the 16 indexes; then with kept sheets."""
    tracemalloc.start()
    start = time.process_time()
    shards = ShardSet.open(folder)
    opened, taken = time.process_time() - start, tracemalloc.get_traced_memory()[0]
    tracemalloc.stop()
    shards.ledger.sheets.room = room = 2 * 112 * RECORDS // SHARDS  # bytes: a record of two members takes 112
    start = time.process_time()
    tokens = shards.entries.tokens.sum()
    streamed, held = time.process_time() - start, shards.ledger.sheets.taken
    for _ in range(2):  # the second finds the sheets
        start = time.process_time()
        mapped = ShardSet.open(folder, keep=kept)
        same = mapped.entries.tokens.sum() == tokens == shards.manifest.tokens
        again = time.process_time() - start
    order = np.random.default_rng(0).integers(0, RECORDS, 100_000).tolist()
    start = time.process_time()
    for record in order:
        shard, row = mapped.locate(record)
        mapped.ledger.sheet(shard).last(row)
    lookup = (time.process_time() - start) / len(order)
    passed = taken < 1 << 20 and held <= room and same
    print(f"{'pass' if passed else 'FAIL'}: open: {opened:.3f} s, {taken / 1e3:,.0f} kB; lengths streamed in")
    print(f"      {streamed:.2f} s holding {held / 1e6:,.0f} MB, from kept sheets in {again:.3f} s;")
    print(f"      where a record's tokens lie, at random: {lookup * 1e6:.1f} µs")
    return passed


def main() -> int:
    failed = False
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name) / "big"
        wanted = build(folder)
        print(f"{RECORDS:,} records, {sum(p.stat().st_size for p in folder.rglob('*.json')) / 1e6:,.0f} MB of indexes")
        for what, limit in (("stat", STAT_LIMIT), ("show", SHOW_LIMIT)):
            arguments = ("shards", what, str(folder), *((wanted,) if what == "show" else ()), "--json")
            processor, wall, said = min(command(*arguments) for _ in range(3))
            facts = msgspec.json.decode(said)
            right = facts["total"]["records"] == RECORDS if what == "stat" else facts["document"]["id"] == wanted
            passed = right and processor < limit
            failed |= not passed
            print(f"{'pass' if passed else 'FAIL'}: {what}: {processor:.2f} s ({wall:.2f} s wall), limit {limit:.0f} s")
        failed |= not memory_is_bounded(folder, Path(name) / "kept")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
