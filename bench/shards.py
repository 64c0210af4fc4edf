"""How fast shard sets are written, opened, read in order and at random, and verified; pass or fail.

The records are the standard library's sources, each once, and each once more with 83 kB of bytes beside it (the size
of a usual picture). The `webdataset` library stands beside, on the same records. Floor: half of what was measured for
its writer on two cores (spec/data.md, section 8: 1 800 records/s).
"""

import io
import os
import random
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from rich.console import Console
from rich.table import Table

from trivium.data.records import Document, Image, Meta, Segment, Text, encode, finish, source_id
from trivium.data.shards import Manifest, Record, ShardSet, write_set
from trivium.data.shards.verify import verify

WRITE_FLOOR = 1800.0  # records/s
MEDIA_BYTES = 83_000


def real_records() -> list[Record]:
    """Sources of the standard library as text records, and again with media."""
    library = Path(os.__file__).parent
    noise = random.Random(0).randbytes(MEDIA_BYTES)
    found: dict[str, Record] = {}
    for path in sorted(library.rglob("*.py"))[:3000]:
        if "site-packages" in path.parts:
            continue
        text = Text(text=path.read_bytes().decode("utf-8", "replace"))
        address = path.relative_to(library).as_posix()
        picture = Image(media="i0.png", width=224, height=224, mime="image/png")
        for segments, media in (((text,), {}), ((picture, text), {"i0.png": address.encode() + noise})):
            document, held = record(f"{address}#{len(media)}", segments, media)
            found[document.id] = (document, held)
    return [found[key] for key in sorted(found)]


def record(address: str, segments: tuple[Segment, ...], media: dict[str, bytes]) -> tuple[Document, dict[str, bytes]]:
    meta = Meta(
        source_id=source_id("stdlib", address),
        corpus="bench",
        domain="code",
        source="stdlib",
        address=address,
        license="PSF-2.0",
    )
    return finish(Document(segments=segments, meta=meta), media), media


def timed(work: Callable[[], object]) -> tuple[float, float]:
    """Seconds of the faster of three runs, by the wall's clock and by the processor's."""
    wall = processor = float("inf")
    for _ in range(3):
        start, used = time.perf_counter(), time.process_time()
        work()
        wall, processor = min(wall, time.perf_counter() - start), min(processor, time.process_time() - used)
    return wall, processor


def theirs_write(records: list[Record], path: Path) -> None:
    import webdataset

    with path.open("wb") as file, webdataset.TarWriter(file, mtime=0) as sink:
        for document, media in records:
            sink.write({"__key__": document.id, "json": encode(document), **media})


def theirs_read(path: Path) -> None:
    import webdataset

    for _ in webdataset.WebDataset(str(path), shardshuffle=False, empty_check=False):
        pass


def main() -> int:
    os.environ["WDS_SECURE"] = "1"
    records = real_records()
    table = Table(title=f"{len(records):,} records", title_justify="left")
    for heading in ("what", "records/s", "MB/s", "records/s of processor"):
        table.add_column(heading, justify="left" if heading == "what" else "right")
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        base = Manifest(corpus="bench", domain="code", recipe="")
        rates: dict[str, tuple[float, float]] = {}
        write = timed(lambda: write_set(folder / "set", records, base, target_bytes=64 << 20))
        shards = ShardSet.open(folder / "set")
        size = sum(info.bytes for info in shards.manifest.shards)
        order = list(range(len(shards)))
        random.Random(1).shuffle(order)
        works: dict[str, Callable[[], object]] = {
            "open, all indexes": lambda: ShardSet.open(folder / "set").entries.tokens.sum(),
            "read in order": lambda: [shards.read(n) for n in range(len(shards))],
            "read at random": lambda: [shards.read(n) for n in order],
            "JSON alone, at random": lambda: [shards.read_document(n) for n in order],
            "verify (every byte)": lambda: verify(folder / "set"),
            "webdataset: write": lambda: theirs_write(records, folder / "theirs.tar"),
            "webdataset: read in order": lambda: theirs_read(folder / "theirs.tar"),
        }
        rates["write (index, sha256, fsync)"] = write
        rates |= {what: timed(work) for what, work in works.items()}
    for what, (wall, processor) in rates.items():
        whole = what.startswith(("open", "JSON"))
        rate = "" if whole else f"{size / wall / 1e6:,.0f}"
        table.add_row(what, f"{len(records) / wall:,.0f}", rate, f"{len(records) / processor:,.0f}")
    target = io.StringIO()
    Console(file=target, width=100).print(table)
    print(target.getvalue())
    reached = len(records) / write[0]
    verdict = "pass" if reached >= WRITE_FLOOR else "FAIL"
    print(f"{verdict}: {reached:,.0f} records/s written, floor {WRITE_FLOOR:,.0f}")
    return 0 if verdict == "pass" else 1


if __name__ == "__main__":
    sys.exit(main())
