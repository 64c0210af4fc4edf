"""The records that all loaders read: text of real sizes with random ids, and photographs of one megapixel."""

import io
import os
from collections.abc import Iterator
from pathlib import Path

import matplotlib
import numpy as np
from PIL import Image as Picture

from trivium.curriculum import Plan, Schedule
from trivium.curriculum.corpora import catalogues_of
from trivium.data.config import from_mapping
from trivium.data.patches import PictureRules, fit
from trivium.data.records import Document, Image, Meta, Segment, Text, finish, source_id
from trivium.data.shards import Bucket, Manifest, Record, ShardSet, Vocabulary, write_set

COPIES, PHOTOS, CONTEXT = 2, 32, 8192
SHARD = 8 << 20  # bytes: enough shards for loaders that shuffle or share out whole ones
RULES = PictureRules()
VOCABULARY = Vocabulary(
    size=2048, bos=2033, eos=2034, pad=2047, media_begin=2042, media_content=2043, media_end=2044, media_pad=2045
)


def text_records() -> Iterator[Record]:
    """Random ids in documents of real sizes: the standard library's sources at four bytes a token."""
    library, dice = Path(os.__file__).parent, np.random.default_rng(0)
    paths = [path for path in sorted(library.rglob("*.py")) if "site-packages" not in path.parts]
    for copy in range(COPIES):
        for path in paths:
            ids = dice.integers(0, 2000, path.stat().st_size // 4 + 2).astype("<u4")
            ids[0], ids[-1] = VOCABULARY.bos | 1 << 31, VOCABULARY.eos
            name = f"{path.relative_to(library)}#{copy}"
            yield record("text", name, (Text(text=name),), {"tokens": ids.tobytes()})


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
    write_set(folder / corpus, records, base, target_bytes=SHARD)
    return ShardSet.open(folder / corpus)


def opened(folder: Path, corpus: str) -> ShardSet:
    return ShardSet.open(folder / corpus)


def tars(shards: ShardSet) -> list[Path]:
    return [Path(str(shards.folder)) / "shards" / info.name for info in shards.manifest.shards]


def plan_of(sets: dict[str, ShardSet], *, context: int, rows: int, steps: int) -> Plan:
    mixture = dict.fromkeys(sets, 1)
    tokens = context * rows * steps
    stage = {"name": "s", "context": context, "rows": rows, "tokens": tokens, "mixture": mixture}
    corpora = {name: {"path": name, "max_epochs": 50} for name in sets}
    raw = {"version": 1, "seed": 1, "window": 1024, "corpora": corpora, "lr": {"peak": 0.001}, "stages": [stage]}
    return Plan.open(from_mapping(raw, Schedule, name="bench"), catalogues_of(sets))
