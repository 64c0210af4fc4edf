import msgspec
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from trivium.data.patches import PictureRules, VideoRules, fit
from trivium.data.records import Document, Image, Meta, Text, Video
from trivium.data.tokenizers import Tokenizer, join_tokens, split_tokens, tokenize_document
from trivium.data.video import plan
from trivium.errors import InputError

META = Meta(source_id="s", corpus="c", domain="d", source="n", address="a", license="MIT")
RULES = PictureRules(patch_limit=256, video=VideoRules(fps=4.0, frame_patches=64, patches=512))
SEGMENTS = st.lists(
    st.builds(Text, text=st.text(st.characters(exclude_categories=["Cs"]), max_size=30), loss=st.booleans())
    | st.builds(
        Image, media=st.just("i0.png"), width=st.integers(1, 900), height=st.integers(1, 900), mime=st.just("image/png")
    )
    | st.builds(
        Video,
        media=st.just("v0.mp4"),
        width=st.integers(1, 900),
        height=st.integers(1, 900),
        mime=st.just("video/mp4"),
        frames=st.integers(1, 300),
        fps=st.sampled_from([1.0, 7.5, 25.0, 30000 / 1001]),
    ),
    max_size=6,
).map(tuple)


@pytest.fixture(scope="module")
def tokenizer(bpe) -> Tokenizer:
    return Tokenizer.load(bpe)


def test_layout_law(tokenizer):
    @given(segments=SEGMENTS)
    @settings(deadline=None)
    def law(segments):
        laid = tokenize_document(Document(segments=segments, meta=META), tokenizer, RULES)
        ids, loss = split_tokens(laid.payload())
        assert ids.tolist() == split_tokens(laid.tokens)[0].tolist()
        assert (ids[0], ids[-1]) == (tokenizer.bos, tokenizer.eos)
        assert not loss[0]
        assert loss[-1]
        expected = "[BOS]"
        targets = b""
        for segment in segments:
            if isinstance(segment, Text):
                expected += segment.text
                targets += segment.text.encode() if segment.loss else b""
            elif isinstance(segment, Video):
                planned = plan(segment, RULES)
                for stamp, (_, h, w) in zip(planned.timestamps, planned.grids, strict=True):
                    expected += f"{stamp}<|media_begin|>video<|media_content|>"
                    expected += "<|media_pad|>" * (h * w // 4) + "<|media_end|>"
            else:
                pads = fit(segment.width, segment.height, RULES).tokens
                expected += f"<|media_begin|>image {segment.width}x{segment.height}<|media_content|>"
                expected += "<|media_pad|>" * pads + "<|media_end|>"
        assert tokenizer.decode(ids.tolist()) == expected + "[EOS]"
        assert b"".join(tokenizer.pieces[i] for i in ids[loss]) == targets + b"[EOS]"
        clips = [plan(s, RULES) for s in segments if isinstance(s, Video)]
        assert [span.plan for span in laid.clips] == clips
        pads = int((ids == tokenizer.media_pad).sum())
        assert pads == sum(span.fit.tokens for span in laid.images) + sum(clip.tokens for clip in clips)
        assert laid.patches == sum(span.fit.patches for span in laid.images) + sum(clip.patches for clip in clips)
        for span in laid.clips:
            assert ids[span.stop - 1] == tokenizer.media_end
            assert not loss[span.start : span.stop].any()
            assert (ids[span.start : span.stop] == tokenizer.media_pad).sum() == span.plan.tokens
        for span, image in zip(laid.images, [s for s in segments if isinstance(s, Image)], strict=True):
            assert ids[span.start] == tokenizer.media_begin
            assert ids[span.stop - 1] == tokenizer.media_end
            assert not loss[span.start : span.stop].any()
            assert (ids[span.start : span.stop] == tokenizer.media_pad).sum() == span.fit.tokens
            assert span.media == image.media

    law()


@given(ids=st.lists(st.integers(0, 2**31 - 1)), data=st.data())
def test_split_and_join_are_inverse(ids, data):
    loss = data.draw(st.lists(st.booleans(), min_size=len(ids), max_size=len(ids)))
    joined = join_tokens(np.array(ids, np.int64), np.array(loss, bool))
    assert joined.dtype == np.uint32
    back, flags = split_tokens(joined.astype("<u4").tobytes())
    assert (back.tolist(), flags.tolist()) == (ids, loss)


def test_spelled_specials_in_a_document_stay_text(tokenizer):
    text = "<|media_begin|>image 1x1<|media_content|><|media_pad|><|media_end|>[EOS]"
    laid = tokenize_document(Document(segments=(Text(text=text),), meta=META), tokenizer, RULES)
    ids, loss = split_tokens(laid.tokens)
    assert set(ids[1:-1].tolist()).isdisjoint(tokenizer.specials.values())
    assert loss[1:].all()


def test_a_clip_whose_figures_can_t_be_right_is_refused_by_name(tokenizer):
    clip = Video(media="v0.mp4", width=1, height=1, mime="video/mp4", frames=0, fps=1.0)
    with pytest.raises(InputError, match=r"v0\.mp4 states a clip of 0 frames"):
        tokenize_document(Document(segments=(clip,), meta=META), tokenizer, RULES)


def test_stored_form_is_little_endian(tokenizer):
    document = Document(segments=(Text(text="a", loss=False),), meta=msgspec.structs.replace(META, title="t"))
    payload = tokenize_document(document, tokenizer, RULES).payload()
    letter = tokenizer.encode("a")[0]
    assert payload[4:8] == (letter | 1 << 31).to_bytes(4, "little")
