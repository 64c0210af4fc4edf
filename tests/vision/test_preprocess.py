"""Picture bytes to patches: sizes, padding, transparency, hostile input."""

import hashlib
import io
from pathlib import Path

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from PIL import Image

from trivium.data.patches import PictureRules, fit
from trivium.data.records import Video
from trivium.errors import InputError
from trivium.vision.clips import clip_patches
from trivium.vision.pixels import cut_bytes, frame_patches
from trivium.vision.preprocess import load_patches, normalise

RULES = PictureRules()


def encoded(picture: Image.Image, kind: str = "PNG") -> bytes:
    buffer = io.BytesIO()
    picture.save(buffer, kind)
    return buffer.getvalue()


def rebuilt(patches_NC: torch.Tensor, rows: int, columns: int) -> np.ndarray:
    """Patches back to pixels in 0…255, an independent way round: one patch after another."""
    pixels = np.zeros((rows * 14, columns * 14, 3))
    for index, patch in enumerate(patches_NC):
        row, column = divmod(index, columns)
        block = patch.view(3, 14, 14).permute(1, 2, 0).numpy()
        pixels[row * 14 : row * 14 + 14, column * 14 : column * 14 + 14] = (block * 0.5 + 0.5) * 255
    return pixels


@settings(max_examples=20, deadline=None)
@given(width=st.integers(1, 90), height=st.integers(1, 90), seed=st.integers(0, 9))
def test_small_pictures_keep_every_pixel_and_pad_right_and_below(width, height, seed):
    pixels = np.random.default_rng(seed).integers(0, 256, (height, width, 3), dtype=np.uint8)
    found = load_patches(encoded(Image.fromarray(pixels)), RULES)
    frames, rows, columns = found.grid
    whole = rebuilt(found.patches_NC, rows, columns)
    assert frames == 1
    assert found.patches_NC.shape == (rows * columns, 588)
    np.testing.assert_allclose(whole[:height, :width], pixels, atol=1e-3)
    assert np.abs(whole[height:]).max(initial=0) < 1e-3
    assert np.abs(whole[:, width:]).max(initial=0) < 1e-3


def test_large_pictures_shrink_to_the_rules():
    rules = PictureRules(patch_limit=64, side_limit=512)
    found = load_patches(encoded(Image.new("RGB", (640, 480), (10, 20, 30))), rules)
    assert found.fit == fit(640, 480, rules)
    assert found.patches_NC.shape[0] == found.fit.patches <= 64
    inside = rebuilt(found.patches_NC, *found.grid[1:])[: found.fit.height, : found.fit.width]
    np.testing.assert_allclose(inside, np.broadcast_to([10, 20, 30], inside.shape), atol=1e-3)


def test_transparency_shows_the_chessboard_at_the_resized_scale():
    clear = Image.new("RGBA", (28, 28), (255, 0, 0, 0))
    pixels = rebuilt(load_patches(encoded(clear), RULES).patches_NC, 2, 2)
    assert pixels[0, 0] == pytest.approx([255] * 3, abs=1e-3)
    assert pixels[0, 8] == pytest.approx([180] * 3, abs=1e-3)
    assert pixels[8, 8] == pytest.approx([255] * 3, abs=1e-3)
    half = Image.new("RGBA", (28, 28), (0, 0, 255, 128))
    pixels = rebuilt(load_patches(encoded(half), RULES).patches_NC, 2, 2)
    assert pixels[0, 0] == pytest.approx([127, 127, 255], abs=1.1)
    assert pixels[0, 8] == pytest.approx([90, 90, 218], abs=1.1)
    shrunk = load_patches(encoded(clear.resize((280, 280))), PictureRules(patch_limit=4))
    pixels = rebuilt(shrunk.patches_NC, 2, 2)
    assert pixels[0, 8] == pytest.approx([180] * 3, abs=1e-3)


@pytest.mark.parametrize("mode", ["L", "LA", "P", "1", "CMYK", "I;16", "RGBA"])
def test_every_mode_becomes_rgb(mode):
    kind = "TIFF" if mode == "CMYK" else "PNG"
    found = load_patches(encoded(Image.new(mode, (30, 20)), kind), RULES)
    assert found.grid == (1, 2, 4)
    assert torch.isfinite(found.patches_NC).all()
    assert found.patches_NC.abs().max() <= 1


def test_deep_greys_scale_instead_of_clipping():
    ramp = np.full((28, 28), 32896, dtype=np.uint16)
    pixels = rebuilt(load_patches(encoded(Image.fromarray(ramp)), RULES).patches_NC, 2, 2)
    assert pixels == pytest.approx(np.full((28, 28, 3), 128), abs=1e-3)


def test_damaged_bytes_are_refused_by_one_error():
    whole = encoded(Image.fromarray(np.random.default_rng(0).integers(0, 255, (64, 64, 3), dtype=np.uint8)))
    for payload in (b"", b"no picture", whole[: len(whole) // 2], b"\x89PNG\r\n\x1a\n" + bytes(40)):
        with pytest.raises(InputError, match=r"can't be decoded|not a picture in a format"):
            load_patches(payload, RULES)


def test_a_bomb_is_refused_before_it_is_decoded():
    bomb = encoded(Image.new("1", (30000, 30000)))
    assert len(bomb) < 200_000
    with pytest.raises(InputError, match=r"30000x30000|too large"):
        load_patches(bomb, RULES)
    with pytest.raises(InputError, match="40x40 pixels; at most 1,000"):
        load_patches(encoded(Image.new("RGB", (40, 40))), RULES, max_pixels=1000)


def test_patches_are_channel_then_row_then_column():
    pixels_HW3 = torch.arange(28 * 28 * 3, dtype=torch.int64).remainder(251).to(torch.uint8).view(28, 28, 3)
    patches_NC = normalise(cut_bytes(pixels_HW3.numpy()))
    level = float(pixels_HW3[14 + 3, 5, 1])
    assert patches_NC[2].view(3, 14, 14)[1, 3, 5].item() == pytest.approx((level / 255 - 0.5) / 0.5)


def test_frames_are_cut_as_pictures_are():
    pixels = np.random.default_rng(3).integers(0, 256, (90, 130, 3), dtype=np.uint8)
    for rules in (RULES, PictureRules(patch_limit=24)):
        size = fit(130, 90, rules)
        found = load_patches(encoded(Image.fromarray(pixels)), rules)
        assert torch.equal(normalise(frame_patches(pixels, size)), found.patches_NC)


def test_a_clip_gives_the_patches_on_record():
    """VP9 (made here with libvpx), whose every bit is laid down: another digest means another FFmpeg arithmetic."""
    payload = (Path(__file__).parents[1] / "golden" / "clip.webm").read_bytes()
    stated = Video(media="v0.webm", width=64, height=48, mime="video/webm", frames=12, fps=25.0)
    patches = clip_patches(payload, stated, RULES)
    assert patches.shape == (4 * 4 * 6, 588)
    assert hashlib.sha256(patches).hexdigest() == "0d1676eecd348bf2947d0d9ee9a28e421d69d649f5c7d85b48f124f72e1d8f84"
