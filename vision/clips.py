"""A clip's bytes to the uint8 patches of the frames that its record plans, for guarded worker processes.

N patches of all frames, frame after frame, C = 588 numbers a patch.
"""

import msgspec
import numpy as np

from trivium.data.patches import PictureRules
from trivium.data.records import Video
from trivium.data.video import frames_at, plan
from trivium.errors import GuardError
from trivium.vision.pixels import CHANNELS, PATCH, Bytes, frame_patches


class ClipRequest(msgspec.Struct, frozen=True):
    """One clip and what its record states of it, as they cross to a worker process."""

    payload: bytes
    stated: Video
    rules: PictureRules


class ClipReply(msgspec.Struct, frozen=True):
    """uint8 patches [N, 588] in one piece."""

    patches: memoryview


def decode_clip(request: ClipRequest) -> ClipReply:
    """The guarded task.

    Raises GuardError with reason `clip` when the clip does not decode to its end, `record` when it is not what its
    record states, `missing` when PyAV is not installed.
    """
    try:
        return ClipReply(memoryview(clip_patches(request.payload, request.stated, request.rules)).cast("B"))
    except GuardError as error:
        if error.reason in ("missing", "record"):
            raise
        raise GuardError("clip", str(error)) from None


def clip_patches(payload: bytes, stated: Video, rules: PictureRules) -> Bytes:
    """uint8 [N, 588] of the planned frames. Raises GuardError as `frames_at` does, InputError as `plan` does."""
    planned = plan(stated, rules)
    size = planned.fit
    patches = np.empty((len(planned.places), size.patches, CHANNELS * PATCH * PATCH), dtype=np.uint8)
    for number, pixels in enumerate(frames_at(payload, planned.seconds, stated)):
        patches[number] = frame_patches(pixels, size)
    return patches.reshape(planned.patches, -1)
