"""A clip's frames for training: decoded one after the other, all of them or none. To be run inside a `Guard`.

Odd: PyAV alone decodes here, from the first frame on; what `frames.strip` shows people comes from two decoders, of
which decord smears damaged frames and finds frames by tables that lie (docs/decisions/080). Colours are converted by
FFmpeg's exact arithmetic, so that no processor's shortcuts show. Frames are as stored: no turn, no stretched pixels.
"""

from collections.abc import Iterator, Sequence
from fractions import Fraction
from typing import TYPE_CHECKING

import msgspec
import numpy as np
from numpy.typing import NDArray

from trivium.data.records import Video
from trivium.data.video.container import check_size, open_clip, words
from trivium.errors import GuardError

if TYPE_CHECKING:
    from av import VideoFrame

Pixels = NDArray[np.uint8]  # [H, W, 3], RGB

MOST_FRAMES = 1_000_000  # nine hours at 30 frames a second
USUAL_RATE = 25  # frames a second of a clip that says nothing
SLACK = 0.0025  # seconds: Matroska rounds times to milliseconds, each frame's and the first one's


class Measure(msgspec.Struct, frozen=True, kw_only=True):
    """What a `Video` has to state: `frames` that decode, `fps` their number over the length, sizes in pixels."""

    width: int
    height: int
    frames: int
    fps: float


def measure(payload: bytes) -> Measure:
    """Decodes a whole clip to count it; `Guard("trivium.data.video:measure").call(payload, Measure)` does it guarded.

    Raises GuardError with reason `missing`, `no_video`, `too_large`, or `damaged` when it does not decode to its end.
    """
    clip = _Clip(payload)
    count, length = 0, Fraction(0)
    for _ in clip.frames():
        count += 1
        length = clip.end
        if count > MOST_FRAMES:
            raise GuardError("too_large", f"more than {MOST_FRAMES} frames")
    return Measure(width=clip.size[0], height=clip.size[1], frames=count, fps=float(count / length))


def frames_at(payload: bytes, seconds: Sequence[float], stated: Video) -> Iterator[Pixels]:
    """The frame that stands at each of the rising times `seconds`: the last that begins no later (but for rounding).

    Raises GuardError as `measure` does, and with reason `record` when the clip is not what `stated` says; only after
    the last frame is it known that it is.
    """
    clip = _Clip(payload)
    _agree(clip.size == (stated.width, stated.height), stated, "{} × {} pixels", *clip.size)
    slack = min(SLACK, 0.25 / stated.fps)
    held: VideoFrame | None = None
    count = given = 0
    for at, frame in clip.frames():
        count += 1
        _agree(count <= stated.frames, stated, "more than {} frames", stated.frames)
        while held is not None and given < len(seconds) and seconds[given] + slack < at:
            yield _rgb(held)
            given += 1
        held = frame
    _agree(count == stated.frames, stated, "{} frames", count)
    # A frame more or less is what the last one's length, which many clips don't state, may come to.
    length, said = float(clip.end), stated.frames / stated.fps
    _agree(abs(length - said) <= 1 / stated.fps, stated, "frames of {:.3f} s in all and not {:.3f}", length, said)
    assert held is not None  # a clip without frames is damaged
    for _ in range(given, len(seconds)):
        yield _rgb(held)


def _agree(holds: bool, stated: Video, what: str, *found: object) -> None:
    if not holds:
        raise GuardError(
            "record",
            f"the clip has {what.format(*found)}; its record states {stated.frames} frames of {stated.width} × "
            f"{stated.height} pixels, {stated.fps:g} a second",
        )


class _Clip:
    """One pass over a clip's frames; `end` is where the last one seen ends, in seconds after the first begins."""

    def __init__(self, payload: bytes) -> None:
        self._container, self._stream = open_clip(payload)
        context = self._stream.codec_context
        self.size = (context.width, context.height)
        check_size(*self.size)
        self.end = Fraction(0)
        self._rate = self._stream.average_rate or self._stream.guessed_rate or Fraction(USUAL_RATE)
        self._first: int | None = None

    def frames(self) -> "Iterator[tuple[Fraction, VideoFrame]]":
        """Each frame and when it begins, in seconds after the first."""
        import av

        at, number = Fraction(-1), 0
        with self._container:
            try:
                for number, frame in enumerate(self._container.decode(self._stream)):
                    before, at = at, self._begins(frame, number)
                    if at <= before:
                        raise GuardError("damaged", f"frame {number} comes no later than the one before it")
                    if frame.is_corrupt:
                        raise GuardError("damaged", f"frame {number} is decoded with errors")
                    if (frame.width, frame.height) != self.size:
                        raise GuardError("damaged", f"frame {number} has {frame.width} × {frame.height} pixels")
                    self.end = at + self._lasts(frame)
                    yield at, frame
            except av.FFmpegError as error:
                where = f"decoding stops after {number} frames" if at >= 0 else "no frame can be decoded"
                raise GuardError("damaged", f"{where}: {words(error)}") from None
        if at < 0:
            raise GuardError("damaged", "no frame can be decoded")

    def _begins(self, frame: "VideoFrame", number: int) -> Fraction:
        """By its own mark; where marks are absent, by the stated rate."""
        if frame.pts is None or frame.time_base is None:
            return number / self._rate
        if self._first is None:
            self._first = frame.pts
        return (frame.pts - self._first) * frame.time_base

    def _lasts(self, frame: "VideoFrame") -> Fraction:
        if not frame.duration or frame.time_base is None:
            return 1 / self._rate
        return frame.duration * frame.time_base


def _rgb(frame: "VideoFrame") -> Pixels:
    from av.video.reformatter import Interpolation

    exact = Interpolation.BICUBIC | Interpolation.ACCURATE_RND | Interpolation.BITEXACT
    return np.ascontiguousarray(frame.to_ndarray(format="rgb24", interpolation=exact, threads=1), dtype=np.uint8)
