"""Cameras of POV-Ray scenes, and the words that move things: translate, rotate, scale, matrix."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from trivium.data.scene.pov.cast import Floats
from trivium.data.scene.pov.values import Cursor, UnknownError, Vector


@dataclass(kw_only=True)
class View:
    """The camera as its words give it, before any transform of its own."""

    location_3: Vector
    direction_3: Vector
    right_3: Vector
    up_3: Vector


def _translate(cursor: Cursor) -> Floats:
    moved = np.eye(4)
    moved[:3, 3] = cursor.vector()
    return moved


def _scale(cursor: Cursor) -> Floats:
    factors = cursor.vector()
    if not np.all(factors):
        raise UnknownError("a scale of zero")
    return np.diag([*factors, 1.0])


def rotation(degrees_3: Vector) -> Floats:
    """Around x, then y, then z."""
    turned = np.eye(3)
    for axis, (one, other) in enumerate(((1, 2), (2, 0), (0, 1))):
        cos, sin = np.cos(np.radians(degrees_3[axis])), np.sin(np.radians(degrees_3[axis]))
        step = np.eye(3)
        step[one, one] = step[other, other] = cos
        step[other, one], step[one, other] = sin, -sin
        turned = step @ turned
    return turned


def _rotate(cursor: Cursor) -> Floats:
    turned = np.eye(4)
    turned[:3, :3] = rotation(cursor.vector())
    return turned


def _matrix(cursor: Cursor) -> Floats:
    found = cursor.value()
    if isinstance(found, float) or len(found) != 12:
        raise UnknownError("a matrix of other than twelve numbers")
    whole = np.eye(4)
    whole[:3, :] = found.reshape(4, 3).T
    return whole


MOTIONS: dict[str, Callable[[Cursor], Floats]] = {
    "translate": _translate, "scale": _scale, "rotate": _rotate, "matrix": _matrix
}  # fmt: skip


def camera(cursor: Cursor) -> View | None:
    """The view; None for one that is not followed: other projections, blur, a named camera."""
    view = View(
        location_3=np.zeros(3),
        direction_3=np.array([0, 0, 1.0]),
        right_3=np.array([1.33, 0, 0]),
        up_3=np.array([0, 1.0, 0]),
    )
    sky, angle, target = np.array([0, 1.0, 0]), 0.0, None
    known, motion = True, np.eye(4)
    while not cursor.take("}"):
        word = cursor.next()
        if not word or word.startswith("#"):
            raise UnknownError("a directive inside a camera")
        try:
            if word in ("location", "direction", "right", "up"):
                setattr(view, f"{word}_3", cursor.vector())
            elif word == "sky":
                sky = cursor.vector()
            elif word == "angle":
                angle = cursor.number()
            elif word == "look_at":
                target = cursor.vector()
            elif word in MOTIONS:
                motion = MOTIONS[word](cursor) @ motion
            elif word != "perspective":
                known = False
                if word == "{":
                    cursor.skip_block()
        except UnknownError:
            known = False
    if not known or not 0 <= angle < 180:
        return None
    return _aimed(view, sky, angle, target, motion)


def _aimed(view: View, sky_3: Vector, angle: float, target_3: Vector | None, motion_44: Floats) -> View | None:
    long, right, up = (float(np.linalg.norm(v)) for v in (view.direction_3, view.right_3, view.up_3))
    if angle:
        long = right / 2 / float(np.tan(np.radians(angle) / 2))
        view.direction_3 = view.direction_3 / np.linalg.norm(view.direction_3) * long
    if target_3 is not None:
        toward_3 = target_3 - view.location_3
        across_3 = np.cross(sky_3, toward_3)
        if not np.linalg.norm(toward_3) or not np.linalg.norm(across_3):
            return None
        toward_3, across_3 = toward_3 / np.linalg.norm(toward_3), across_3 / np.linalg.norm(across_3)
        handed = 1.0 if float(np.dot(np.cross(view.up_3, view.direction_3), view.right_3)) >= 0 else -1.0
        view.direction_3, view.right_3 = toward_3 * long, across_3 * right * handed
        view.up_3 = np.cross(toward_3, across_3) * up
    turned_33 = motion_44[:3, :3]
    return View(
        location_3=turned_33 @ view.location_3 + motion_44[:3, 3],
        direction_3=turned_33 @ view.direction_3,
        right_3=turned_33 @ view.right_3,
        up_3=turned_33 @ view.up_3,
    )
