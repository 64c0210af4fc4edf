"""Which frames of a clip are looked at, when, and how large: a pure function of its record, nothing is decoded.

Sourced (the released Kimi processors; K3's limits): one frame in `fps / min(8, fps)`, n = max(round(that), 1) of them,
at the places round(k · (frames − 1) / (n − 1)) from the first frame to the last; a frame's patches are at most
min(round(655 360 / n), 16 384); four frames make one grid, named by the time of its first frame, place / fps, cut to
milliseconds. Chosen: a limit on n (see `VideoRules`), 655 360 / n cut and not rounded (then it holds for the sum), ties
of a place going up, and what the record's two figures mean: `frames` are those that decode, `fps` is their number over
the clip's length. So where the rate varies a place is a time, and the frame that stands at that time is taken
(`decode`).
"""

import math
from dataclasses import dataclass

from trivium.data.patches import CHUNK, MERGE, Fit, PictureRules, fit
from trivium.data.records import Document, Image, Video
from trivium.errors import InputError

MOST_SECONDS = 360_000  # hours have two digits in a timestamp


@dataclass(frozen=True, slots=True)
class ClipPlan:
    """`places` of the frames (numbers of frames of equal length), which all have the size `fit`."""

    places: tuple[int, ...]
    fps: float
    fit: Fit

    @property
    def seconds(self) -> tuple[float, ...]:
        """Times after the clip's beginning."""
        return tuple(place / self.fps for place in self.places)

    @property
    def grids(self) -> tuple[tuple[int, int, int], ...]:
        """(frames, rows, columns) of each chunk, in patches."""
        count = len(self.places)
        return tuple((min(CHUNK, count - at), self.fit.grid_h, self.fit.grid_w) for at in range(0, count, CHUNK))

    @property
    def timestamps(self) -> tuple[str, ...]:
        """The time of each chunk's first frame."""
        return tuple(timestamp(place * 1000 / self.fps) for place in self.places[::CHUNK])

    @property
    def patches(self) -> int:
        """Patches of all frames."""
        return len(self.places) * self.fit.patches

    @property
    def tokens(self) -> int:
        """Media tokens: a chunk's frames share theirs."""
        return -(-len(self.places) // CHUNK) * self.fit.tokens


def plan(clip: Video, rules: PictureRules) -> ClipPlan:
    """The frames of one clip. Raises InputError when the record's figures can't be those of a clip."""
    if not (clip.frames >= 1 and min(clip.width, clip.height) >= 1 and 0 < clip.fps < math.inf):
        raise InputError(
            f"segment {clip.media} states a clip of {clip.frames} frames of {clip.width} × {clip.height} pixels, "
            f"{clip.fps} a second; measure it (trivium.data.video.measure) or leave it out"
        )
    if clip.frames / clip.fps >= MOST_SECONDS:
        raise InputError(
            f"segment {clip.media} states {clip.frames} frames, {clip.fps} a second; clips are shorter than "
            f"{MOST_SECONDS // 3600} hours: measure it (trivium.data.video.measure) or leave it out"
        )
    limits = rules.clips
    wanted = round(clip.frames * min(limits.fps, clip.fps) / clip.fps)
    count = max(1, min(wanted, clip.frames, limits.frames, limits.patches // (MERGE * MERGE)))
    per_frame = min(limits.patches // count, limits.frame_patches)
    size = fit(clip.width, clip.height, PictureRules(patch_limit=per_frame, side_limit=rules.side_limit))
    return ClipPlan(even_places(clip.frames, count), clip.fps, size)


def even_places(frames: int, count: int) -> tuple[int, ...]:
    """`count` of the places 0 … frames − 1, the first and the last among them, evenly; one place is the first."""
    if count == 1:
        return (0,)
    gaps = count - 1
    return tuple((2 * k * (frames - 1) + gaps) // (2 * gaps) for k in range(count))


def timestamp(milliseconds: float) -> str:
    """`hh:mm:ss.fff`, cut to whole milliseconds."""
    seconds, thousandths = divmod(int(round(milliseconds, 6)), 1000)  # 1000.9999999999999 is 1001
    minutes, seconds = divmod(seconds, 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours:02}:{minutes:02}:{seconds:02}.{thousandths:03}"


def media_cost(document: Document, rules: PictureRules) -> tuple[int, int]:
    """(patches, media tokens) of all pictures and clips of a document. Raises InputError as `plan` does."""
    patches = tokens = 0
    for segment in document.segments:
        if isinstance(segment, Image):
            size = fit(segment.width, segment.height, rules)
            patches, tokens = patches + size.patches, tokens + size.tokens
        elif isinstance(segment, Video):
            planned = plan(segment, rules)
            patches, tokens = patches + planned.patches, tokens + planned.tokens
    return patches, tokens
