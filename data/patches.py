"""Pixels to patches to tokens, by arithmetic alone (spec: K3's released preprocessor; no torch here).

Odd: the released procedure bounds the patches before padding, so a picture 13 pixels wider than a full grid pads past
the limit. Our limit holds after padding, since rows are packed by it; only pictures at that edge differ.
"""

import hashlib
import math
from dataclasses import dataclass

import msgspec
from msgspec import UNSET, UnsetType

from trivium.data.config import Strict

PATCH = 14  # pixels a side of one patch
MERGE = 2  # patches a side that become one token
CELL = PATCH * MERGE  # pixels a side of one token
CHUNK = 4  # frames that are pooled into one grid of tokens (K3's temporal_merge_kernel_size)
MOST_PATCHES = 1 << 21  # of a clip: 1.2 GB of pixels, what one decoding process may hand over


class VideoRules(Strict, frozen=True, kw_only=True):
    """Limits on one clip: `fps` frames a second are looked at, `frames` at most; a frame has up to `frame_patches`
    patches and all of them `patches`.

    8.0, 16 384 and 655 360 are K3's. `frames` is ours, since K3 names none: below 256 patches, 224 × 224 pixels, a
    frame shows little, so a clip longer than 320 s is looked at more seldom instead of smaller still.
    """

    fps: float = 8.0
    frames: int = 2560
    frame_patches: int = 16384
    patches: int = 655360

    def __post_init__(self) -> None:
        if not 0 < self.fps <= 1000:
            raise ValueError(f"fps is {self.fps}; give frames a second, above 0 and at most 1000")
        if self.frames < 1:
            raise ValueError(f"frames is {self.frames}; give at least 1")
        if min(self.frame_patches, self.patches) < MERGE * MERGE or self.patches > MOST_PATCHES:
            raise ValueError(
                f"frame_patches is {self.frame_patches} and patches {self.patches}; one token takes {MERGE * MERGE} "
                f"patches, and a clip may have up to {MOST_PATCHES}"
            )


class PictureRules(Strict, frozen=True, kw_only=True):
    """Limits on one picture: `patch_limit` patches in all, `side_limit` patches a side (K3: 65 536 and 512).

    `video` left out means K3's rules for clips; `clips` has them spelled out. Rules that say the same are equal.
    """

    patch_limit: int = 65536
    side_limit: int = 512
    video: VideoRules | UnsetType = UNSET

    def __post_init__(self) -> None:
        if self.video == VideoRules():
            msgspec.structs.force_setattr(self, "video", UNSET)
        if self.patch_limit < MERGE * MERGE:
            raise ValueError(f"patch_limit is {self.patch_limit}; one token takes {MERGE * MERGE} patches, give more")
        if self.side_limit < MERGE or self.side_limit % MERGE:
            raise ValueError(f"side_limit is {self.side_limit}; give an even number of patches, at least {MERGE}")

    @property
    def clips(self) -> VideoRules:
        """The rules for clips."""
        return VideoRules() if isinstance(self.video, UnsetType) else self.video

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
