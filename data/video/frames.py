"""A strip of frames out of a clip, with their times and what is wrong with the clip. To be run inside a `Guard`.

Odd: two decoders look at every clip. Headers lie about frame counts, so PyAV counts the packets that are there; decord
picks the frames (exact and fast anywhere in a clip), but knows no AV1, returns damaged frames as success, and can hang
on over-reported frames holding the GIL (dmlc/decord issues 373 and 375), so PyAV decodes some of them again and its
frames stand where the two differ. Only the guard's deadline ends a hang.
"""

import io
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

import msgspec
import numpy as np
from numpy.typing import NDArray

from trivium.data.video.container import check_size, open_clip, words
from trivium.errors import GuardError

if TYPE_CHECKING:
    from av.video.stream import VideoStream

Pixels = NDArray[np.uint8]  # [H, W, 3], RGB

MOST_PACKETS = 200_000  # two hours at 28 frames a second; later ones are not looked at
MOST_DECODED = 1500  # frames that the slow way decodes one after the other
CHECKED = 2  # frames that both decoders see
ALIKE = 16.0  # mean difference of two decoders' frames, of 255, that scaling and colour conversion explain


class Frame(msgspec.Struct, frozen=True, kw_only=True):
    """One frame: `seconds` after the clip's first frame, `rgb` [height · width · 3] bytes."""

    seconds: float
    width: int
    height: int
    rgb: bytes


class Strip(msgspec.Struct, frozen=True, kw_only=True):
    """Frames spread over a clip. `packets` were found, `stated` is the header's count (0: it states none);
    `seconds` spans first to last frame; `notes` say what is wrong."""

    frames: tuple[Frame, ...]
    packets: int
    stated: int
    seconds: float
    codec: str
    width: int
    height: int
    decoder: str
    notes: tuple[str, ...] = ()


class _Facts(msgspec.Struct, frozen=True, kw_only=True):
    times: list[float]  # seconds of each packet's frame after the first, in order of showing
    stated: int
    codec: str
    width: int
    height: int
    notes: tuple[str, ...]


def strip(payload: bytes, count: int, side: int) -> Strip:
    """`count` frames spread evenly over the clip, at most `side` pixels a side.

    Raises GuardError with reason `missing` (decoders not installed), `no_video`, `too_large` or `damaged`.
    """
    facts = _look(payload)
    wanted = spread(len(facts.times), count)
    size = _scaled(facts.width, facts.height, side)
    notes = list(facts.notes)
    if facts.stated and abs(facts.stated - len(facts.times)) > 1:
        notes.append(f"the header states {facts.stated} frames, the clip holds {len(facts.times)}")
    try:
        frames, decoder = _by_decord(payload, wanted, facts.times, size), "decord"
        if _doubtful(payload, frames, size):
            notes.append("decord and PyAV see different frames; PyAV's are shown")
            frames = []
    except Exception:  # decord raises its own kinds; PyAV has the last word on what is wrong
        frames = []
    if not frames:
        frames, fault = _by_pyav(payload, [facts.times[i] for i in wanted], size)
        decoder = "PyAV"
        if fault:
            notes.append(fault)
    if not frames:
        raise GuardError("damaged", notes[-1] if notes else "no frame can be decoded")
    return Strip(
        frames=tuple(
            Frame(seconds=round(at, 3), width=size[0], height=size[1], rgb=pixels.tobytes()) for at, pixels in frames
        ),
        packets=len(facts.times),
        stated=facts.stated,
        seconds=round(facts.times[-1], 3),
        codec=facts.codec,
        width=facts.width,
        height=facts.height,
        decoder=decoder,
        notes=tuple(notes),
    )


def spread(packets: int, count: int) -> list[int]:
    """At most `count` places of 0 … packets − 1, rising, the middles of equal parts."""
    count = min(count, packets)
    return [(2 * i + 1) * packets // (2 * count) for i in range(count)]


def _look(payload: bytes) -> _Facts:
    """Counts the packets without decoding them."""
    container, stream = open_clip(payload)
    import av

    width, height = stream.codec_context.width, stream.codec_context.height
    check_size(width, height)
    marks: list[int | None] = []
    notes: list[str] = []
    with container:
        try:
            for packet in container.demux(stream):
                if packet.size:
                    marks.append(packet.pts if packet.pts is not None else packet.dts)
                if len(marks) >= MOST_PACKETS:
                    notes.append(f"only the first {MOST_PACKETS} frames were looked at")
                    break
        except av.FFmpegError as error:
            notes.append(f"reading stops after {len(marks)} frames: {words(error)}")
        if not marks:
            raise GuardError("damaged", notes[-1] if notes else "the video stream holds no frames")
        return _Facts(
            times=_seconds(marks, stream),
            stated=int(stream.frames),
            codec=stream.codec_context.codec.canonical_name,
            width=width,
            height=height,
            notes=tuple(notes),
        )


def _seconds(marks: Sequence[int | None], stream: "VideoStream") -> list[float]:
    """Times after the first; where packets carry none, even steps of the stated rate."""
    known = sorted(mark for mark in marks if mark is not None)
    if len(known) == len(marks) and stream.time_base is not None:
        return [float((mark - known[0]) * stream.time_base) for mark in known]
    rate = float(stream.average_rate or 25)
    return [i / rate for i in range(len(marks))]


def _by_decord(
    payload: bytes, wanted: Sequence[int], times: Sequence[float], size: tuple[int, int]
) -> list[tuple[float, Pixels]]:
    import decord

    reader = decord.VideoReader(io.BytesIO(payload), ctx=decord.cpu(0), width=size[0], height=size[1], num_threads=1)
    places = [min(i, len(reader) - 1) for i in wanted]
    pixels = reader.get_batch(places).asnumpy()
    return [(times[i], np.ascontiguousarray(frame)) for i, frame in zip(places, pixels, strict=True)]


def _doubtful(payload: bytes, frames: Sequence[tuple[float, Pixels]], size: tuple[int, int]) -> bool:
    """Whether PyAV, at the last frames and the middle one, sees something else or nothing."""
    chosen = {len(frames) - 1 - i * (len(frames) // CHECKED) for i in range(CHECKED)}
    for at in sorted(i for i in chosen if i >= 0):
        seconds, pixels = frames[at]
        again = _near(payload, seconds, size)
        if again is None or float(np.abs(again.astype(np.int16) - pixels).mean()) > ALIKE:
            return True
    return False


def _near(payload: bytes, seconds: float, size: tuple[int, int]) -> Pixels | None:
    """PyAV's frame at that time, from the key frame before it; None when it can't be decoded."""
    container, stream = open_clip(payload)
    import av

    with container:
        try:
            start = stream.start_time or 0
            base = stream.time_base
            if base is None:
                return None
            container.seek(start + round(seconds / float(base)), stream=stream, backward=True)
            half = 0.5 / float(stream.average_rate or 25)
            for at, frame in _decoded(container, stream):
                if at >= seconds - half:
                    return _pixels(frame, size)
        except av.FFmpegError:
            return None
    return None


def _by_pyav(payload: bytes, wanted: Sequence[float], size: tuple[int, int]) -> tuple[list[tuple[float, Pixels]], str]:
    """Frames from the beginning on, nearest after each wanted time, and why it stopped early."""
    container, stream = open_clip(payload)
    import av

    found: list[tuple[float, Pixels]] = []
    last: tuple[float, Any] | None = None
    fault = ""
    half = 0.5 / float(stream.average_rate or 25)
    with container:
        try:
            for at, frame in _decoded(container, stream):
                last = (at, frame)
                if len(found) < len(wanted) and at >= wanted[len(found)] - half:
                    found.append((at, _pixels(frame, size)))
                if len(found) == len(wanted):
                    break
            else:
                fault = f"no more than the first {last[0]:.2f} s were decoded" if last else "no frame can be decoded"
        except av.FFmpegError as error:
            where = f"decoding stops after {last[0]:.2f} s" if last else "no frame can be decoded"
            fault = f"{where}: {words(error)}"
    if last is not None and len(found) < len(wanted) and (not found or found[-1][0] < last[0]):
        found.append((last[0], _pixels(last[1], size)))  # the last one before it breaks
    return found, fault


def _decoded(container: Any, stream: "VideoStream") -> Iterator[tuple[float, Any]]:
    """At most MOST_DECODED frames with their seconds after the stream's start."""
    start = stream.start_time or 0
    rate = float(stream.average_rate or 25)
    for number, frame in enumerate(container.decode(stream)):
        if number >= MOST_DECODED:
            return
        mark = frame.pts
        yield (number / rate if mark is None else float((mark - start) * stream.time_base)), frame


def _pixels(frame: Any, size: tuple[int, int]) -> Pixels:
    array: Pixels = frame.to_ndarray(format="rgb24", width=size[0], height=size[1])
    return np.ascontiguousarray(array)


def _scaled(width: int, height: int, side: int) -> tuple[int, int]:
    """Even sizes of the same shape, at most `side` (decord's filter wants even ones)."""
    share = min(1.0, side / max(width, height))
    return max(2, round(width * share / 2) * 2), max(2, round(height * share / 2) * 2)
