"""Opening a clip with PyAV: only containers that hold their own frames, only sizes that can be decoded."""

import io
from typing import TYPE_CHECKING

from trivium.errors import GuardError
from trivium.needs import cure

if TYPE_CHECKING:
    import av
    from av.video.stream import VideoStream

MOST_PIXELS = 8192 * 8192  # a frame
# A playlist would make FFmpeg open other files; only containers that hold their own frames are read.
CONTAINERS = "mov,mp4,m4a,3gp,3g2,mj2,matroska,webm,avi"


def open_clip(payload: bytes) -> "tuple[av.container.InputContainer, VideoStream]":
    """The container and its first video stream, which decodes in this thread and stops at the first error.

    Raises GuardError with reason `missing` (PyAV is not installed), `no_video`, `too_large` or `damaged`.
    """
    try:
        import av
    except ImportError:
        raise GuardError("missing", f"PyAV is not installed; run: {cure('video')}") from None
    try:
        container = av.open(
            io.BytesIO(payload), "r", metadata_errors="replace", options={"format_whitelist": CONTAINERS}
        )
    except (av.FFmpegError, ValueError) as error:
        raise GuardError("damaged", f"no clip that can be opened: {words(error)}") from None
    if not container.streams.video:
        raise GuardError("no_video", "the file holds no video stream")
    stream = container.streams.video[0]
    if stream.codec_context is None:
        raise GuardError("no_video", "no decoder knows the video stream")
    stream.thread_type = "NONE"
    stream.codec_context.options = {"err_detect": "explode"}  # an error, not a smear
    return container, stream


def check_size(width: int, height: int) -> None:
    """Raises GuardError with reason `too_large`."""
    if not 0 < width * height <= MOST_PIXELS:
        raise GuardError("too_large", f"frames of {width} × {height} pixels; at most {MOST_PIXELS} pixels are decoded")


def words(error: Exception) -> str:
    """What FFmpeg says, one short line."""
    text = getattr(error, "strerror", None) or str(error)
    return " ".join(text.split())[:160]
