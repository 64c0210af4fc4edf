"""All that decides a clip beside the page's code: the window, the clock's frames, chance, and what a player does."""

from typing import Annotated, Literal

import msgspec
from msgspec import Meta

from trivium.data.config import Strict

Milliseconds = Annotated[int, Meta(ge=0, le=600_000)]
Pixels = Annotated[int, Meta(ge=0, le=4096)]


class Input(Strict, frozen=True, kw_only=True, omit_defaults=True):
    """One act at a virtual time: a key goes down (`press`) or up (`release`), the mouse moves or its button does."""

    at: Milliseconds
    act: Literal["press", "release", "move", "down", "up"]
    key: str = ""  # as KeyboardEvent.key names it
    x: Pixels = 0
    y: Pixels = 0


class GameSettings(Strict, frozen=True, kw_only=True):
    """`frames` pictures, `fps` in a second of virtual time, the first one after `skip` milliseconds.

    `main`: the path that the code itself has among its files. `capture`: the window as a person sees it, or the pixels
    of the page's first canvas, which is faster and the same where the canvas is the page.
    """

    main: str = "index.html"
    width: Annotated[int, Meta(ge=16, le=2048)] = 320
    height: Annotated[int, Meta(ge=16, le=2048)] = 240
    seed: Annotated[int, Meta(ge=0, lt=1 << 31)] = 0
    skip: Milliseconds = 125
    fps: Annotated[int, Meta(ge=1, le=60)] = 8
    frames: Annotated[int, Meta(ge=2, le=600)] = 24
    capture: Literal["canvas", "window"] = "window"
    inputs: tuple[Input, ...] = ()

    @property
    def times(self) -> list[float]:
        """When each frame is taken, in virtual milliseconds."""
        return [self.skip + number * 1000 / self.fps for number in range(self.frames)]

    def canonical(self) -> str:
        """Equal settings give equal text."""
        return msgspec.json.encode(self, order="sorted").decode()
