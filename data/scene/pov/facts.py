"""What POV-Ray code says exactly: its objects by kind, their sizes, and where each is seen, by rays of our own.

A scene that is not read whole (loops, conditions, macros, other includes) has no list of parts. One with an object of
unknown form, or with something that can be seen through, has no boxes: something might stand before another thing.
"""

import functools

import numpy as np
from numpy.typing import NDArray

from trivium.data.pairs.facts import Box, Facts, Part
from trivium.data.scene.pov.camera import View
from trivium.data.scene.pov.cast import Floats, TooDeepError, first
from trivium.data.scene.pov.read import Scene, read

WHAT = "a ray-traced scene"
_MOST = 60  # objects that facts list; a scene of more has no list
_ENDLESS = {"plane"}  # a floor has no middle
_VISIBLE = 12  # pixels of an object from which a person sees it
_GRID = 4_000_000  # rays times objects that are followed


@functools.lru_cache(maxsize=4)  # each picture is drawn twice
def facts_of(code: str, width: int, height: int, clock: float = 0.0) -> Facts:
    """Of the picture of these sides."""
    scene = read(code, {"image_width": float(width), "image_height": float(height), "clock": clock})
    if not scene.whole or not scene.things or len(scene.things) > _MOST:
        return Facts(what=WHAT)
    boxes = boxes_of(scene, width, height)
    parts = tuple(
        Part(
            kind=thing.kind,
            text=thing.text,
            color=thing.color.word,
            box=None if boxes is None or thing.kind in _ENDLESS else boxes[number],
            sizes=thing.sizes,
        )
        for number, thing in enumerate(scene.things)
        if boxes is None or boxes[number] is not None
    )
    hidden = len(parts) < len(scene.things)
    sizes = {"number of light sources": float(scene.lights)}
    if hidden:
        sizes["number of objects"] = float(len(scene.things))
    return Facts(what=WHAT, parts=parts, sizes=sizes)


def boxes_of(scene: Scene, width: int, height: int) -> list[Box | None] | None:
    """By object, None for one that is not seen; None for all when that can't be known."""
    seen = seen_by(scene, width, height)
    return None if seen is None else [_box(seen == number) for number in range(len(scene.things))]


def seen_by(scene: Scene, width: int, height: int) -> NDArray[np.int64] | None:
    """[height, width]: the object that the middle of each pixel shows, -1 for none; None when it can't be known."""
    shapes = [thing.shape for thing in scene.things]
    if scene.view is None or any(thing.color.clear for thing in scene.things):
        return None
    if width * height * len(shapes) > _GRID * 4:
        return None
    rays_P3 = _rays(scene.view, width, height)
    nearest_P = np.full(len(rays_P3), np.inf)
    seen_P = np.full(len(rays_P3), -1, np.int64)
    for number, shape in enumerate(shapes):
        if shape is None:
            return None
        try:
            at_P = first(shape, scene.view.location_3, rays_P3)
        except TooDeepError:
            return None
        nearer = at_P < nearest_P
        nearest_P[nearer], seen_P[nearer] = at_P[nearer], number
    return seen_P.reshape(height, width)


def _rays(view: View, width: int, height: int) -> Floats:
    x_W = (np.arange(width) + 0.5) / width - 0.5
    y_H = 0.5 - (np.arange(height) + 0.5) / height
    rays: Floats = view.direction_3 + x_W[None, :, None] * view.right_3 + y_H[:, None, None] * view.up_3
    return rays.reshape(-1, 3)


def _box(mask: NDArray[np.bool_]) -> Box | None:
    if int(mask.sum()) < _VISIBLE:
        return None
    rows, columns = np.flatnonzero(mask.any(1)), np.flatnonzero(mask.any(0))
    return float(columns[0]), float(rows[0]), float(columns[-1] + 1), float(rows[-1] + 1)
