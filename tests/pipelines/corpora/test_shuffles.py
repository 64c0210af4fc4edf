"""Pieces of the shuffles whose loss a whole build would hide: real duplicates share almost every band."""

from collections import Counter

from hypothesis import given
from hypothesis import strategies as st

from trivium.data.dedup.near import NearDedup
from trivium.data.dedup.signature import sign, spec
from trivium.pipelines.corpora.shuffles import Bands
from trivium.pipelines.corpora.spool import Ref, encode_line

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
