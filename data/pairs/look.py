"""What a drawn picture or clip looks like: canonical bytes, how much is drawn, its colours, its hash; and a judgement.

Odd: engines run strangers' code, so what they give is not trusted either: it is decoded in a guarded child only.
"""

from typing import Annotated

import msgspec
from msgspec import Meta

from trivium.data.closing import Opening
from trivium.data.config import Strict
from trivium.data.guard import Guard, Limits

TASK = "trivium.data.pairs.pixels:examine"
MIB = 1 << 20
# A page of 1280 × 30 000 pixels is 38 million; its copies need about 16 bytes a pixel.
LIMITS = Limits(wall_seconds=60, cpu_seconds=60, memory_bytes=2048 * MIB, output_bytes=256 * MIB)

Share = Annotated[float, Meta(ge=0, le=1)]
Color = tuple[int, int, int]  # red, green, blue, 0 to 255


class LookRules(Strict, kw_only=True):
    """When a picture is refused. Shares are of its pixels; a pixel is *ink* when a channel of it is 8 or more levels
    from the background's.
    """

    min_ink: Share = 0.002  # less is `blank`
    min_spread: Annotated[int, Meta(ge=1, le=255)] = 8  # levels between all pixels of a channel; less: `one_colour`
    max_flat: Share = 0.998  # share of the commonest colour; more is `one_colour`
    min_detail: Share = 0.0  # pixels unlike the one before or above; less is `plain`: large areas, little on them
    max_edge_ink: Share = 1.0  # ink on the outermost ring; more is `clipped`. Where a margin is drawn: 0
    min_motion: Share = 0.0005  # clips: share of pixels that change from one sampled frame to another; less is `still`
    min_side: Annotated[int, Meta(ge=1)] = 8  # pixels; a picture with a shorter side is `too_small`
    max_pixels: Annotated[int, Meta(ge=1, le=64_000_000)] = 40_000_000  # of a picture, or of a clip's frame


class Ask(msgspec.Struct, frozen=True, kw_only=True):
    """`background` None: the commonest colour of the outermost ring. `beside`: what it is compared with."""

    payload: bytes
    clip: bool
    background: Color | None
    max_pixels: int
    beside: bytes = b""


class Look(msgspec.Struct, frozen=True, kw_only=True):
    """`png`: opaque RGB; of a clip its first frame, and what is measured is measured on eight frames (most ink and
    detail, least of the commonest colour, least ink on the ring). Equal `pixels` (sha256, all frames of a clip) is the
    same picture.
    """

    png: bytes
    width: int
    height: int
    ink: float
    spread: int
    flat: float
    detail: float  # share of pixels that are visibly unlike the one before or above
    edge_ink: float
    background: str  # #rrggbb
    colors: dict[str, float]  # share by #rrggbb, largest first, at most 16 of at least 0.001; of a clip's first frame
    phash: str  # 64-bit pHash, 16 hex digits; of a clip's middle frame
    pixels: str
    frames: int = 0  # of a clip, counted by decoding
    fps: float = 0.0
    motion: float = 1.0  # largest share of pixels that change between two neighbours of the sampled frames
    unlike: float = 1.0  # share of pixels that differ visibly from what it was compared with; of a clip's frames, most
    contrast: float = 1.0  # largest mean difference of a 16 × 16 square from what it was compared with, of all levels


class Looker(Opening):
    """One guarded child that decodes pictures and clips; `open` starts it at once, `look` at the first call."""

    def __init__(self, limits: Limits = LIMITS, *, max_pixels: int = 40_000_000) -> None:
        self._guard = Guard(TASK, limits)
        self._max_pixels = max_pixels

    def open(self) -> None:
        """Raises what a guard raises when no child can be had."""
        self._guard.start()

    def close(self) -> None:
        self._guard.close()

    def look(self, payload: bytes, background: Color | None = None, *, clip: bool = False, beside: bytes = b"") -> Look:
        """`beside`: another picture or clip to compare it with. Raises GuardError: `damaged`, `too_large`, or a guard's
        own reasons.
        """
        ask = Ask(payload=payload, clip=clip, background=background, max_pixels=self._max_pixels, beside=beside)
        return self._guard.call(ask, Look)


def judge(look: Look, rules: LookRules) -> tuple[str, str] | None:
    """The reason and the detail of a refusal; None: the picture is fit to learn from."""
    if min(look.width, look.height) < rules.min_side:
        return "too_small", f"{look.width} × {look.height} pixels; the shorter side must have {rules.min_side}"
    if look.spread < rules.min_spread:
        return "one_colour", f"all pixels lie within {look.spread} levels of each other, {rules.min_spread} are needed"
    if look.ink < rules.min_ink:
        return "blank", f"{look.ink:.3%} of the picture is drawn on, {rules.min_ink:.3%} is needed"
    if look.flat > rules.max_flat:
        return "one_colour", f"{look.flat:.3%} of the pixels have one colour, at most {rules.max_flat:.3%} may"
    if look.detail < rules.min_detail:
        what = f"{look.detail:.3%} of the pixels differ from the one before or above, {rules.min_detail:.3%} must"
        return "plain", f"{what}: areas of one colour, with hardly anything on them"
    if look.edge_ink > rules.max_edge_ink:
        return "clipped", f"{look.edge_ink:.1%} of the outermost ring is drawn on, at most {rules.max_edge_ink:.1%} may"
    if look.motion < rules.min_motion:
        return "still", f"at most {look.motion:.3%} of the pixels change between frames, {rules.min_motion:.3%} must"
    return None
