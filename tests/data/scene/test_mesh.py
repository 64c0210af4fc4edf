"""Meshes to pictures: the same bytes twice, as the oracle sees them, and nothing outside their own files."""

import io
import json
import math

import numpy as np
import pytest
from PIL import Image

from trivium.data.scene.camera import Shot, place, turntable, view
from trivium.data.scene.mesh import MeshEngine, MeshRenderer
from trivium.data.scene.shapes import Mesh, Surface, surface
from trivium.data.scene.solid import measures
from trivium.data.scene.zbuffer import rasterise
from trivium.errors import GuardError

CORNERS = np.array([[x, y, z] for x in (0.0, 3.0) for y in (0.0, 2.0) for z in (0.0, 1.0)])
QUADS = ((0, 1, 3, 2), (4, 6, 7, 5), (0, 4, 5, 1), (2, 3, 7, 6), (0, 2, 6, 4), (1, 5, 7, 3))
FACES = np.array([[q[0], q[i], q[i + 1]] for q in QUADS for i in (1, 2)])


def ball(radius: float, middle: tuple[float, float, float], rings: int = 12) -> tuple[np.ndarray, np.ndarray]:
    around = 2 * rings
    points = [(0.0, 0.0, radius), (0.0, 0.0, -radius)]
    for ring in range(1, rings):
        down = math.pi * ring / rings
        for step in range(around):
            turn = 2 * math.pi * step / around
            x, y = math.sin(down) * math.cos(turn), math.sin(down) * math.sin(turn)
            points.append((radius * x, radius * y, radius * math.cos(down)))
    faces = []
    for step in range(around):
        right = (step + 1) % around
        faces.append((0, 2 + step, 2 + right))
        low = 2 + (rings - 2) * around
        faces.append((1, low + right, low + step))
        for ring in range(rings - 2):
            a, b = 2 + ring * around + step, 2 + ring * around + right
            faces += [(a, a + around, b + around), (a, b + around, b)]
    return np.array(points) + middle, np.array(faces)


BALL = ball(0.8, (1.5, 1.0, 1.9))
SCENE = Mesh(surfaces=(surface(CORNERS, FACES, "box"), surface(*BALL, "ball", (200, 60, 50))))


def pixels(png: bytes) -> np.ndarray:
    return np.asarray(Image.open(io.BytesIO(png)).convert("RGB")).astype(int)


@pytest.mark.parametrize("projection", ["perspective", "orthographic"])
def test_silhouette_and_depth_are_the_oracles(renderer: MeshRenderer, projection: str) -> None:
    """At most one pixel in 5,000 along the edge, and one grey level of depth."""
    shot = Shot(projection=projection, shows="depth", width=200, height=150, azimuth=-72.0)  # type: ignore[arg-type]
    grey = pixels(renderer.triangles(SCENE, [shot]).pngs[0])[..., 0]
    camera = place(SCENE.coordinates, shot)
    points = np.concatenate([part.coordinates for part in SCENE.surfaces])
    oracle = rasterise(points, np.concatenate([FACES, BALL[1] + len(CORNERS)]), camera).depth_HW
    seen, wanted = grey > 0, np.isfinite(oracle)
    assert wanted.mean() > 0.3
    assert (seen != wanted).mean() < 1 / 5000
    both = seen & wanted
    share = (oracle[both] - camera.near) / (camera.far - camera.near)
    assert np.abs(255 - share * 195 - grey[both]).max() <= 1.0


def test_pictures_repeat_and_fill_the_frame(renderer: MeshRenderer) -> None:
    shots = [view("isometric view"), view("top view", width=64, height=96), Shot(shows="normals")]
    first, second = renderer.triangles(SCENE, shots), renderer.triangles(SCENE, shots)
    assert first.pngs == second.pngs
    for png, shot in zip(first.pngs, shots, strict=True):
        picture = pixels(png)
        assert picture.shape == (shot.height, shot.width, 3)
        drawn = (picture != picture[0, 0]).any(2)
        rows, columns = np.flatnonzero(drawn.any(1)), np.flatnonzero(drawn.any(0))
        room = min(rows[0], shot.height - 1 - rows[-1]), min(columns[0], shot.width - 1 - columns[-1])
        assert min(room) >= 1
        assert min(room[0] / shot.height, room[1] / shot.width) < 0.06
    # A top view looks at the top alone: its normal points at the camera, blue in the picture of normals.
    above = pixels(renderer.triangles(Mesh(surfaces=SCENE.surfaces[:1]), [view("top view", shows="normals")]).pngs[0])
    assert above[120, 160].tolist() == [128, 128, 255]


def test_facts_are_exact_and_boxes_are_where_parts_are_seen(renderer: MeshRenderer) -> None:
    facts = renderer.triangles(SCENE, [Shot(samples=1, edges=False)]).facts
    assert facts.sizes["width"] == 3.0
    assert facts.sizes["triangles"] == 12 + len(BALL[1])
    assert facts.sizes["pieces"] == 2
    box, seen = facts.parts
    assert (box.name, seen.name, seen.color) == ("box", "ball", "#c83c32")
    picture = pixels(renderer.triangles(SCENE, [Shot(samples=1, edges=False)]).pngs[0])
    red = picture[..., 0] > picture[..., 2] + 30
    rows, columns = np.flatnonzero(red.any(1)), np.flatnonzero(red.any(0))
    assert seen.box == (columns[0], rows[0], columns[-1] + 1, rows[-1] + 1)


def test_measures_of_a_box() -> None:
    found = measures(Mesh(surfaces=(surface(CORNERS, FACES),)))
    assert found == {
        "width": 3.0, "depth": 2.0, "height": 1.0, "triangles": 12.0, "pieces": 1.0, "surface area": 22.0, "volume": 6.0
    }  # fmt: skip
    opened = measures(Mesh(surfaces=(surface(CORNERS, FACES[1:]),)))
    assert "volume" not in opened
    with pytest.raises(ValueError, match="beyond the 8"):
        surface(CORNERS, FACES + 1)


def test_a_turntable_goes_all_around() -> None:
    shots = turntable(4)
    assert list(shots) == [f"turned by {turned} degrees" for turned in (0, 90, 180, 270)]
    assert [shot.azimuth % 360 for shot in shots.values()] == [270, 0, 90, 180]


OBJ = b"mtllib %s\nusemtl red\nv 0 0 0\nv 1 0 0\nv 0 1 0\nv 0 0 1\nf 1 3 2\nf 1 2 4\nf 2 3 4\nf 1 4 3\n"
MTL = b"newmtl red\nKd 1 0 0\n"
BUFFER = np.array([[0, 0, 0], [1, 0, 0], [0, 1, 0]], "<f4").tobytes()
LOOP = b"vertex 0 0 0\nvertex 1 0 0\nvertex 0 1 0\n"
STL = b"solid a\nfacet normal 0 0 1\nouter loop\n" + LOOP + b"endloop\nendfacet\nendsolid a\n"
OFF = b"OFF # a comment\n3 2 0\n0 0 0\n1 0 0\n0 1 0\n3 0 1 2\n"
GLTF = {
    "asset": {"version": "2.0"}, "scene": 0, "scenes": [{"nodes": [0]}], "nodes": [{"mesh": 0}],
    "meshes": [{"primitives": [{"attributes": {"POSITION": 0}}]}],
    "accessors": [{"bufferView": 0, "componentType": 5126, "count": 3, "type": "VEC3"}],
    "bufferViews": [{"buffer": 0, "byteLength": 36}],
}  # fmt: skip


def gltf(uri: str, **more: object) -> bytes:
    return json.dumps({**GLTF, "buffers": [{"uri": uri, "byteLength": 36}], **more}).encode()


def test_files_are_drawn_with_what_lies_beside_them(mesh_engine: MeshEngine) -> None:
    drawn = mesh_engine.draw("", {"a/m.obj": OBJ % b"../b/m.mtl", "b/m.mtl": MTL}, '{"main": "a/m.obj"}')
    assert drawn.facts is not None
    assert drawn.facts.sizes["triangles"] == 4
    picture = pixels(drawn.payload)
    assert (picture[..., 0] > picture[..., 1] + 60).mean() > 0.1  # its material is red
    assert mesh_engine.draw("", {"m.gltf": gltf("b.bin"), "b.bin": BUFFER}, "{}").facts is not None
    text = mesh_engine.draw(OBJ.decode() % "m.mtl", {"m.mtl": MTL}, '{"main": "m.obj"}')
    assert text.facts == drawn.facts


@pytest.mark.parametrize(
    ("files", "reason"),
    [
        ({"m.obj": OBJ % b"../../etc/passwd"}, "external_reference"),
        ({"m.gltf": gltf("/etc/passwd")}, "external_reference"),
        ({"m.gltf": gltf("http://127.0.0.1/b.bin")}, "external_reference"),
        ({"m.gltf": gltf("..%2f..%2fb.bin")}, "external_reference"),
        ({"m.gltf": gltf("absent.bin")}, "absent_file"),
        ({"m.gltf": gltf("b.bin", extensionsRequired=["KHR_draco_mesh_compression"])}, "unknown_extension"),
        ({"m.stl": b"solid x\nendsolid x\n"}, "empty"),
        ({"m.stl": b"\0" * 80 + b"\xff\xff\xff\x7f" + b"\0" * 100}, "unreadable"),
        ({"m.stl": STL[:-11]}, "unreadable"),
        ({"m.ply": b"ply\nelement vertex 0\nend_header\n"}, "unreadable"),
        ({"m.off": OFF + b"3 0 1\n"}, "unreadable"),
        ({"m.ply": b"ply\nformat ascii 1.0\nelement vertex 3\nproperty float x\nend_header\n0\n"}, "unreadable"),
        ({"m.obj": b"v 0 0 0\nv nan 0 0\nv 0 1 0\nf 1 2 3\n"}, "not_finite"),
        ({"m.obj": b"v 0 0 0\nv 1 0 0\nv 0 1 0\nf 1 2 3\nf 1 2 3\nf 1 2 3\n"}, "too_many_triangles"),
        ({"m.glb": b"glTF\2\0\0\0"}, "unreadable"),
    ],
)  # fmt: skip
def test_a_file_is_refused_with_its_reason(mesh_engine: MeshEngine, files: dict[str, bytes], reason: str) -> None:
    with pytest.raises(GuardError) as caught:
        mesh_engine.draw("", files, '{"most": 2}' if reason == "too_many_triangles" else "{}")
    assert caught.value.reason == reason


def test_the_environment_names_the_driver(mesh_engine: MeshEngine) -> None:
    told = mesh_engine.environment()
    assert "vtk 9." in told
    assert "Mesa" in told
    assert "\n" not in told


def test_a_texture_is_drawn_the_right_way_up(renderer: MeshRenderer) -> None:
    """Upper half blue, lower half red, as the picture lies in its file."""
    square = surface(np.array([[0, 0, 0], [1, 0, 0], [1, 0, 1], [0, 0, 1.0]]), np.array([[0, 1, 2], [0, 2, 3]]))
    rows = [[(0, 0, 255)] * 4] * 2 + [[(255, 0, 0)] * 4] * 2
    textured = Surface(
        points=square.points,
        faces=square.faces,
        uv=np.array([[0, 0], [1, 0], [1, 1], [0, 1]], "<f4").tobytes(),
        texture=np.array(rows, np.uint8).tobytes(),
        texture_size=(4, 4),
    )
    picture = pixels(renderer.triangles(Mesh(surfaces=(textured,)), [view("front view")]).pngs[0])
    assert picture[60, 160, 2] > 100 > picture[60, 160, 0]
    assert picture[180, 160, 0] > 100 > picture[180, 160, 2]
