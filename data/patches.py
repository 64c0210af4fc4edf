"""Pixels to patches to tokens, by arithmetic alone (spec: K3's released preprocessor; no torch here).

Odd: the released procedure bounds the patches before padding, so a picture 13 pixels wider than a full grid pads past
the limit. Our limit holds after padding, since rows are packed by it; only pictures at that edge differ.
"""

import hashlib
import math
from dataclasses import dataclass

import msgspec

from trivium.data.config import Strict

PATCH = 14  # pixels a side of one patch
MERGE = 2  # patches a side that become one token
CELL = PATCH * MERGE  # pixels a side of one token


class PictureRules(Strict, frozen=True, kw_only=True):
    """Limits on one picture: `patch_limit` patches in all, `side_limit` patches a side (K3: 65 536 and 512)."""

    patch_limit: int = 65536
    side_limit: int = 512

    def __post_init__(self) -> None:
        if self.patch_limit < MERGE * MERGE:
            raise ValueError(f"patch_limit is {self.patch_limit}; one token takes {MERGE * MERGE} patches, give more")
        if self.side_limit < MERGE or self.side_limit % MERGE:
            raise ValueError(f"side_limit is {self.side_limit}; give an even number of patches, at least {MERGE}")

    def digest(self) -> str:
        """sha256 over the arithmetic's constants and these limits; sets of different digests never mix."""
        built = {"patch": PATCH, "merge": MERGE, "procedure": 1, **msgspec.to_builtins(self)}
        return hashlib.sha256(msgspec.json.encode(built, order="sorted")).hexdigest()


@dataclass(frozen=True, slots=True)
class Fit:
    """What becomes of a picture: resized size and padded size in pixels, grid in patches, patches and tokens."""

    width: int
    height: int
    padded_width: int
    padded_height: int
    grid_w: int
    grid_h: int
    patches: int
    tokens: int


def fit(width: int, height: int, rules: PictureRules) -> Fit:
    """The size at which a picture of `width` × `height` pixels is shown; never larger than it is (spec 6.2)."""
    if width < 1 or height < 1:
        raise ValueError(f"a picture of {width} × {height} pixels; both sides must be at least 1")
    longest = rules.side_limit * PATCH
    area = max(1, width // PATCH) * max(1, height // PATCH)
    scale = min(1.0, math.sqrt(rules.patch_limit / area), longest / width, longest / height)
    new = _fitted(_scaled(width, scale, longest), _scaled(height, scale, longest))
    if new.patches <= rules.patch_limit:
        return new
    return _largest(new.width, new.height, rules.patch_limit)


def _scaled(pixels: int, scale: float, longest: int) -> int:
    return min(max(1, math.floor(pixels * scale)), longest)


def _fitted(width: int, height: int) -> Fit:
    across, down = -(-width // CELL), -(-height // CELL)
    return Fit(
        width=width,
        height=height,
        padded_width=across * CELL,
        padded_height=down * CELL,
        grid_w=across * MERGE,
        grid_h=down * MERGE,
        patches=across * down * MERGE * MERGE,
        tokens=across * down,
    )


def _largest(width: int, height: int, patch_limit: int) -> Fit:
    """The largest size of this aspect whose padded grid holds the limit, by bisection over the longer side."""
    longer = max(width, height)

    def at(side: int) -> Fit:
        return _fitted(max(1, width * side // longer), max(1, height * side // longer))

    low, high = 1, longer  # at(low) holds the limit, at(high) doesn't
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if at(middle).patches <= patch_limit else (low, middle)
    return at(low)
