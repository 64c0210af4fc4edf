"""Small real clips, made with PyAV; each differs from frame to frame, so that a wrong frame is seen.

Odd: the AV1 encoder (SVT-AV1), where it may, makes the thread that opens it a real-time one of the highest priority,
and leaves it so. All that the process starts later would inherit that: an endless page then takes all cores.
"""

import contextlib
import os
import tempfile
from collections.abc import Iterator
from fractions import Fraction
from pathlib import Path

import av
import numpy as np


def pixels(number: int, frames: int, width: int, height: int) -> np.ndarray:
    """Frame `number`: red rises with time, a yellow bar moves down."""
    frame = np.zeros((height, width, 3), np.uint8)
    frame[..., 0] = 255 * number // frames
    top = (height - 16) * number // frames
    frame[top : top + 16] = (255, 255, 0)
    return frame


@contextlib.contextmanager
def own_priority() -> Iterator[None]:
    """Whatever is called inside, this thread is scheduled as before."""
    if not hasattr(os, "sched_getscheduler"):
        yield
        return
    policy, priority = os.sched_getscheduler(0), os.sched_getparam(0)
    try:
        yield
    finally:
        os.sched_setscheduler(0, policy, priority)


def clip(frames=60, width=160, height=120, codec="libx264", rate=25, suffix=".mp4", options=None, gop=12) -> bytes:
    """The bytes of a clip of `frames` frames."""
    with own_priority(), tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / f"clip{suffix}"
        with av.open(str(path), "w", options=options or {}) as container:
            stream = container.add_stream(codec, rate=rate)
            stream.width, stream.height, stream.pix_fmt, stream.gop_size = width, height, "yuv420p", gop
            for number in range(frames):
                frame = av.VideoFrame.from_ndarray(pixels(number, frames, width, height), format="rgb24")
                container.mux(stream.encode(frame))
            container.mux(stream.encode())
        return path.read_bytes()


def varying_clip(marks, frames=60, suffix=".mp4", codec="libx264") -> bytes:
    """A clip without B-frames whose frame number `marks[i]` (of `frames`) begins at `marks[i]` · 40 ms."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / f"clip{suffix}"
        with av.open(str(path), "w") as container:
            stream = container.add_stream(codec, rate=25, options={"bf": "0"})
            stream.width, stream.height, stream.pix_fmt = 160, 120, "yuv420p"
            stream.codec_context.time_base = Fraction(1, 25)
            for mark in marks:
                frame = av.VideoFrame.from_ndarray(pixels(mark, frames, 160, 120), format="rgb24")
                frame.pts, frame.time_base = mark, Fraction(1, 25)
                container.mux(stream.encode(frame))
            container.mux(stream.encode())
        return path.read_bytes()


def streaming_clip(**more) -> bytes:
    """An MP4 whose table of frames comes first, so that a cut file still has it."""
    return clip(options={"movflags": "faststart"}, **more)


def lying_avi(frames: int, stated: int) -> bytes:
    """An AVI that states more frames than it holds, in both of its headers."""
    payload = bytearray(clip(frames=frames, codec="mpeg4", suffix=".avi"))
    for mark, offset in ((b"avih", 8 + 16), (b"strh", 8 + 32)):
        at = payload.index(mark) + offset
        assert int.from_bytes(payload[at : at + 4], "little") == frames
        payload[at : at + 4] = stated.to_bytes(4, "little")
    return bytes(payload)
