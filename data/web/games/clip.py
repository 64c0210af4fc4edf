"""Frames to a clip, without loss. To be run inside a `Guard`: the frames come from a browser that ran strangers' code.

H.264 in RGB with a quantiser of zero (libx264rgb): every decoder gives back the frames' own pixels, at about half
their size as PNG. One thread, fixed settings, no dates: equal frames give equal bytes.
"""

import io
from typing import Annotated

import msgspec
import numpy as np
from msgspec import Meta
from numpy.typing import NDArray

from trivium.errors import GuardError
from trivium.needs import cure

TASK = "trivium.data.web.games.clip:encode"
MIME = "video/mp4"
_OPTIONS: dict[str, object] = {"qp": "0", "preset": "superfast", "threads": "1"}
_KEY_EVERY = 24  # frames


class Frames(msgspec.Struct, frozen=True, kw_only=True):
    """PNG files of one size, in order."""

    pictures: list[bytes]
    fps: Annotated[int, Meta(ge=1)]


class Clip(msgspec.Struct, frozen=True, kw_only=True):
    payload: bytes
    width: int
    height: int


def encode(frames: Frames) -> Clip:
    """Raises GuardError with reason `missing` (PyAV is not installed) or `damaged` (a frame is no PNG of its size)."""
    try:
        import av
    except ImportError:
        raise GuardError("missing", f"PyAV is not installed; run: {cure('video')}") from None
    pixels = [_pixels(picture) for picture in frames.pictures]
    height, width = pixels[0].shape[:2]
    if any(one.shape != pixels[0].shape for one in pixels):
        raise GuardError("damaged", "the frames of a clip differ in size")
    out = io.BytesIO()
    # bitexact: no version of the library and no date in the file.
    with av.open(out, "w", format="mp4", options={"fflags": "+bitexact"}) as container:
        stream = container.add_stream("libx264rgb", rate=frames.fps)
        stream.width, stream.height, stream.pix_fmt = width, height, "rgb24"
        stream.options, stream.gop_size = _OPTIONS, _KEY_EVERY
        stream.codec_context.thread_count = 1
        for one in pixels:
            for packet in stream.encode(av.VideoFrame.from_ndarray(one, format="rgb24")):
                container.mux(packet)
        for packet in stream.encode():
            container.mux(packet)
    return Clip(payload=out.getvalue(), width=width, height=height)


def environment() -> str:
    """What decides the bytes: the libraries that encode."""
    import av

    version = ".".join(map(str, av.library_versions["libavcodec"]))
    return f"pyav {av.__version__}, libavcodec {version}"


def _pixels(picture: bytes) -> NDArray[np.uint8]:
    from PIL import Image

    try:
        with Image.open(io.BytesIO(picture), formats=["PNG"]) as opened:
            seen = opened.convert("RGBA") if opened.mode != "RGB" else opened
            if (
                seen.mode == "RGBA" and np.asarray(seen)[..., 3].min() < 255
            ):  # a canvas is clear where nothing was drawn
                paper = Image.new("RGBA", seen.size, "white")
                paper.alpha_composite(seen)
                seen = paper
            return np.asarray(seen.convert("RGB"))
    except Exception as error:  # Pillow raises many kinds
        raise GuardError("damaged", f"a frame is no picture: {str(error)[:100]}") from None
