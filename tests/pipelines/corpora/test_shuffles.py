"""Pieces of the shuffles whose loss a whole build would hide: real duplicates share almost every band."""

from collections import Counter

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from trivium.data.dedup.near import NearDedup
from trivium.data.dedup.shingles import jaccard, shingles_of
from trivium.data.dedup.signature import estimate, sign, spec
from trivium.data.records import Document, Meta, Text, source_id
from trivium.data.stage import Draft, Drop
from trivium.pipelines.corpora.shuffles.near import Bands, Verify
from trivium.pipelines.corpora.shuffles.survivors import Select
from trivium.pipelines.corpora.spool import Ref, SpoolWriter, encode_line

NEAR = NearDedup()
SPEC = spec(NEAR.engine, permutations=NEAR.permutations, seed=NEAR.seed, ngram=NEAR.ngram)


def line(number: int, signature: bytes) -> bytes:
    key = f"{number:026d}"
    ref = Ref(source_id=key, source="s", address="a", id=key, length=1, stored=1, path="p", offset=0, size=1)
    return encode_line(Ref(**{f: getattr(ref, f) for f in ref.__struct_fields__} | {"signature": signature}))


def keys(lines: list[bytes], part: int, parts: int) -> Counter:
    return Counter(pair for item in lines for pair in Bands(NEAR, part, parts).process(item))


@given(st.integers(1, 9), st.integers(1, 8))
def test_the_parts_of_a_shuffle_hold_every_band_key_exactly_once(parts, count):
    texts = [" ".join(f"w{number * 7 + i}" for i in range(60)) for number in range(count)]
    lines = [line(number, sign(text, SPEC, min_words=20)) for number, text in enumerate(texts)]
    whole = keys(lines, 0, 1)
    assert whole.total() == count * NEAR.bands
    assert sum((keys(lines, part, parts) for part in range(parts)), Counter()) == whole


def test_texts_without_a_signature_never_enter_a_bucket():
    assert not keys([line(0, b""), line(1, b"")], 0, 1)


def spooled(build, texts: list[str], near: NearDedup) -> list[Ref]:
    """References of texts that lie in the spool, with their signatures."""
    made = spec(near.engine, permutations=near.permutations, seed=near.seed, ngram=near.ngram)
    writer = SpoolWriter(build, "job/spool")
    refs = []
    for number, text in enumerate(texts):
        key = source_id("s", str(number))
        meta = Meta(source_id=key, corpus="c", domain="d", source="s", address=str(number), license="l")
        draft = Draft(document=Document(segments=(Text(text=text),), meta=meta), media={})
        signature = sign(text, made, min_words=near.min_words)
        refs.append(msgspec.structs.replace(writer.add(draft, ()), signature=signature))
    writer.close()
    return refs


def alike(share: int) -> tuple[str, str]:
    """Two texts of 400 words that begin with the same `share` words."""
    first = [f"a{i}" for i in range(400)]
    return " ".join(first), " ".join([*first[:share], *(f"b{i}" for i in range(400 - share))])


def truth(near: NearDedup, texts: tuple[str, str]) -> float:
    return jaccard(*(shingles_of(text, near.ngram) for text in texts))


def edges(build, near: NearDedup, refs: list[Ref]) -> list[bytes]:
    """What verifying the pair of two references leaves."""
    low, high = sorted(refs, key=lambda ref: ref.source_id)
    worker = Verify(str(build), near)
    worker.setup()
    joined = {"place": [encode_line(low)], "pairs": [(high.source_id, encode_line(high))]}
    found = list(worker.process((low.source_id, joined)))
    worker.teardown()
    return found


@pytest.mark.parametrize("share", range(330, 360, 4))
def test_a_pair_is_kept_by_its_sets_whatever_its_sketch_says(tmp_path, share):
    texts = alike(share)
    near = NearDedup(bands=2, rows=4)  # eight values: a poor sketch, wrong on both sides of the threshold
    kept = edges(tmp_path, near, spooled(tmp_path, list(texts), near))
    assert bool(kept) == (truth(near, texts) >= near.threshold)


def test_such_sketches_do_err(tmp_path):
    near = NearDedup(bands=2, rows=4)
    wrong = set()
    for share in range(330, 360, 4):
        first, second = (ref.signature for ref in spooled(tmp_path, list(alike(share)), near))
        wrong.add((estimate(first, second) >= near.threshold) - (truth(near, alike(share)) >= near.threshold))
    assert wrong - {0}


def test_a_drop_tells_its_true_similarity(tmp_path):
    texts = alike(380)
    refs = spooled(tmp_path, list(texts), NEAR)
    worker = Select(str(tmp_path), "near_dedup", NEAR)
    worker.setup()
    *_, drop = [o.value for o in worker.process(("root", map(encode_line, refs))) if hasattr(o, "tag")]
    worker.teardown()
    assert msgspec.json.decode(drop, type=Drop).similarity == round(truth(NEAR, texts), 4)
