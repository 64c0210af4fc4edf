"""What a page is drawn on, and what one visit may use."""

from typing import Annotated

from msgspec import Meta

from trivium.data.config import Strict
from trivium.data.guard.limits import MIB, Limits

Side = Annotated[int, Meta(ge=16, le=4096)]
# A browser is a tree of processes; the clock is one visit's. The sum of what they map is about 1 GiB before anything is
# drawn, and only above the limit are shared pages counted once, which takes long.
BROWSER_LIMITS = Limits(
    wall_seconds=60.0,
    start_seconds=180.0,
    memory_bytes=2560 * MIB,
    scratch_bytes=256 * MIB,
    output_bytes=128 * MIB,
    processes=24,
    threads=400,
    open_files=1024,
    files=5000,
)


class Screen(Strict, frozen=True, kw_only=True):
    """A window of `width` × `height` CSS pixels, each `scale` pixels of the picture a side.

    `scripts`: the page's own scripts run, in a browser process of their own, with chance from `seed` and a clock that
    stands still (2025-01-01) until it is told to run. Without, nothing of the page is executed. `prelude` is a script
    that brings clock and chance of its own instead, before anything of the page; such a page may move. `kept`: pages
    that nobody else wrote follow each other in one tab although their scripts run.
    """

    width: Side = 1280
    height: Side = 800
    scale: Annotated[float, Meta(ge=0.25, le=4)] = 1.0
    mobile: bool = False  # a phone: the viewport that the page asks for, touch
    dark: bool = False  # prefers-color-scheme
    scripts: bool = False
    seed: Annotated[int, Meta(ge=0, lt=1 << 31)] = 0
    prelude: str = ""
    kept: bool = False
