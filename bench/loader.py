"""The loader beside its peers, on the same records: packed tokens, pictures, waiting, state; pass or fail.

Text has the sizes of the standard library's sources at four bytes a token; pictures are JPEGs of one megapixel cut from
the photograph that matplotlib ships. Rates are by processor time of all processes that took part, not by the clock, so
a busy machine tells the same. Peers that are not installed have a row that says so; they pack no rows and cut no
patches, so they do less work: webdataset (shuffle 1000, decode), mosaicml-streaming (py1s shuffle, its own format).
Floors: `spec/targets.md`, D1, D4, T3, T4.
"""

import io
import json
import os
import resource
import sys
import tempfile
from collections.abc import Callable, Iterator
from importlib import metadata
from pathlib import Path
from typing import Any

import matplotlib
import numpy as np
from PIL import Image as Picture
from rich.console import Console
from rich.table import Table

from trivium.curriculum import Plan, Schedule, rank_rows
from trivium.curriculum.corpora import catalogues_of
from trivium.data.config import from_mapping, to_mapping
from trivium.data.patches import PictureRules, fit
from trivium.data.records import Document, Image, Meta, Segment, Text, finish, source_id
from trivium.data.shards import Bucket, Manifest, Record, ShardSet, Vocabulary, write_set
from trivium.model.batch import Batch
from trivium.pipelines.train.feed import Feed
from trivium.pipelines.train.loading.assemble import Assembler
from trivium.pipelines.train.loading.config import Data
from trivium.vision.pixels import picture_patches
from trivium.vision.preprocess import normalise

TOKENS, PICTURES = 5e6, 60.0  # a second: D1, D4
WAITING, STATE = 0.02, 10_000  # share of a step: T3; bytes: T4
COPIES, PHOTOS, STEPS = 4, 32, 50
RULES = PictureRules()
VOCABULARY = Vocabulary(
    size=2048, bos=2033, eos=2034, pad=2047, media_begin=2042, media_content=2043, media_end=2044, media_pad=2045
)
Row = tuple[str, str, float, float | None]  # what, unit, figure, floor


def text_records() -> Iterator[Record]:
    """Random ids in documents of real sizes."""
    library, dice = Path(os.__file__).parent, np.random.default_rng(0)
    paths = [path for path in sorted(library.rglob("*.py")) if "site-packages" not in path.parts]
    for copy in range(COPIES):
        for path in paths:
            ids = dice.integers(0, 2000, path.stat().st_size // 4 + 2).astype("<u4")
            ids[0], ids[-1] = VOCABULARY.bos | 1 << 31, VOCABULARY.eos
            yield record("text", f"{path}#{copy}", (Text(text=f"{path}#{copy}"),), {"tokens": ids.tobytes()})


def photo_records(side: int, count: int) -> Iterator[Record]:
    """JPEGs of `side`² pixels, each another cut of one real photograph laid side by side."""
    photo = Picture.open(Path(matplotlib.get_data_path()) / "sample_data" / "grace_hopper.jpg").convert("RGB")
    tokens = fit(side, side, RULES).tokens
    for number in range(count):
        canvas = Picture.new("RGB", (side, side))
        for x in range(-(number * 37) % photo.width - photo.width, side, photo.width):
            for y in range(-(number * 53) % photo.height - photo.height, side, photo.height):
                canvas.paste(photo, (x, y))
        out = io.BytesIO()
        canvas.save(out, "JPEG", quality=85)
        block = [VOCABULARY.media_begin, VOCABULARY.media_content, *[VOCABULARY.media_pad] * tokens]
        ids = np.array([VOCABULARY.bos, *block, VOCABULARY.media_end], "<u4") | np.uint32(1 << 31)
        payload = np.append(ids, [*range(64), VOCABULARY.eos]).astype("<u4").tobytes()
        picture = Image(media="i0.jpg", width=side, height=side, mime="image/jpeg")
        media = {"i0.jpg": out.getvalue(), "tokens": payload}
        yield record("photos", f"{side}#{number}", (picture, Text(text=f"cut {number} of {side}")), media)


def record(corpus: str, address: str, segments: tuple[Segment, ...], media: dict[str, bytes]) -> Record:
    meta = Meta(
        source_id=source_id(corpus, address),
        corpus=corpus,
        domain="bench",
        source=corpus,
        address=address,
        license="PSF",
    )
    pictures = {name: payload for name, payload in media.items() if name != "tokens"}
    return finish(Document(segments=segments, meta=meta), pictures), media


def written(folder: Path, corpus: str, records: Iterator[Record]) -> ShardSet:
    base = Manifest(
        corpus=corpus,
        domain="bench",
        recipe="",
        tokenizer="0" * 64,
        vocabulary=VOCABULARY,
        pictures=RULES.digest(),
        picture_rules=RULES,
        buckets=(Bucket(name="all"),),
    )
    write_set(folder / corpus, records, base, target_bytes=64 << 20)
    return ShardSet.open(folder / corpus)


def plan_of(sets: dict[str, ShardSet], *, context: int, rows: int, steps: int) -> Plan:
    mixture = dict.fromkeys(sets, 1)
    tokens = context * rows * steps
    stage = {"name": "s", "context": context, "rows": rows, "tokens": tokens, "mixture": mixture}
    corpora = {name: {"path": name, "max_epochs": 50} for name in sets}
    raw = {"version": 1, "seed": 1, "window": 1024, "corpora": corpora, "lr": {"peak": 0.001}, "stages": [stage]}
    return Plan.open(from_mapping(raw, Schedule, name="bench"), catalogues_of(sets))


def processor(work: Callable[[], Any]) -> tuple[float, Any]:
    """Seconds of processor time, of this process and of those that it waited for meanwhile; the better of two runs."""
    best, result = float("inf"), None
    for _ in range(2):
        before = _used()
        result = work()
        best = min(best, _used() - before)
    return best, result


def _used() -> float:
    usages = (resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
    return sum(usage.ru_utime + usage.ru_stime for usage in usages)


def ours_text(sets: dict[str, ShardSet]) -> list[Row]:
    total = int(sets["text"].entries.tokens.sum())
    plan = plan_of(sets, context=8192, rows=16, steps=max(1, int(total * 0.9) // (8192 * 16)))
    assembler = Assembler(sets, RULES, VOCABULARY, Data(workers=0))
    rows = [step for step, _ in plan.rows()]
    tokens = sum(step.tokens for step in rows)
    both, _ = processor(lambda: [assembler.assemble(step.rows) for step, _ in plan.rows()])
    reading, _ = processor(lambda: [assembler.assemble(step.rows) for step in rows])
    assembler.close()
    return [
        ("D1  rows planned, read and packed", "M tokens/s", tokens / both / 1e6, TOKENS / 1e6),
        ("      read and packed alone", "M tokens/s", tokens / reading / 1e6, None),
    ]


def ours_pictures(sets: dict[str, ShardSet]) -> list[Row]:
    shards = sets["photos"]
    payloads = [shards.read_media(number, "i0.jpg") for number in range(len(shards))]
    alone, _ = processor(lambda: sum(len(normalise(picture_patches(payload, RULES)[0])) for payload in payloads))
    to_bytes, _ = processor(lambda: sum(len(picture_patches(payload, RULES)[0]) for payload in payloads))
    plan = plan_of(sets, context=8192, rows=2, steps=2)
    steps = [step for step, _ in plan.rows()]
    shown = len({piece.record for step in steps for row in step.rows for piece in row.pieces})

    def through(workers: int) -> None:
        assembler = Assembler(sets, RULES, VOCABULARY, Data(workers=workers, cache_mib=4096))
        for step in steps:
            assembler.prefetch(step.rows)
        for step in steps:
            assembler.assemble(step.rows)
        assembler.close()  # reaps the processes, so that their time counts

    here, _ = processor(lambda: through(0))
    apart, _ = processor(lambda: through(1))
    return [
        ("D4  one-megapixel JPEG to patches", "pictures/s", len(payloads) / alone, PICTURES),
        ("      to uint8 patches, as a worker does", "pictures/s", len(payloads) / to_bytes, None),
        ("      record to batch, in the trainer", "pictures/s", shown / here, None),
        ("      record to batch, by a worker process and its start", "pictures/s", shown / apart, None),
    ]


def webdataset_rows(text: ShardSet, photos: ShardSet, total: int) -> list[Row]:
    os.environ["WDS_SECURE"] = "1"
    try:
        import webdataset
    except ImportError:
        return [("webdataset is not installed", "", 0.0, None)]

    def tars(shards: ShardSet) -> list[str]:
        return [str(Path(str(shards.folder)) / "shards" / info.name) for info in shards.manifest.shards]

    def tokens() -> int:
        data = webdataset.WebDataset(tars(text), shardshuffle=100, empty_check=False).shuffle(1000).to_tuple("tokens")
        return sum(len(np.frombuffer(payload, "<u4").astype(np.int64)) for (payload,) in data)

    def pixels() -> int:
        data = webdataset.WebDataset(tars(photos), shardshuffle=100, empty_check=False).shuffle(1000)
        return sum(1 for _ in data.decode("rgb8", only=["i0.jpg"]).to_tuple("i0.jpg"))

    name = f"webdataset {metadata.version('webdataset')}"
    return [
        (f"{name}: shuffled, not packed", "M tokens/s", total / processor(tokens)[0] / 1e6, None),
        (f"{name}: decoded, not cut", "pictures/s", len(photos) / processor(pixels)[0], None),
    ]


def streaming_rows(text: ShardSet, photos: ShardSet, total: int, folder: Path) -> list[Row]:
    try:
        from streaming import MDSWriter, StreamingDataset
    except ImportError:
        return [("mosaicml-streaming is not installed", "", 0.0, None)]
    for name, shards, column, kind in (("text", text, "tokens", "bytes"), ("photos", photos, "i0.jpg", "jpeg")):
        with MDSWriter(out=str(folder / f"mds-{name}"), columns={"value": kind}) as sink:
            for number in range(len(shards)):
                payload = shards.read_media(number, column)
                sink.write({"value": payload if kind == "bytes" else Picture.open(io.BytesIO(payload))})

    def opened(name: str) -> Any:
        return StreamingDataset(local=str(folder / f"mds-{name}"), shuffle=True, batch_size=1)

    sets = {name: opened(name) for name in ("text", "photos")}

    def tokens() -> int:
        return sum(len(np.frombuffer(sample["value"], "<u4").astype(np.int64)) for sample in sets["text"])

    def pixels() -> int:
        return sum(np.asarray(sample["value"]).size for sample in sets["photos"])

    name = f"mosaicml-streaming {metadata.version('mosaicml-streaming')}"
    return [
        (f"{name}: shuffled, not packed", "M tokens/s", total / processor(tokens)[0] / 1e6, None),
        (f"{name}: decoded, not cut", "pictures/s", len(photos) / processor(pixels)[0], None),
    ]


def energon_rows() -> list[Row]:
    """Energon reads only folders that its own `prepare` has indexed, and needs its own sample classes."""
    try:
        found = metadata.version("megatron-energon")
    except metadata.PackageNotFoundError:
        return [("megatron-energon is not installed", "", 0.0, None)]
    return [(f"megatron-energon {found} is installed; not measured, it reads no foreign tars", "", 0.0, None)]


def waiting(folder: Path) -> Row:
    """Share of a nano step that the loop waits for data, by the clock: pictures in every row, one worker process."""
    import yaml

    from trivium.pipelines.train.metrics import read_metrics
    from trivium.pipelines.train.runner import train

    corpora = {name: {"path": name, "max_epochs": 50} for name in ("text", "small")}
    stage = {"name": "s", "context": 512, "rows": 1, "tokens": 512 * 6, "mixture": {"text": 1, "small": 1}}
    schedule = {"version": 1, "seed": 1, "window": 256, "corpora": corpora, "lr": {"peak": 0.001}, "stages": [stage]}
    run = {"version": 1, "model": {"preset": "nano"}, "schedule": "s.yaml", "corpora": "."}
    run |= {"device": "cpu", "threads": 1, "eval": {"every": 0, "rows": 1}, "data": {"workers": 1}}
    (folder / "s.yaml").write_text(yaml.safe_dump(schedule))
    (folder / "run.yaml").write_text(yaml.safe_dump(run))
    train(folder / "run.yaml", folder / "run", note=lambda _: None)
    steps = [line["time"] for line in read_metrics(folder / "run" / "metrics.jsonl") if line["kind"] == "step"][1:]
    return (
        "T3  waiting for data, of a nano step",
        "",
        sum(s["data"] for s in steps) / sum(s["step"] for s in steps),
        WAITING,
    )


def resumed(sets: dict[str, ShardSet]) -> list[Row]:
    """Steps that differ after a resume in the middle, at the same and at other numbers of ranks; bytes of the state."""
    plan = plan_of(sets, context=8192, rows=8, steps=2 * STEPS)
    assemblers = [Assembler(sets, RULES, VOCABULARY, Data(workers=0)) for _ in range(4)]
    whole = list(plan.rows())
    state = whole[STEPS - 1][1]
    size = len(json.dumps(to_mapping(state)))
    differ = {1: 0, 3: 0}
    for world in differ:
        shares = [lambda step, r=rank, w=world: tuple(rank_rows(step, r, w)) for rank in range(world)]
        feeds = [Feed(plan, assemblers[1 + i], state, share=share) for i, share in enumerate(shares)]
        for step, _ in whole[STEPS : 2 * STEPS]:
            fed = [next(feed) for feed in feeds]
            same = all(one.rows == step for one in fed)
            for rank, one in enumerate(fed):
                same &= equal(one.batch, assemblers[0].batch(rank_rows(step, rank, world)))
            differ[world] += not same
        for feed in feeds:
            feed.close()
    return [
        (f"T4  of {STEPS} steps after a resume, differing", "steps", differ[1], 0),
        (f"T4  of {STEPS} steps after a resume by 3 ranks, differing", "steps", differ[3], 0),
        ("T4  loader state", "bytes", size, STATE),
    ]


def equal(one: Batch, other: Batch) -> bool:
    import torch

    return all(torch.equal(getattr(one, name), getattr(other, name)) for name in Batch.__slots__)


def main() -> int:
    import torch

    torch.set_num_threads(1)  # one core: the figures are a core's
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        text, photos = written(folder, "text", text_records()), written(folder, "photos", photo_records(1024, PHOTOS))
        written(folder, "small", photo_records(112, 400))
        total = int(text.entries.tokens.sum())
        most = resumed({"text": text})
        least = [*ours_text({"text": text}), *ours_pictures({"photos": photos})]
        peers = [*webdataset_rows(text, photos, total), *streaming_rows(text, photos, total, folder), *energon_rows()]
        most.append(waiting(folder))
    return report(least, most, peers, len(text), total)


def report(least: list[Row], most: list[Row], peers: list[Row], records: int, total: int) -> int:
    table = Table(
        title=f"{records:,} text records of {total / 1e6:.0f} M tokens, {PHOTOS} pictures", title_justify="left"
    )
    for heading in ("what", "figure", "", "bound", ""):
        table.add_column(heading, justify="right" if heading in ("figure", "bound") else "left")
    passed = True
    for rows, reached in ((least, lambda a, b: a >= b), (most, lambda a, b: a <= b), (peers, None)):
        for what, unit, figure, bound in rows:
            if bound is None or reached is None:
                table.add_row(what, f"{figure:,.4g}" if unit else "", unit, "", "")
                continue
            good = reached(figure, bound)
            passed &= good
            sign = "≥" if rows is least else "≤"
            table.add_row(what, f"{figure:,.4g}", unit, f"{sign} {bound:,g}", "pass" if good else "FAIL")
    target = io.StringIO()
    Console(file=target, width=130).print(table)
    print(target.getvalue())
    return 0 if passed else 1


if __name__ == "__main__":
    sys.exit(main())
