"""Rays against solids in numpy: what each pixel of a POV-Ray picture shows, exactly, at the pixels' centres.

Odd: a solid is known along a ray as stretches [in, out] of distance, so that unions, intersections and differences are
set operations on stretches; a missing one is [inf, inf].
"""

# P rays, K stretches of a ray, S solids

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from trivium.data.scene.pov.values import Vector

Floats = NDArray[np.float64]
_NEAR = 1e-6
_MOST = 40  # stretches of one solid along one ray; more is beyond what is read here


class TooDeepError(Exception):
    """A solid of more pieces than are followed."""


@dataclass(frozen=True, kw_only=True)
class Shape:
    """`kind` sphere, box, cone (a cylinder is one), torus, plane, or union, intersection, difference with `parts`.

    `numbers` as POV-Ray takes them. `inverse_44`: from the scene to the shape's own frame.
    """

    kind: str
    numbers: tuple[Vector, ...] = ()
    parts: "tuple[Shape, ...]" = ()
    inverse_44: Floats = field(default_factory=lambda: np.eye(4))


def stretches(shape: Shape, start_3: Vector, rays_P3: Floats) -> tuple[Floats, Floats]:
    """[P, K] distances where each ray enters and leaves, in lengths of the ray's own vector. Raises TooDeepError."""
    start_3 = shape.inverse_44[:3, :3] @ start_3 + shape.inverse_44[:3, 3]
    rays_P3 = rays_P3 @ shape.inverse_44[:3, :3].T
    if shape.parts:
        into, out = stretches(shape.parts[0], start_3, rays_P3)
        for part in shape.parts[1:]:
            into, out = _combined(shape.kind, (into, out), stretches(part, start_3, rays_P3))
        return into, out
    with np.errstate(divide="ignore", invalid="ignore"):
        into, out = _PRIMITIVES[shape.kind](shape.numbers, start_3, rays_P3)
    missed = ~(into < out)
    return np.where(missed, np.inf, into), np.where(missed, np.inf, out)


def first(shape: Shape, start_3: Vector, rays_P3: Floats) -> Floats:
    """[P]: where each ray first meets the surface in front of the camera; inf when it does not."""
    into, out = stretches(shape, start_3, rays_P3)
    edges = np.concatenate([into, out], axis=1)
    found: Floats = np.where(edges > _NEAR, edges, np.inf).min(1)
    return found


def _combined(kind: str, first: tuple[Floats, Floats], second: tuple[Floats, Floats]) -> tuple[Floats, Floats]:
    edges = np.sort(np.concatenate([*first, *second], axis=1), axis=1)
    low, high = edges[:, :-1], edges[:, 1:]
    with np.errstate(invalid="ignore"):
        middle = np.where(
            np.isfinite(low) & np.isfinite(high), (low + high) / 2, np.where(np.isfinite(low), low + 1, high - 1)
        )
    one, other = _holds(first, middle), _holds(second, middle)
    held = {"union": one | other, "intersection": one & other, "difference": one & ~other}[kind]
    held &= low < high
    into, out = np.where(held, low, np.inf), np.where(held, high, np.inf)
    order = np.argsort(into, axis=1, kind="stable")
    most = int(held.sum(1).max(initial=0)) or 1
    if most > _MOST:
        raise TooDeepError(f"{most} stretches along a ray")
    return np.take_along_axis(into, order, 1)[:, :most], np.take_along_axis(out, order, 1)[:, :most]


def _holds(found: tuple[Floats, Floats], middle: Floats) -> NDArray[np.bool_]:
    into, out = found
    held = np.zeros(middle.shape, bool)
    for number in range(into.shape[1]):
        held |= (into[:, number, None] < middle) & (middle < out[:, number, None])
    return held


def _sphere(numbers: tuple[Vector, ...], start_3: Vector, rays_P3: Floats) -> tuple[Floats, Floats]:
    middle_3, radius = numbers
    return _roots(
        (rays_P3**2).sum(1), rays_P3 @ (start_3 - middle_3), ((start_3 - middle_3) ** 2).sum() - float(radius[0]) ** 2
    )


def _roots(a_P: Floats, half_b_P: Floats, c: "float | Floats") -> tuple[Floats, Floats]:
    """Where a·t² + 2·b·t + c is below zero, for a > 0."""
    inside_P = half_b_P**2 - a_P * c
    root_P = np.sqrt(np.maximum(inside_P, 0))
    hit_P = inside_P > 0
    into = np.where(hit_P, (-half_b_P - root_P) / a_P, np.inf)
    out = np.where(hit_P, (-half_b_P + root_P) / a_P, np.inf)
    return into[:, None], out[:, None]


def _box(numbers: tuple[Vector, ...], start_3: Vector, rays_P3: Floats) -> tuple[Floats, Floats]:
    one_P3 = (np.minimum(*numbers) - start_3) / rays_P3
    other_P3 = (np.maximum(*numbers) - start_3) / rays_P3
    into_P3, out_P3 = np.fmin(one_P3, other_P3), np.fmax(one_P3, other_P3)
    return into_P3.max(1)[:, None], out_P3.min(1)[:, None]


def _plane(numbers: tuple[Vector, ...], start_3: Vector, rays_P3: Floats) -> tuple[Floats, Floats]:
    normal_3, distance = numbers
    slope_P = rays_P3 @ normal_3
    gap = float(distance[0]) * float(np.linalg.norm(normal_3)) - float(start_3 @ normal_3)
    at_P = gap / slope_P
    into = np.where(slope_P < 0, at_P, np.where((slope_P == 0) & (gap < 0), np.inf, -np.inf))
    out = np.where(slope_P > 0, at_P, np.inf)
    return into[:, None], out[:, None]


def _cone(numbers: tuple[Vector, ...], start_3: Vector, rays_P3: Floats) -> tuple[Floats, Floats]:
    """base, radius there, cap, radius there."""
    base_3, low, cap_3, high = numbers
    axis_3 = cap_3 - base_3
    length = float(np.linalg.norm(axis_3))
    axis_3 = axis_3 / length
    slope = (float(high[0]) - float(low[0])) / length
    from_3 = start_3 - base_3
    along_P, along = rays_P3 @ axis_3, float(from_3 @ axis_3)
    flat_P3, flat_3 = rays_P3 - along_P[:, None] * axis_3, from_3 - along * axis_3
    radius = float(low[0]) + slope * along
    a_P = (flat_P3**2).sum(1) - (slope * along_P) ** 2
    b_P = flat_P3 @ flat_3 - radius * slope * along_P
    c = float(flat_3 @ flat_3) - radius**2
    slab_into, slab_out = _slab(along_P, along, length)
    into, out = _roots(np.where(a_P > 0, a_P, np.nan), b_P, c)
    steep = a_P <= 0  # along the mantle or within it: outside of the two roots instead of between them
    if steep.any():
        inside_P = np.maximum(b_P**2 - a_P * c, 0)
        safe = np.where(a_P < 0, a_P, -1e-300)
        one, other = (-b_P - np.sqrt(inside_P)) / safe, (-b_P + np.sqrt(inside_P)) / safe
        near, far = np.minimum(one, other), np.maximum(one, other)
        widens = (slope * along_P) > 0  # of the two halves that of positive radius
        into = np.where(steep[:, None], np.where(widens, far, -np.inf)[:, None], into)
        out = np.where(steep[:, None], np.where(widens, np.inf, near)[:, None], out)
        linear = steep & (a_P == 0) & (slope == 0) & (c <= 0)
        into = np.where(linear[:, None], -np.inf, into)
        out = np.where(linear[:, None], np.inf, out)
    return np.maximum(into, slab_into), np.minimum(out, slab_out)


def _slab(along_P: Floats, along: float, length: float) -> tuple[Floats, Floats]:
    one, other = -along / along_P, (length - along) / along_P
    level = along_P == 0
    inside = 0 <= along <= length
    into = np.where(level, -np.inf if inside else np.inf, np.minimum(one, other))
    out = np.where(level, np.inf, np.maximum(one, other))
    return into[:, None], out[:, None]


def _torus(numbers: tuple[Vector, ...], start_3: Vector, rays_P3: Floats) -> tuple[Floats, Floats]:
    """Around the y axis. The quartic is solved by the eigenvalues of its companion, for rays that pass near alone."""
    major, minor = float(numbers[0][0]), float(numbers[1][0])
    lengths_P = np.linalg.norm(rays_P3, axis=1)
    into, out = (np.full((len(rays_P3), 2), np.inf) for _ in range(2))
    near, _ = _sphere((np.zeros(3), np.array([major + minor])), start_3, rays_P3)
    tried = np.flatnonzero(np.isfinite(near[:, 0]))
    if not len(tried):
        return into, out
    ray_Q3 = rays_P3[tried] / lengths_P[tried, None]
    along_Q = ray_Q3 @ start_3
    square = float(start_3 @ start_3)
    k = square - major**2 - minor**2
    b = 4 * along_Q
    c = 2 * k + 4 * along_Q**2 + 4 * major**2 * ray_Q3[:, 1] ** 2
    d = 4 * k * along_Q + 8 * major**2 * start_3[1] * ray_Q3[:, 1]
    e = np.full(len(tried), k**2 - 4 * major**2 * (minor**2 - start_3[1] ** 2))
    companion = np.zeros((len(tried), 4, 4))
    companion[:, 0] = np.stack([-b, -c, -d, -e], axis=1)
    companion[:, [1, 2, 3], [0, 1, 2]] = 1
    roots = np.linalg.eigvals(companion)
    real = np.where(np.abs(roots.imag) < 1e-6 * np.maximum(1, np.abs(roots.real)), roots.real, np.inf)
    real = np.sort(real, axis=1)
    whole = np.isfinite(real).sum(1) % 2 == 0
    real[~whole] = np.inf
    for number in range(2):
        into[tried, number] = real[:, 2 * number] / lengths_P[tried]
        out[tried, number] = real[:, 2 * number + 1] / lengths_P[tried]
    return into, out


_PRIMITIVES = {"sphere": _sphere, "box": _box, "plane": _plane, "cone": _cone, "torus": _torus}
