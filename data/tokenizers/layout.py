"""A document as tokens: [BOS] segments [EOS], pictures and clips as media blocks, one flag bit for tokens without loss.

Odd: the flag speaks of a token as a *target*. Stored tokens are little-endian uint32 whose bit 31 says "carries no
loss"; ids stay below 2^31.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from trivium.data.patches import Fit, PictureRules, fit
from trivium.data.records import Document, Image, Text
from trivium.data.tokenizers.tokenizer import Tokenizer
from trivium.data.video.plan import ClipPlan, plan

NO_LOSS = np.uint32(1 << 31)


@dataclass(frozen=True, slots=True)
class ImageSpan:
    """One picture: tokens [start, stop) hold its media block, `fit.tokens` of them pads."""

    start: int
    stop: int
    media: str
    fit: Fit


@dataclass(frozen=True, slots=True)
class ClipSpan:
    """One clip: tokens [start, stop) hold its chunks, each a timestamp and a media block; `plan.tokens` are pads."""

    start: int
    stop: int
    media: str
    plan: ClipPlan


@dataclass(frozen=True, slots=True)
class TokenizedDocument:
    """`tokens` uint32 [T] with flag bits, patches of all pictures and clips, and where each of them stands."""

    tokens: NDArray[np.uint32]
    patches: int
    images: tuple[ImageSpan, ...]
    clips: tuple[ClipSpan, ...] = ()

    def payload(self) -> bytes:
        """The stored member."""
        return self.tokens.astype("<u4").tobytes()


def tokenize_document(document: Document, tokenizer: Tokenizer, rules: PictureRules) -> TokenizedDocument:
    """Lays a document out (spec 6.2, text forms). Without loss: [BOS], whole media blocks, `Text(loss=False)`, and
    (chosen: whoever shows a clip writes them) a clip's timestamps.

    Nothing is decoded: sizes and frames are those that the record states. Raises InputError for a clip whose figures
    can't be right.
    """
    ids = [tokenizer.bos]
    loss = [False]
    images: list[ImageSpan] = []
    clips: list[ClipSpan] = []
    for segment in document.segments:
        if isinstance(segment, Text):
            new = tokenizer.encode(segment.text)
            loss += [segment.loss] * len(new)
        else:
            if isinstance(segment, Image):
                size = fit(segment.width, segment.height, rules)
                new = image_block(segment, size, tokenizer)
                images.append(ImageSpan(len(ids), len(ids) + len(new), segment.media, size))
            else:
                planned = plan(segment, rules)
                new = clip_blocks(planned, tokenizer)
                clips.append(ClipSpan(len(ids), len(ids) + len(new), segment.media, planned))
            loss += [False] * len(new)
        ids += new
    tokens = np.array([*ids, tokenizer.eos], np.uint32)
    tokens[~np.array([*loss, True])] |= NO_LOSS
    patches = sum(span.fit.patches for span in images) + sum(span.plan.patches for span in clips)
    return TokenizedDocument(tokens, patches, tuple(images), tuple(clips))


def image_block(image: Image, size: Fit, tokenizer: Tokenizer) -> list[int]:
    """`<|media_begin|>image WxH<|media_content|><|media_pad|>×n<|media_end|>`, W×H as stored, n tokens."""
    return [
        tokenizer.media_begin,
        *tokenizer.encode(f"image {image.width}x{image.height}"),
        tokenizer.media_content,
        *[tokenizer.media_pad] * size.tokens,
        tokenizer.media_end,
    ]


def clip_blocks(planned: ClipPlan, tokenizer: Tokenizer) -> list[int]:
    """For each chunk of up to four frames `hh:mm:ss.fff`, the time of its first frame, and then
    `<|media_begin|>video<|media_content|>` + `<|media_pad|>`×n + `<|media_end|>`, n tokens of one frame's size."""
    opening = [tokenizer.media_begin, *tokenizer.encode("video"), tokenizer.media_content]
    block = [*opening, *[tokenizer.media_pad] * planned.fit.tokens, tokenizer.media_end]
    return [token for time in planned.timestamps for token in [*tokenizer.encode(time), *block]]


def split_tokens(payload: bytes | NDArray[np.uint32]) -> tuple[NDArray[np.int64], NDArray[np.bool_]]:
    """Stored tokens → (ids int64 [T], loss bool [T]: True where the token counts as a target)."""
    raw = np.frombuffer(payload, dtype="<u4") if isinstance(payload, bytes) else payload
    return (raw & ~NO_LOSS).astype(np.int64), (raw & NO_LOSS) == 0


def join_tokens(ids: NDArray[np.int64], loss: NDArray[np.bool_]) -> NDArray[np.uint32]:
    """The inverse of `split_tokens`."""
    return ids.astype(np.uint32) | np.where(loss, np.uint32(0), NO_LOSS)
