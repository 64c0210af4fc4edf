"""What a plan over real sets costs in memory: 200 thousand and 2 million records, then lengths of 10^9 records.

Sets are made here: manifest and indexes as the writer makes them, and tars of holes, since a plan never reads one. Each
figure is of a fresh process: `RssAnon` is what must be in memory, `RssFile` the pages of mapped files, which the system
takes back when it needs them. The lengths of 10^9 records are a file of 4 GB, mapped as those of a real set are; with
`--synthetic` they are computed, and the disk is spared.

    python bench/curriculum_memory.py [--records N ...] [--synthetic] [--folder DIR]
"""

import argparse
import hashlib
import json
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
from rich.console import Console
from rich.table import Table

SHARD = 20_000  # records
BILLION = 10**9
BASE32 = np.frombuffer(b"abcdefghijklmnopqrstuvwxyz234567", np.uint8)


def make_set(folder: Path, records: int) -> None:
    """A tokenised set of `records` documents of log-normal length, one in eight of them with a picture."""
    from trivium.data.shards import Bucket, Manifest, ShardInfo, write_manifest
    from trivium.data.shards.index import encode, sums_of

    rng = np.random.default_rng(records)
    (folder / "shards").mkdir(parents=True)
    infos = []
    for number in range(-(-records // SHARD)):
        count = min(SHARD, records - number * SHARD)
        index = _index(rng, f"web-8k-{number:05d}.tar", count)
        payload = encode(index)
        path = folder / "shards" / index.shard
        path.with_name(path.name.replace(".tar", ".idx.json")).write_bytes(payload)
        with path.open("wb") as file:
            file.truncate(index.bytes)
        sums = {**sums_of(index), "bytes": index.bytes, "sha256": "0" * 64}
        sums["index_sha256"] = hashlib.sha256(payload).hexdigest()
        infos.append(ShardInfo(name=index.shard, bucket="8k", **sums))
    manifest = Manifest(corpus="web", domain="bench", recipe="r", tokenizer="t", pictures="p", shards=tuple(infos))
    write_manifest(folder, msgspec.structs.replace(manifest, buckets=(Bucket(name="8k"),)))


def _index(rng: np.random.Generator, name: str, count: int) -> Any:
    from trivium.data.shards.index import Index

    letters = np.sort(BASE32[rng.integers(0, 32, (count, 26))].view("S26").ravel()).astype(str).tolist()
    tokens = np.exp(rng.normal(6, 1, count)).astype(np.int64) % 8000 + 2
    pictured = rng.random(count) < 0.125
    size = 512 * (4 + -(-4 * tokens // 512))
    offset = np.cumsum(size) - size
    body = np.stack([np.full(count, 512), 4 * tokens], axis=1)
    place = np.stack([offset + 512, offset + 2048], axis=1)
    return Index(
        shard=name,
        bytes=int(size.sum()) + 1024,
        id=letters,
        offset=offset.tolist(),
        size=size.tolist(),
        sha256=["0" * 64] * count,
        tokens=tokens.tolist(),
        patches=np.where(pictured & (tokens > 20), 64, 0).tolist(),
        images=pictured.astype(int).tolist(),
        cluster=letters,
        source_id=letters,
        license=["CC0-1.0"] * count,
        language=["en"] * count,
        members=[2] * count,
        field=["json", "tokens"] * count,
        member_offset=place.ravel().tolist(),
        member_size=body.ravel().tolist(),
        crc32=[0] * (2 * count),
    )


def schedule(tokens: int) -> Any:
    from trivium.curriculum import Schedule
    from trivium.data.config import from_mapping

    stage = {"name": "s", "context": 8192, "rows": 64, "tokens": tokens, "mixture": {"web": 1.0}}
    raw = {"version": 1, "seed": 1, "held_out": {"fraction": 0.01}, "corpora": {"web": {"path": "web"}}}
    return from_mapping(raw | {"lr": {"peak": 1}, "stages": [stage]}, Schedule, name="bench")


class Watch:
    """The most of RssAnon and RssFile in MiB, looked at every 5 ms."""

    def __init__(self) -> None:
        self.most = {"RssAnon": 0, "RssFile": 0}
        self.start = self._now()
        self.stopped = False
        threading.Thread(target=self._watch, daemon=True).start()

    def _now(self) -> dict[str, int]:
        lines = Path("/proc/self/status").read_text().splitlines()
        return {key: int(line.split()[1]) // 1024 for line in lines for key in self.most if line.startswith(key)}

    def _watch(self) -> None:
        while not self.stopped:
            self.most = {key: max(self.most[key], value) for key, value in self._now().items()}
            time.sleep(0.005)

    def result(self) -> dict[str, int]:
        self.stopped = True
        return {key: value - self.start[key] for key, value in self.most.items()}


def plan_of_a_set(folder: Path, cache: Path) -> dict[str, Any]:
    """Opens the plan as `trivium train` does and goes to a step two thirds into it."""
    from trivium.curriculum import Plan, catalogues_of, open_corpora

    rules = schedule(10**9)
    watch, start = Watch(), time.process_time()
    plan = Plan.open(rules, catalogues_of(open_corpora(folder, rules)), cache=cache)
    opened = time.process_time() - start
    step = next(plan.rows(plan.at(plan.steps * 2 // 3)))[0]
    seconds = time.process_time() - start - opened
    return {"opened": opened, "far step": seconds, "digest": step.digest, **watch.result()}


class Tiled:
    """A column of 10^9 lengths that repeats a thousand of them: what a mapped column answers, without its file."""

    def __init__(self, base: Any) -> None:
        self.base, self.shape = base, (BILLION,)

    def __len__(self) -> int:
        return BILLION

    def __getitem__(self, at: Any) -> Any:
        return self.base[np.asarray(at) % len(self.base)]


def plan_of_a_billion(file: Path | None) -> dict[str, Any]:
    """The same over 10^9 lengths, from the point where sizes are known."""
    from trivium.curriculum.catalogue import Sizes, Split
    from trivium.curriculum.lengths import Columns, Runs
    from trivium.curriculum.plan import Plan
    from trivium.curriculum.pools import Rules, make_pools, supplies

    base = (np.exp(np.random.default_rng(1).normal(6, 1, 1009)) % 8000 + 2).astype(np.uint32)
    if file is not None:
        with file.open("wb") as out:
            for at in range(0, BILLION, len(base) << 12):
                out.write(np.tile(base, 1 << 12)[: BILLION - at].tobytes())
    rules = schedule(300 * 10**9)
    watch, start = Watch(), time.process_time()
    tokens: Any = Tiled(base) if file is None else np.memmap(file, np.uint32, "r")
    runs = Runs.between(np.array([0]), np.array([BILLION]))
    pools = make_pools(rules, {"web": ("8k",)}, {"web": Columns(tokens, None, (runs,))})
    supply = [{pool.name: supplies(pool, [Rules.of(rules.stages[0])])[0] for pool in pools}]
    none = np.empty(0, np.int64)
    named = type("Named", (), {"digest": "billion"})()
    split = {"web": Split(BILLION, none, none)}
    plan = Plan(rules, {"web": named}, {"web": Sizes(tokens, None, none, none)}, split, pools, supply)
    opened = time.process_time() - start
    step = next(plan.rows(plan.at(plan.steps * 2 // 3)))[0]
    seconds = time.process_time() - start - opened
    return {"opened": opened, "far step": seconds, "digest": step.digest, **watch.result()}


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--records", type=int, nargs="*", default=[200_000, 2_000_000])
    parser.add_argument("--synthetic", action="store_true")
    parser.add_argument("--folder", type=Path)
    parser.add_argument("--one", nargs=3, help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.one:
        what, first, second = given.one
        found = plan_of_a_set(Path(first), Path(second)) if what == "set" else None
        print(json.dumps(found or plan_of_a_billion(Path(first) if first else None)))
        return 0
    table = Table("", "opened", "step at two thirds", "RssAnon", "RssFile", "digest", title="more memory at most, MiB")
    with tempfile.TemporaryDirectory(dir=given.folder) as name:
        folder = Path(name)
        runs: list[tuple[str, tuple[str, str, str]]] = []
        for records in given.records:
            make_set(folder / str(records) / "web", records)
            for how in ("first", "again"):
                runs.append((f"{records:,}, {how}", ("set", str(folder / str(records)), str(folder / f"c{records}"))))
        file = "" if given.synthetic else str(folder / "billion")
        runs.append(("10^9 lengths, " + ("synthetic" if given.synthetic else "mapped"), ("billion", file, "")))
        for label, arguments in runs:
            done = subprocess.run([sys.executable, __file__, "--one", *arguments], stdout=subprocess.PIPE, check=True)
            one = json.loads(done.stdout)
            seconds = [f"{one[key]:.2f} s" for key in ("opened", "far step")]
            table.add_row(label, *seconds, str(one["RssAnon"]), str(one["RssFile"]), one["digest"])
    Console(width=120).print(table)
    return 0


if __name__ == "__main__":
    sys.exit(main())
