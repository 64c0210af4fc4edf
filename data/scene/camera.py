"""Where a camera stands so that a mesh fills the picture: the same numbers for VTK, the z-buffer and projected boxes.

Odd: z is up, x to the right of who looks from the front (azimuth -90°), as in CAD; `Mesh` loaders turn y-up formats.
All is computed in a frame of its own, the mesh's centre at 0 and its farthest corner at 1, since GPUs count in fp32.
"""

# N points, H height, W width in pixels

from dataclasses import dataclass
from typing import Annotated, Literal

import numpy as np
from msgspec import Meta
from numpy.typing import NDArray

from trivium.data.config import Strict

Floats = NDArray[np.float64]
Side = Annotated[int, Meta(ge=16, le=2048)]
Angle = Annotated[float, Meta(ge=-360, le=360)]
Rgb = tuple[int, int, int]

# Azimuth and elevation in degrees of the views that have a name.
VIEWS: dict[str, tuple[float, float]] = {
    "front view": (-90.0, 0.0),
    "back view": (90.0, 0.0),
    "left view": (180.0, 0.0),
    "right view": (0.0, 0.0),
    "top view": (-90.0, 90.0),
    "bottom view": (-90.0, -90.0),
    "isometric view": (-45.0, 35.264),
    "three-quarter view": (-60.0, 25.0),
    "three-quarter view from behind": (120.0, 25.0),
}


class Shot(Strict, frozen=True):
    """One picture of a mesh; with the mesh it decides every pixel.

    `azimuth` turns counter-clockwise seen from above, 0 looks from +x; `elevation` 90 looks straight down.
    `shows`: shaded surfaces, linear depth (near is white, nothing is black), or normals as the camera sees them, as
    colours.
    """

    width: Side = 320
    height: Side = 240
    azimuth: Angle = -60.0
    elevation: Annotated[float, Meta(ge=-90, le=90)] = 25.0
    projection: Literal["perspective", "orthographic"] = "perspective"
    field: Annotated[float, Meta(ge=1, le=120)] = 30.0  # degrees seen from the lower to the upper edge (perspective)
    margin: Annotated[float, Meta(ge=1, le=4)] = 1.08  # the picture is so many times larger than what it shows
    shows: Literal["shaded", "depth", "normals"] = "shaded"
    background: Rgb = (255, 255, 255)
    color: Rgb = (143, 169, 196)  # of what has no colour of its own
    edges: bool = True  # sharp edges drawn as thin dark lines, when shaded
    samples: Annotated[int, Meta(ge=1, le=4)] = 2  # per pixel and direction, averaged


def view(name: str, **changes: object) -> Shot:
    """The named view of `VIEWS` with other fields of `Shot` changed; straight views are orthographic."""
    azimuth, elevation = VIEWS[name]
    straight = name == "isometric view" or (azimuth % 90 == 0 and elevation % 90 == 0)
    projection = "orthographic" if straight else "perspective"
    return Shot(**{"azimuth": azimuth, "elevation": elevation, "projection": projection, **changes})  # type: ignore[arg-type]


def turntable(count: int, **changes: object) -> dict[str, Shot]:
    """`count` views all around, from a little above, by the degrees turned since the front."""
    shots = {}
    for number in range(count):
        turned = 360.0 * number / count
        shot = Shot(**{"azimuth": (turned + 270.0) % 360.0 - 360.0, "elevation": 20.0, **changes})  # type: ignore[arg-type]
        shots[f"turned by {turned:g} degrees"] = shot
    return shots


@dataclass(frozen=True, kw_only=True, slots=True)
class Camera:
    """`axes_33`: rows to the right, up, and towards the camera. Distances in the mesh's own frame (`to_frame`).

    `eye_3` is in that frame too. `half`: half of the picture's height, at distance 1 (perspective) or anywhere.
    `shift_2`: the picture's middle, right and up, when orthographic. `near` and `far` hold all of the mesh.
    """

    shot: Shot
    centre_3: Floats
    radius: float
    axes_33: Floats
    eye_3: Floats
    half: float
    near: float
    far: float

    def to_frame(self, points_N3: Floats) -> Floats:
        return (np.asarray(points_N3, np.float64) - self.centre_3) / self.radius

    def seen(self, points_N3: Floats) -> Floats:
        """Right, up and distance in front of the camera, in the mesh's own frame."""
        seen_N3 = (self.to_frame(points_N3) - self.eye_3) @ self.axes_33.T
        seen_N3[:, 2] *= -1
        return seen_N3

    def project(self, points_N3: Floats) -> Floats:
        """x and y in pixels from the upper left corner, and the distance in front of the camera."""
        seen_N3 = self.seen(points_N3)
        half_N = self.half * (seen_N3[:, 2] if self.shot.projection == "perspective" else 1.0)
        pixels = self.shot.height / 2 / half_N
        out_N3 = np.empty_like(seen_N3)
        out_N3[:, 0] = self.shot.width / 2 + seen_N3[:, 0] * pixels
        out_N3[:, 1] = self.shot.height / 2 - seen_N3[:, 1] * pixels
        out_N3[:, 2] = seen_N3[:, 2]
        return out_N3


def place(points_N3: Floats, shot: Shot) -> Camera:
    """The camera that shows all of `points`, as near as its margin lets it. Raises ValueError without finite points."""
    points_N3 = np.asarray(points_N3, np.float64)
    if not len(points_N3) or not np.isfinite(points_N3).all():
        raise ValueError(f"{len(points_N3)} points, not all of them finite: nothing to point a camera at")
    low_3, high_3 = points_N3.min(0), points_N3.max(0)
    centre_3 = (low_3 + high_3) / 2
    radius = float(np.linalg.norm(points_N3 - centre_3, axis=1).max()) or 1.0
    axes_33 = _axes(shot)
    along_N3 = ((points_N3 - centre_3) / radius) @ axes_33.T
    aspect = shot.width / shot.height
    middle_3 = (along_N3.min(0) + along_N3.max(0)) / 2
    along_N3 = along_N3 - middle_3
    wide_N, tall_N, toward_N = np.abs(along_N3[:, 0]) / aspect, np.abs(along_N3[:, 1]), along_N3[:, 2]
    reach_N = np.maximum(wide_N, tall_N) * shot.margin
    if shot.projection == "perspective":
        half = float(np.tan(np.radians(shot.field) / 2))
        distance = float((toward_N + reach_N / half).max())
    else:
        half = float(reach_N.max()) or 1.0
        distance = float(toward_N.max()) + 2.0
    distance = max(distance, float(toward_N.max()) + 1e-3)
    near, far = distance - float(toward_N.max()), distance - float(toward_N.min())
    eye_3 = axes_33.T @ (middle_3 + np.array([0.0, 0.0, distance]))
    return Camera(
        shot=shot,
        centre_3=centre_3,
        radius=radius,
        axes_33=axes_33,
        eye_3=eye_3,
        half=half,
        near=near,
        far=max(far, near + 1e-6),
    )


def _axes(shot: Shot) -> Floats:
    azimuth, elevation = np.radians(shot.azimuth), np.radians(shot.elevation)
    toward = np.array([np.cos(elevation) * np.cos(azimuth), np.cos(elevation) * np.sin(azimuth), np.sin(elevation)])
    right = np.array([-np.sin(azimuth), np.cos(azimuth), 0.0])
    return np.stack([right, np.cross(toward, right), toward])
