"""Clips without loss, in equal bytes."""

import io

import av
import numpy as np
import pytest
from PIL import Image

from trivium.data.video import measure
from trivium.data.web.games.clip import Frames, encode
from trivium.errors import GuardError


def png(pixels: np.ndarray) -> bytes:
    out = io.BytesIO()
    Image.fromarray(pixels).save(out, "PNG")
    return out.getvalue()


def test_every_pixel_comes_back_and_equal_frames_give_equal_bytes() -> None:
    dice = np.random.default_rng(1)
    pixels = [dice.integers(0, 256, (33, 47, 3), dtype=np.uint8) for _ in range(30)]
    frames = Frames(pictures=[png(one) for one in pixels], fps=8)
    clip = encode(frames)
    assert encode(frames).payload == clip.payload
    with av.open(io.BytesIO(clip.payload)) as opened:
        back = [frame.to_ndarray(format="rgb24") for frame in opened.decode(video=0)]
    assert len(back) == 30
    assert all((a == b).all() for a, b in zip(pixels, back, strict=True))
    found = measure(clip.payload)
    assert (found.width, found.height, found.frames, found.fps) == (47, 33, 30, 8.0)
    assert (clip.width, clip.height) == (47, 33)


def test_clear_canvases_are_white_and_what_is_no_frame_is_refused() -> None:
    clear = png(np.zeros((20, 20, 4), dtype=np.uint8))
    with av.open(io.BytesIO(encode(Frames(pictures=[clear, clear], fps=8)).payload)) as opened:
        assert all((frame.to_ndarray(format="rgb24") == 255).all() for frame in opened.decode(video=0))
    other = png(np.zeros((20, 21, 3), dtype=np.uint8))
    for pictures in ([clear, other], [clear, b"GIF89a"], [clear[:40]]):
        with pytest.raises(GuardError) as refused:
            encode(Frames(pictures=pictures, fps=8))
        assert refused.value.reason == "damaged"
