"""The guarded side of `look`: bytes of an engine to pixels and measures; imported only inside a guarded child."""

import hashlib
import io
from itertools import pairwise
from typing import Any

import imagehash
import msgspec
import numpy as np
import scipy.fftpack  # noqa: F401  (imagehash imports it at its first call, which would be the first request's time)
from numpy.typing import NDArray
from PIL import Image

from trivium.data.pairs.look import Ask, Color, Look
from trivium.data.records import Video
from trivium.errors import GuardError

Pixels = NDArray[np.uint8]  # [H, W, 3], RGB
Tally = tuple[NDArray[np.uint32], NDArray[np.int64]]  # colours (0xrrggbb) and how many pixels have each

FORMATS = ("PNG", "JPEG", "WEBP", "GIF", "BMP")
VISIBLE = 8  # levels from which a pixel counts as unlike another
SAMPLED = 8  # frames of a clip that are measured
MOST_COLORS = 16
LEAST_SHARE = 0.001
SQUARE = 16  # side of the squares in which two pictures are compared
MOST_FRAMES = 3000
_STRIP = 256  # rows of squares measured at once: pages have 38 million pixels
_MANY = 1 << 20  # pixels from which counting by bins beats sorting


class Frames(msgspec.Struct, frozen=True):
    """A picture, or a clip's sampled frames, and the hash of all that can be seen."""

    sampled: list[Any]
    pixels: str
    frames: int = 0
    fps: float = 0.0


def examine(ask: Ask) -> Look:
    """The guarded task. Raises GuardError: `damaged`, `too_large`, or what `trivium.data.video` raises."""
    found = _frames(ask, ask.payload)
    look = _measured(found.sampled, ask.background, found.pixels)
    if ask.clip:
        moved = [float(_unlike(one, other).mean()) for one, other in pairwise(found.sampled)]
        motion = round(max(moved, default=0.0), 6)
        look = msgspec.structs.replace(look, frames=found.frames, fps=found.fps, motion=motion)
    if ask.beside:
        other = _frames(ask, ask.beside)
        unlike, contrast = _difference(found.sampled, other.sampled)
        look = msgspec.structs.replace(look, unlike=unlike, contrast=contrast)
    return look


def _frames(ask: Ask, payload: bytes) -> Frames:
    if ask.clip:
        return _clip(payload, ask.max_pixels)
    pixels = decode(payload, ask.background or (255, 255, 255), ask.max_pixels)
    return Frames([pixels], hashlib.sha256(_named(pixels)).hexdigest())


def _difference(ours: list[Pixels], others: list[Pixels]) -> tuple[float, float]:
    """How much differs, and how far: the most of any frame."""
    if [frame.shape for frame in ours] != [frame.shape for frame in others]:
        return 1.0, 1.0
    both = list(zip(ours, others, strict=True))
    unlike = max(float(_unlike(one, other).mean()) for one, other in both)
    return round(unlike, 6), round(max(_contrast(one, other) for one, other in both), 6)


def _contrast(one: Pixels, other: Pixels) -> float:
    """The largest mean difference of any square, of the widest channel, as a share of all levels."""
    height, width = one.shape[:2]
    side = min(SQUARE, height, width)
    most = 0.0
    for top in range(0, height - side + 1, _STRIP):
        rows = slice(top, top + _STRIP + side - 1)
        far = (np.maximum(one[rows], other[rows]) - np.minimum(one[rows], other[rows])).max(axis=-1)
        if float(far.max()) <= most:
            continue  # no square's mean is above its largest pixel
        sums = np.zeros((far.shape[0] + 1, width + 1), np.int64)
        sums[1:, 1:] = far.cumsum(axis=0, dtype=np.int64).cumsum(axis=1)
        squares = sums[side:, side:] - sums[:-side, side:] - sums[side:, :-side] + sums[:-side, :-side]
        most = max(most, float(squares.max()) / side**2)
    return most / 255


def decode(payload: bytes, under: Color, max_pixels: int) -> Pixels:
    """What is transparent lies on `under`."""
    Image.MAX_IMAGE_PIXELS = None  # our own bound comes before anything is decoded
    try:
        with Image.open(io.BytesIO(payload), formats=FORMATS) as opened:
            if opened.width * opened.height > max_pixels:
                what = f"{opened.width} × {opened.height} pixels; at most {max_pixels} are taken"
                raise GuardError("too_large", what)
            if opened.mode in ("RGBA", "LA", "PA") or "transparency" in opened.info:
                paper = Image.new("RGBA", opened.size, (*under, 255))
                return np.array(Image.alpha_composite(paper, opened.convert("RGBA")).convert("RGB"))
            return np.array(opened.convert("RGB"))
    except GuardError:
        raise
    except Exception as error:  # Pillow raises many kinds for damaged files
        raise GuardError("damaged", f"the picture can't be decoded ({type(error).__name__})") from None


def _clip(payload: bytes, max_pixels: int) -> Frames:
    from trivium.data.video import frames_at, measure

    found = measure(payload)
    if found.width * found.height > max_pixels or found.frames > MOST_FRAMES:
        what = f"{found.frames} frames of {found.width} × {found.height} pixels"
        raise GuardError("too_large", f"{what}; at most {MOST_FRAMES} of {max_pixels} pixels are taken")
    stated = Video(media="", mime="", width=found.width, height=found.height, frames=found.frames, fps=found.fps)
    count = min(SAMPLED, found.frames)
    kept = {at * (found.frames - 1) // max(1, count - 1) for at in range(count)}
    sampled, total = [], hashlib.sha256()
    for number, frame in enumerate(frames_at(payload, [n / found.fps for n in range(found.frames)], stated)):
        total.update(_named(frame))
        if number in kept:
            sampled.append(frame)
    return Frames(sampled, total.hexdigest(), found.frames, found.fps)


def _measured(frames: list[Pixels], background: Color | None, pixels: str) -> Look:
    first, middle = frames[0], frames[len(frames) // 2]
    paper = background if background is not None else _split(int(_tally(_ring(first))[0][0]))
    tallies = [_tally(frame) for frame in frames]
    return Look(
        png=_png(first),
        width=first.shape[1],
        height=first.shape[0],
        ink=round(max(_ink(tally, paper) for tally in tallies), 6),
        spread=max(_spread(values) for values, _ in tallies),
        flat=round(min(float(counts[0] / counts.sum()) for _, counts in tallies), 6),
        detail=round(max(_detail(frame) for frame in frames), 6),
        edge_ink=round(min(_ink(_tally(_ring(frame)), paper) for frame in frames), 6),
        background=_hex(paper[0] << 16 | paper[1] << 8 | paper[2]),
        colors=_colors(*tallies[0]),
        phash=str(imagehash.phash(Image.fromarray(middle))),
        pixels=pixels,
    )


def _ink(tally: Tally, paper: Color) -> float:
    """Share of pixels unlike the paper: by colours, of which there are fewer than pixels."""
    values, counts = tally
    colors = np.stack([values >> 16, values >> 8 & 255, values & 255], axis=-1).astype(np.uint8)
    return float(counts[_unlike(colors, np.array(paper, np.uint8))].sum() / counts.sum())


def _spread(values: NDArray[np.uint32]) -> int:
    """Levels between the least and the greatest value of a channel, the widest of the three."""
    return max(int(np.ptp(values >> shift & 255)) for shift in (16, 8, 0))


def _unlike(one: Pixels, other: Pixels) -> NDArray[np.bool_]:
    """Where two pictures, or colours and a colour, differ visibly; no copy is wider than a byte a channel."""
    far = np.maximum(one, other) - np.minimum(one, other) >= VISIBLE
    return np.asarray(far[..., 0] | far[..., 1] | far[..., 2])


def _detail(pixels: Pixels) -> float:
    """Share of pixels that are visibly unlike the one before or the one above."""
    if min(pixels.shape[:2]) < 2:
        return 0.0
    before, above = _unlike(pixels[1:, 1:], pixels[1:, :-1]), _unlike(pixels[1:, 1:], pixels[:-1, 1:])
    return float((before | above).mean())


def _ring(pixels: Pixels) -> Pixels:
    """The outermost pixels, [n, 3]."""
    return np.concatenate((pixels[0], pixels[-1], pixels[1:-1, 0], pixels[1:-1, -1]))


def _pack(pixels: Pixels) -> NDArray[np.uint32]:
    wide = pixels.astype(np.uint32)
    return np.asarray(wide[..., 0] << 16 | wide[..., 1] << 8 | wide[..., 2])


def _tally(pixels: Pixels) -> Tally:
    """Most frequent first; equally frequent ones by value."""
    packed = _pack(pixels)
    if packed.size > _MANY:
        bins = np.bincount(packed.ravel())
        values = np.flatnonzero(bins).astype(np.uint32)
        counts = bins[values]
    else:
        values, counts = np.unique(packed, return_counts=True)
    order = np.argsort(-counts, kind="stable")
    return values[order], counts[order]


def _split(value: int) -> Color:
    return value >> 16, value >> 8 & 255, value & 255


def _colors(values: NDArray[np.uint32], counts: NDArray[np.int64]) -> dict[str, float]:
    shares = counts[:MOST_COLORS] / counts.sum()
    pairs = zip(values[:MOST_COLORS].tolist(), shares.tolist(), strict=True)
    return {_hex(value): round(share, 4) for value, share in pairs if share >= LEAST_SHARE}


def _hex(value: int) -> str:
    return f"#{value:06x}"


def _named(pixels: Pixels) -> bytes:
    """The picture's size and pixels: what is equal exactly when two pictures are."""
    return f"{pixels.shape[1]} {pixels.shape[0]}\n".encode() + np.ascontiguousarray(pixels).tobytes()


def _png(pixels: Pixels) -> bytes:
    """Opaque RGB; a compression level above 6 costs four times the time and gains a percent."""
    target = io.BytesIO()
    Image.fromarray(pixels).save(target, "PNG", compress_level=6)
    return target.getvalue()
