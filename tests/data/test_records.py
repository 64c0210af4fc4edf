import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from trivium.data.records import (
    Document,
    Image,
    Lineage,
    Meta,
    Step,
    Text,
    Video,
    content_id,
    decode,
    encode,
    finish,
    source_id,
)
from trivium.errors import ShardError

META = Meta(source_id="s", corpus="c", domain="d", source="n", address="a", license="MIT")
SEGMENTS = st.lists(
    st.builds(Text, text=st.text(max_size=40), loss=st.booleans())
    | st.builds(
        Image,
        media=st.sampled_from(["i0.png", "i1.png"]),
        width=st.integers(1, 9),
        height=st.integers(1, 9),
        mime=st.just("image/png"),
    )
    | st.builds(
        Video,
        media=st.just("v0.mp4"),
        width=st.integers(1, 9),
        height=st.integers(1, 9),
        mime=st.just("video/mp4"),
        frames=st.integers(1, 99),
        fps=st.floats(1, 60),
    ),
    max_size=5,
).map(tuple)
METAS = st.builds(
    Meta,
    source_id=st.text(max_size=9),
    corpus=st.text(max_size=9),
    domain=st.text(max_size=9),
    source=st.text(max_size=9),
    address=st.text(max_size=9),
    license=st.text(max_size=9),
    scores=st.dictionaries(st.text(max_size=5), st.floats(allow_nan=False, allow_infinity=False), max_size=3),
    lineage=st.builds(Lineage, steps=st.lists(st.builds(Step, name=st.text(), version=st.integers(0, 9))).map(tuple)),
)
MEDIA = {"i0.png": b"zero", "i1.png": b"one", "v0.mp4": b"clip"}


@given(segments=SEGMENTS, meta=METAS)
def test_json_round_trip_is_canonical(segments, meta):
    document = finish(Document(segments=segments, meta=meta), MEDIA)
    payload = encode(document)
    assert decode(payload) == document
    assert encode(decode(payload)) == payload


@given(segments=SEGMENTS, meta=METAS)
def test_id_is_of_the_content_alone(segments, meta):
    assert finish(Document(segments=segments, meta=meta), MEDIA).id == content_id(segments, MEDIA)
    assert len(content_id(segments, MEDIA)) == 26


def test_id_sees_media_bytes_text_and_loss():
    picture = Image(media="i0.png", width=1, height=1, mime="image/png")
    ids = {
        content_id((picture,), {"i0.png": b"a"}),
        content_id((picture,), {"i0.png": b"b"}),
        content_id((Text(text="a"),), {}),
        content_id((Text(text="a", loss=False),), {}),
        content_id((Text(text="a"), Text(text="")), {}),
    }
    assert len(ids) == 5


def test_media_name_does_not_reach_the_id():
    one, two = (Image(media=f"i{n}.png", width=1, height=1, mime="image/png") for n in (0, 7))
    assert content_id((one,), {"i0.png": b"a"}) == content_id((two,), {"i7.png": b"a"})


def test_source_ids_keep_name_and_place_apart():
    assert source_id("a", "b/c") != source_id("a/b", "c")


@pytest.mark.parametrize("change", [{"version": 2}, {"format": "other"}])
def test_unknown_version_is_refused_by_name(change):
    document = Document(segments=(), meta=META)
    payload = msgspec.json.encode(msgspec.json.decode(encode(document)) | change)
    with pytest.raises(ShardError, match=str(next(iter(change.values())))):
        decode(payload)


@pytest.mark.parametrize("payload", [b"", b"{", b"\xff", b"[]", b'{"format":"trivium.document","version":1}'])
def test_damaged_json_is_a_shard_error(payload):
    with pytest.raises(ShardError):
        decode(payload)


def test_media_lists_each_name_once():
    picture = Image(media="i0.png", width=1, height=1, mime="image/png")
    document = Document(segments=(picture, Text(text="x"), picture), meta=META)
    assert document.media == ("i0.png",)
    assert document.text == "x"
