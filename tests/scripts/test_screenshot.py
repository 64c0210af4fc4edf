"""Pictures for the documentation keep their bound: colours go first, then size, and never silently more than that."""

import io
import runpy
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

SCRIPT = runpy.run_path(str(Path(__file__).parents[2] / "scripts" / "screenshot.py"))
fitted = SCRIPT["fitted"]


def encoded(pixels: np.ndarray) -> bytes:
    target = io.BytesIO()
    Image.fromarray(pixels).save(target, "PNG")
    return target.getvalue()


def test_a_picture_loses_colours_and_then_size_until_it_fits():
    noise = encoded(np.random.default_rng(1).integers(0, 256, (120, 160, 3), dtype=np.uint8))
    flat = encoded(np.full((120, 160, 3), 200, dtype=np.uint8))
    whole = Image.open(io.BytesIO(fitted(flat, 3000)))
    assert (whole.mode, whole.size) == ("RGB", (160, 120))
    fewer = fitted(noise, 25_000)
    assert (Image.open(io.BytesIO(fewer)).mode, Image.open(io.BytesIO(fewer)).size) == ("P", (160, 120))
    smaller = fitted(noise, 9_000)
    assert Image.open(io.BytesIO(smaller)).width < 160
    assert len(fewer) <= 25_000
    assert len(smaller) <= 9_000
    with pytest.raises(SystemExit, match="no picture of this page fits in 100 bytes"):
        fitted(noise, 100)
