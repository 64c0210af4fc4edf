"""Digests of small fixed sets: whoever changes a byte of the format explains the new figures in the commit."""

import json
from pathlib import Path

import msgspec

from trivium.data.patches import PictureRules
from trivium.data.records import Document, Image, Lineage, Meta, Step, Text, finish, source_id
from trivium.data.shards import Manifest, ShardSet, parse_buckets, write_set
from trivium.data.shards.manifest import Vocabulary
from trivium.data.stage import Drop

GOLDEN = Path(__file__).resolve().parents[2] / "golden" / "shards.json"
PIXEL = bytes.fromhex(
    "89504e470d0a1a0a0000000d49484452000000010000000108060000001f15c4890000000d49444154789c63f8cfc0f01f00050001ff"
    "56c72f0d0000000049454e44ae426082"
)


def records():
    for number in range(12):
        address = f"page/{number}"
        meta = Meta(
            source_id=source_id("fixed", address),
            corpus="golden",
            domain="knowledge",
            source="fixed",
            address=address,
            license=("MIT", "CC0-1.0")[number % 2],
            language="en",
            scores={"words": number / 3},
            lineage=Lineage(recipe="0" * 64, source_sha256="1" * 64, steps=(Step(name="read", version=1),)),
        )
        segments = (Text(text=f"Zeile {number}: 你好, wörld.\n" * number, loss=number % 3 > 0),)
        media = {}
        if number % 4 == 0:
            segments = (Image(media="i0.png", width=1, height=1, mime="image/png"), *segments)
            media = {"i0.png": PIXEL}
        yield finish(Document(segments=segments, meta=meta), media), media


def test_digests_are_those_on_record(tmp_path):
    drop = Drop(source_id="r" * 26, source="fixed", address="page/x", stage="quality", reason="too_short")
    base = Manifest(corpus="golden", domain="knowledge", recipe="0" * 64)
    write_set(tmp_path / "plain", records(), base, target_bytes=8_000, rejects={"build": [drop]})
    vocabulary = Vocabulary(
        size=300, bos=285, eos=286, pad=299, media_begin=294, media_content=295, media_end=296, media_pad=297
    )
    rules = PictureRules()
    tokenised = msgspec.structs.replace(
        base,
        tokenizer="t" * 64,
        vocabulary=vocabulary,
        pictures=rules.digest(),
        picture_rules=rules,
        buckets=parse_buckets("4,1k"),
    )
    with_tokens = (
        (document, {**media, "tokens": b"".join(n.to_bytes(4, "little") for n in range(len(document.text) or 3))})
        for document, media in records()
    )
    write_set(tmp_path / "tokenised", with_tokens, tokenised)
    found = {name: ShardSet.open(tmp_path / name).digest for name in ("plain", "tokenised")}
    found["ids"] = sorted(document.id for document, _ in records())
    assert found == json.loads(GOLDEN.read_text(encoding="utf-8"))
