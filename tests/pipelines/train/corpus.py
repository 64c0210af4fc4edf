"""A tiny real corpus: Python's own help topics (PSF licence) and matplotlib's toolbar icons, code and picture pairs.

`python -m` it with a folder to build one by hand; `build` is what the fixtures call.
"""

import io
import sys
from pathlib import Path
from pydoc_data.topics import topics

import matplotlib
from PIL import Image as Picture

from trivium.data.patches import PictureRules
from trivium.data.records import Document, Image, Meta, Text, finish, source_id
from trivium.data.shards import (
    Bucket,
    Manifest,
    ShardSet,
    begin,
    bucket_for,
    shard_name,
    tally,
    write_manifest,
    write_shard,
)
from trivium.data.tokenizers import Tokenizer, tokenize_document
from trivium.data.tokenizers.training import train

VOCAB = 400
BUCKETS = (Bucket(name="128", tokens=128), Bucket(name="512", tokens=512), Bucket(name="4096", tokens=4096))
RULES = PictureRules()
SIDE = 56  # pixels: 4 × 4 patches, 4 tokens

SCHEDULE = """
version: 1
seed: 3
window: 64
held_out: {fraction: 0.15}
corpora:
  help: {path: help}
  icons: {path: icons}
lr: {peak: 0.004, warmup_ratio: 0.1}
stages:
  - {name: short, context: 192, rows: 2, tokens: 3840, mixture: {help: 2, icons: 1}, patches: 192}
  - {name: long, context: 512, rows: 1, tokens: 5120, mixture: {help: 2, icons: 1}, patches: 512}
"""

RUN = """
version: 1
model:
  preset: nano
  backbone:
    width: 32
    layers: 2
    dense_hidden: 64
    kda: {heads: 2, head_dim: 16}
    mla: {heads: 2, head_dim: 16, extra_dim: 8, q_lora: 16, kv_lora: 16}
    moe: {experts: 8, experts_per_token: 2, hidden: 16, latent: 16}
  vision: {width: 32, layers: 2, heads: 2, head_dim: 16, hidden: 64}
schedule: schedule.yaml
corpora: corpora
tokenizer: tokenizer
eval: {every: 6, rows: 2, context: 192}
checkpoint: {every_steps: 5, every_seconds: null, keep: 2}
data: {workers: 0}
threads: 1
device: cpu
seed: 1
"""


def documents() -> dict[str, list[tuple[Document, dict[str, bytes]]]]:
    """Records by corpus."""
    help_pages = [_record("help", name, (Text(text=text[:3000]),), {}) for name, text in sorted(topics.items())[:60]]
    images = Path(matplotlib.get_data_path()) / "images"
    icons = []
    for path in sorted(images.glob("*.svg")):
        png = path.with_name(path.name.replace("-symbolic", "").replace(".svg", ".png"))
        if not png.exists():
            continue
        for turn in (0, 90, 180, 270):  # each icon four times: more pairs of pictures to exchange
            media = {"i0.png": _drawn(png, turn)}
            text = path.read_text(encoding="utf-8").split("<svg", 1)[1][:90]
            segments = (
                Image(media="i0.png", width=SIDE, height=SIDE, mime="image/png"),
                Text(text=f"{path.stem} turned by {turn} <svg{text}"),
            )
            icons.append(_record("icons", f"{path.name}@{turn}", segments, media))
    return {"help": help_pages, "icons": icons}


def _drawn(path: Path, turn: int) -> bytes:
    picture = Picture.open(path).convert("RGBA").resize((SIDE, SIDE)).rotate(turn)
    ground = Picture.new("RGBA", picture.size, "white")
    out = io.BytesIO()
    Picture.alpha_composite(ground, picture).convert("RGB").save(out, "PNG")
    return out.getvalue()


def _record(corpus, name, segments, media):
    place = source_id(corpus, name)
    meta = Meta(
        source_id=place, corpus=corpus, domain=corpus, source=corpus, address=name, license="PSF-2.0", cluster=place
    )
    return finish(Document(segments=segments, meta=meta), media), media


def build(root: Path) -> Path:
    """Writes corpora/, tokenizer/, schedule.yaml and run.yaml under `root`; returns run.yaml."""
    records = {
        name: [one for _, one in sorted({r[0].id: r for r in made}.items())] for name, made in documents().items()
    }
    raw = []
    for name, made in records.items():
        folder = root / "raw" / name
        begin(folder)
        info = write_shard(folder / "shards" / shard_name(name, "all", 0), made)
        write_manifest(folder, Manifest(corpus=name, domain=name, recipe="test", shards=(info,)))
        raw.append(ShardSet.open(folder))
    train(raw, VOCAB, root / "tokenizer")
    tokenizer = Tokenizer.load(root / "tokenizer")
    for name, made in records.items():
        _tokenise(root / "corpora" / name, name, made, tokenizer)
    (root / "schedule.yaml").write_text(SCHEDULE)
    (root / "run.yaml").write_text(RUN)
    return root / "run.yaml"


def _tokenise(folder: Path, name: str, made, tokenizer: Tokenizer) -> None:
    begin(folder)
    by_bucket: dict[str, list] = {}
    for document, media in made:
        laid = tokenize_document(document, tokenizer, RULES)
        bucket = bucket_for(len(laid.tokens), BUCKETS)
        assert bucket is not None
        by_bucket.setdefault(bucket.name, []).append((document, {**media, "tokens": laid.payload()}))
    infos = tuple(
        write_shard(folder / "shards" / shard_name(name, bucket, 0), by_bucket[bucket], rules=RULES)
        for bucket in sorted(by_bucket)
    )
    licences, languages = tally(folder, infos)
    write_manifest(
        folder,
        Manifest(
            corpus=name,
            domain=name,
            recipe="test",
            tokenizer=tokenizer.digest,
            vocabulary=tokenizer.vocabulary,
            pictures=RULES.digest(),
            picture_rules=RULES,
            buckets=BUCKETS,
            shards=infos,
            licences=licences,
            languages=languages,
        ),
    )


if __name__ == "__main__":
    print(build(Path(sys.argv[1])))
