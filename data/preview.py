"""Small pictures of media for people: thumbnails and strips of frames as WebP, made inside a guarded child.

Odd: media are foreign bytes for native decoders, so nothing is decoded here but in the child; whatever happens there,
`Previewer` answers with pictures or with a reason.
"""

import io
from typing import TYPE_CHECKING

import msgspec

from trivium.data.closing import Closing
from trivium.data.guard import Guard, Limits
from trivium.errors import GuardError

if TYPE_CHECKING:
    import PIL.Image

FORMATS = ("PNG", "JPEG", "WEBP", "GIF", "BMP")
MOST_PIXELS = 64_000_000  # a larger picture is named, not decoded
QUALITY = 82  # WebP's
MIB = 1 << 20
LIMITS = Limits(wall_seconds=10, cpu_seconds=10, output_bytes=8 * MIB, scratch_bytes=16 * MIB)


class Ask(msgspec.Struct, frozen=True, kw_only=True):
    """`frames` = 0 asks for a picture's thumbnail, more for so many frames of a clip; `side` in pixels."""

    payload: bytes
    side: int
    frames: int = 0


class Shown(msgspec.Struct, frozen=True, kw_only=True):
    """A WebP picture; `seconds` is a frame's time."""

    webp: bytes
    width: int
    height: int
    seconds: float = 0.0


class Preview(msgspec.Struct, frozen=True, kw_only=True):
    """What there is to see (`shown`), what can't be seen (`fault`), and what else should be known (`notes`).

    Of a clip: `width` and `height` in pixels, `packets` found, `stated` by its header, `seconds` from first to last
    frame, `codec`, and the `decoder` that was believed.
    """

    shown: tuple[Shown, ...] = ()
    fault: str = ""
    notes: tuple[str, ...] = ()
    width: int = 0
    height: int = 0
    packets: int = 0
    stated: int = 0
    seconds: float = 0.0
    codec: str = ""
    decoder: str = ""


class Previewer(Closing):
    """One guarded child for all previews; `with` starts it at the first call and ends it."""

    def __init__(self, limits: Limits = LIMITS) -> None:
        self.guard = Guard("trivium.data.preview:preview", limits)

    def close(self) -> None:
        """Ends the child."""
        self.guard.close()

    def picture(self, payload: bytes, side: int) -> Preview:
        """A thumbnail of at most `side` pixels a side. Raises what a guard raises when no child can be had."""
        return self._ask(Ask(payload=payload, side=side))

    def clip(self, payload: bytes, side: int, frames: int) -> Preview:
        """`frames` frames spread over the clip, each at most `side` pixels a side."""
        return self._ask(Ask(payload=payload, side=side, frames=frames))

    def _ask(self, ask: Ask) -> Preview:
        try:
            return self.guard.call(ask, Preview)
        except GuardError as error:
            return Preview(fault=f"{error.reason}: {error}")


def preview(ask: Ask) -> Preview:
    """The guarded task."""
    return _strip(ask) if ask.frames else _thumbnail(ask)


def _thumbnail(ask: Ask) -> Preview:
    import PIL.Image

    PIL.Image.MAX_IMAGE_PIXELS = None  # our own bound below comes first
    try:
        with PIL.Image.open(io.BytesIO(ask.payload), formats=FORMATS) as opened:
            if opened.width * opened.height > MOST_PIXELS:
                raise GuardError(
                    "too_large", f"{opened.width} × {opened.height} pixels; at most {MOST_PIXELS} are shown"
                )
            small = opened.convert("RGBA")
    except GuardError:
        raise
    except Exception as error:  # Pillow raises many kinds for damaged files
        raise GuardError("damaged", f"can't be decoded ({type(error).__name__})") from None
    small.thumbnail((ask.side, ask.side))
    return Preview(shown=(_webp(small, 0.0),))


def _strip(ask: Ask) -> Preview:
    import PIL.Image

    from trivium.data.video import strip

    found = strip(ask.payload, ask.frames, ask.side)
    shown = tuple(
        _webp(PIL.Image.frombytes("RGB", (frame.width, frame.height), frame.rgb), frame.seconds)
        for frame in found.frames
    )
    return Preview(
        shown=shown,
        notes=found.notes,
        width=found.width,
        height=found.height,
        packets=found.packets,
        stated=found.stated,
        seconds=found.seconds,
        codec=found.codec,
        decoder=found.decoder,
    )


def _webp(picture: "PIL.Image.Image", seconds: float) -> Shown:
    target = io.BytesIO()
    picture.save(target, "WEBP", quality=QUALITY, method=4)
    return Shown(webp=target.getvalue(), width=picture.width, height=picture.height, seconds=seconds)
