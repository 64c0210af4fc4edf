"""What the sanitiser lets through, and the refusal that it raises."""

from typing import Annotated, Literal

from msgspec import Meta

from trivium.data.config import Strict

Count = Annotated[int, Meta(ge=1)]


class SvgPolicy(Strict, frozen=True, kw_only=True):
    """Limits and choices; sizes in bytes, coordinates in user units.

    `active` decides about scripts, event handlers, foreignObject and animation, `external` about references that leave
    the file: `reject` refuses the file, `drop` takes only the offending part away.
    """

    max_bytes: Count = 1 << 20  # after inflating
    max_elements: Count = 20_000  # of one file
    max_depth: Annotated[int, Meta(ge=1, le=256)] = 256  # nested elements
    max_expansion: Count = 10_000  # elements that use, pattern, marker, mask and clip-path add when followed
    max_side: Count = 100_000  # of the viewBox
    max_image_bytes: Annotated[int, Meta(ge=0)] = 16 << 10  # an embedded PNG or JPEG; 0 refuses all
    decimals: Annotated[int, Meta(ge=0, le=6)] = 2  # of coordinates on a canvas of 16 to 160 units; others by size
    active: Literal["reject", "drop"] = "reject"
    external: Literal["reject", "drop"] = "reject"
    text: bool = False  # text is drawn with the machine's fonts, so a file with text is refused unless asked for


class SvgRefusedError(Exception):
    """The sanitiser will not have this file; `reason` is a short code, `detail` one line for people."""

    def __init__(self, reason: str, detail: str) -> None:
        super().__init__(f"{reason}: {detail}")
        self.reason = reason
        self.detail = detail[:200]
