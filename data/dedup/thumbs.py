"""The guarded side of picture_dedup: pictures and clips to thumbnails; imported only inside a guarded child."""

# H height, W width, V pictures

import numpy as np
import numpy.typing as npt
from PIL import Image

from trivium.data.dedup.pictures import COLOR, GREY, Shown, Thumbs
from trivium.data.pairs.pixels import decode
from trivium.data.records import Image as Picture

FRAMES = 4  # of a clip, evenly spread
_WHITE = (255, 255, 255)

Bytes = npt.NDArray[np.uint8]


def thumbnails(shown: list[Shown]) -> Thumbs:
    """The guarded task. Raises GuardError for what can't be decoded."""
    frames = [frame for one in shown for frame in _frames(one)]
    found = b"".join(thumb(frame).tobytes() for frame in frames)
    return Thumbs(thumbs=found, sizes=[(frame.shape[1], frame.shape[0]) for frame in frames])


def thumb(pixels_HW3: Bytes) -> Bytes:
    """[VIEW]: GREY x GREY luma, then COLOR x COLOR RGB, each cell the mean of what it covers."""
    picture = Image.fromarray(pixels_HW3)
    grey = picture.convert("L").resize((GREY, GREY), Image.Resampling.BOX)
    color = picture.resize((COLOR, COLOR), Image.Resampling.BOX)
    return np.concatenate((np.asarray(grey).ravel(), np.asarray(color).ravel()))


def _frames(one: Shown) -> list[Bytes]:
    stated = one.stated
    if isinstance(stated, Picture):
        return [decode(one.payload, _WHITE, 2 * stated.width * stated.height)]
    from trivium.data.video import frames_at

    times = [number * (stated.frames - 1) // (FRAMES - 1) / stated.fps for number in range(FRAMES)]
    return list(frames_at(one.payload, times, stated))
