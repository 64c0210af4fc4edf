"""Hostile mesh files, each with the reason for which it must be refused: (main file, files, reason)."""

import base64
import json
import struct

Case = tuple[str, dict[str, bytes], str]
TRIANGLE = b"v 0 0 0\nv 1 0 0\nv 0 1 0\nf 1 2 3\n"


LOOP = b"vertex 0 0 0\nvertex 1 0 0\nvertex 0 1 0\n"
SOLID = b"solid a\nfacet normal 0 0 1\nouter loop\n" + LOOP + b"endloop\nendfacet\nendsolid a\n"


def one(name: str, body: bytes, reason: str, **beside: bytes) -> Case:
    return name, {name: body, **beside}, reason


def gltf(**changes: object) -> bytes:
    """A triangle as glTF, with keys changed."""
    points = struct.pack("<9f", 0, 0, 0, 1, 0, 0, 0, 1, 0)
    whole: dict[str, object] = {
        "asset": {"version": "2.0"},
        "scene": 0,
        "scenes": [{"nodes": [0]}],
        "nodes": [{"mesh": 0}],
        "meshes": [{"primitives": [{"attributes": {"POSITION": 0}}]}],
        "accessors": [
            {"bufferView": 0, "componentType": 5126, "count": 3, "type": "VEC3", "min": [0, 0, 0], "max": [1, 1, 0]}
        ],
        "bufferViews": [{"buffer": 0, "byteLength": 36}],
        "buffers": [
            {"byteLength": 36, "uri": f"data:application/octet-stream;base64,{base64.b64encode(points).decode()}"}
        ],
    }
    return json.dumps({**whole, **changes}).encode()


def accessor(**changes: object) -> list[dict[str, object]]:
    return [{"bufferView": 0, "componentType": 5126, "count": 3, "type": "VEC3", **changes}]


def ply(head: str, body: bytes = b"") -> bytes:
    return f"ply\nformat binary_little_endian 1.0\n{head}\nend_header\n".encode() + body


def cases(web: str, canary: str) -> dict[str, Case]:
    """Name → (main, files, reason)."""
    return {**_obj(web, canary), **_stl(), **_ply(), **_off(), **_gltf(web, canary)}


def _obj(web: str, canary: str) -> dict[str, Case]:
    textured = b"mtllib m.mtl\nv 0 0 0\nv 1 0 0\nv 0 1 0\nvt 0 0\nusemtl a\nf 1/1 2/1 3/1\n"
    return {
        "obj_empty": one("a.obj", b"", "empty"),
        "obj_points_only": one("a.obj", b"v 0 0 0\n" * 1000, "empty"),
        "obj_index_beyond": one("a.obj", b"v 0 0 0\nv 1 0 0\nv 0 1 0\nf 1 2 999999\n", "unreadable"),
        "obj_index_below": one("a.obj", b"v 0 0 0\nv 1 0 0\nv 0 1 0\nf -1 -2 -999999\n", "unreadable"),
        "obj_index_huge": one("a.obj", b"v 0 0 0\nv 1 0 0\nv 0 1 0\nf 1 2 99999999999999999999\n", "unreadable"),
        "obj_nan": one("a.obj", b"v nan 0 0\nv 1 0 0\nv 0 1 0\nf 1 2 3\n", "not_finite"),
        "obj_inf": one("a.obj", b"v inf 0 0\nv 1 0 0\nv 0 1 0\nf 1 2 3\n", "not_finite"),
        "obj_far": one("a.obj", b"v 1e300 0 0\nv 1 0 0\nv 0 1 0\nf 1 2 3\n", "not_finite"),
        "obj_words": one("a.obj", b"v one two three\n" * 10 + b"f a b c\n", "unreadable"),
        "obj_many": one("a.obj", b"v 0 0 0\nv 1 0 0\nv 0 1 0\n" + b"f 1 2 3\n" * 2_000_001, "too_many_triangles"),
        "obj_material_canary": one("a.obj", f"mtllib {canary}\n".encode() + TRIANGLE, "external_reference"),
        "obj_material_above": one("a.obj", b"mtllib ../../../etc/passwd\n" + TRIANGLE, "external_reference"),
        "obj_material_web": one("a.obj", f"mtllib {web}/a.mtl\n".encode() + TRIANGLE, "external_reference"),
        "obj_material_absent": one("a.obj", b"mtllib nothing.mtl\n" + TRIANGLE, "absent_file"),
        "obj_texture_canary": one(
            "a.obj", textured, "external_reference", **{"m.mtl": f"newmtl a\nmap_Kd {canary}\n".encode()}
        ),
        "obj_binary": one("a.obj", b"\x7fELF" + bytes(range(256)) * 40, "empty"),
    }


def _stl() -> dict[str, Case]:
    flat = struct.pack("<12fH", 0, 0, 1, *[0] * 9, 0)
    return {
        "stl_empty": one("a.stl", b"", "empty"),
        "stl_count_lies": one("a.stl", b"\0" * 80 + struct.pack("<I", 4_000_000_000) + flat, "unreadable"),
        "stl_count_none": one("a.stl", b"\0" * 80 + struct.pack("<I", 0), "empty"),
        "stl_cut": one("a.stl", b"\0" * 80 + struct.pack("<I", 2) + flat, "unreadable"),
        "stl_nan": one(
            "a.stl", b"\0" * 80 + struct.pack("<I", 1) + struct.pack("<12fH", *[float("nan")] * 12, 0), "not_finite"
        ),
        "stl_words_without_end": one(
            "a.stl", b"solid a\nfacet normal 0 0 1\nouter loop\n" + b"vertex 0 0 0\n" * 5, "unreadable"
        ),
        "stl_a_long_line": one("a.stl", b"solid " + b"a" * 3_000_000, "unreadable"),
        "stl_one_point": one("a.stl", b"\0" * 80 + struct.pack("<I", 1) + flat, "one_colour"),
        "stl_trailing": one("a.stl", b"\0" * 80 + struct.pack("<I", 1) + flat + b"more", "unreadable"),
        "stl_two_corners": one(
            "a.stl",
            b"solid a\nfacet normal 0 0 1\nouter loop\n" + b"vertex 0 0 0\n" * 2 + b"endloop\nendfacet\nendsolid a\n",
            "unreadable",
        ),
        "stl_second_solid_cut": one("a.stl", SOLID + SOLID[:-12], "unreadable"),
    }


def _ply() -> dict[str, Case]:
    return {
        "ply_count_lies": one(
            "a.ply",
            ply("element vertex 4000000000\nproperty float x\nproperty float y\nproperty float z"),
            "unreadable",
        ),
        "ply_negative": one("a.ply", ply("element vertex -5\nproperty float x"), "unreadable"),
        "ply_list_lies": one(
            "a.ply",
            ply(
                "element vertex 1\nproperty float x\nproperty float y\nproperty float z\n"
                "element face 1\nproperty list uint int vertex_indices",
                struct.pack("<3fI", 0, 0, 0, 4_000_000_000),
            ),
            "unreadable",
        ),
        "ply_no_format": one("a.ply", b"ply\nelement vertex 3\nend_header\n", "unreadable"),
        "ply_endless_head": one("a.ply", b"ply\nformat ascii 1.0\n" + b"comment x\n" * 200_000, "unreadable"),
        "ply_comment_for_format": one(
            "a.ply", b"ply\ncomment x\nformat ascii 1.0\nelement vertex 3\nend_header\n", "unreadable"
        ),
        "ply_text_cut": one(
            "a.ply",
            b"ply\nformat ascii 1.0\nelement vertex 3\nproperty float x\nproperty float y\nproperty float z\n"
            b"element face 2\nproperty list uchar int vertex_indices\nend_header\n0 0 0\n1 0 0\n0 1 0\n3 0 1 2\n",
            "unreadable",
        ),
        "ply_faces_cut": one(
            "a.ply",
            ply(
                "element vertex 1\nproperty float x\nproperty float y\nproperty float z\n"
                "element face 12\nproperty list uchar int vertex_indices",
                struct.pack("<3f", 0, 0, 0),
            ),
            "unreadable",
        ),
        "ply_empty": one("a.ply", b"", "unreadable"),
        "ply_points": one(
            "a.ply",
            ply("element vertex 1\nproperty float x\nproperty float y\nproperty float z", struct.pack("<3f", 0, 0, 0)),
            "empty",
        ),
    }


def _off() -> dict[str, Case]:
    return {
        "off_empty": one("a.off", b"", "unreadable"),
        "off_no_counts": one("a.off", b"OFF\n", "unreadable"),
        "off_no_numbers": one("a.off", b"OFF\na b c\n", "unreadable"),
        "off_negative": one("a.off", b"OFF\n-3 1 0\n0 0 0\n", "unreadable"),
        "off_count_lies": one("a.off", b"OFF\n3 4000000000 0\n0 0 0\n1 0 0\n0 1 0\n3 0 1 2\n", "unreadable"),
        "off_face_cut": one("a.off", b"OFF\n3 2 0\n0 0 0\n1 0 0\n0 1 0\n3 0 1 2\n3 0 1\n", "unreadable"),
        "off_index_beyond": one("a.off", b"OFF\n3 1 0\n0 0 0\n1 0 0\n0 1 0\n3 0 1 9\n", "unreadable"),
        "off_points_only": one("a.off", b"OFF\n3 0 0\n0 0 0\n1 0 0\n0 1 0\n", "empty"),
    }


def _gltf(web: str, canary: str) -> dict[str, Case]:
    def buffer(**changes: object) -> list[dict[str, object]]:
        return [{"byteLength": 36, **changes}]

    deep = b'{"asset":{"version":"2.0"},"extras":' + b"[" * 200_000 + b"]" * 200_000 + b"}"
    glb = struct.pack("<4sIIII", b"glTF", 2, 100, 4_000_000_000, 0x4E4F534A)
    return {
        "gltf_file": one("a.gltf", gltf(buffers=buffer(uri=f"file://{canary}")), "external_reference"),
        "gltf_absolute": one("a.gltf", gltf(buffers=buffer(uri=canary)), "external_reference"),
        "gltf_above": one("a.gltf", gltf(buffers=buffer(uri="../../etc/passwd")), "external_reference"),
        "gltf_above_encoded": one("a.gltf", gltf(buffers=buffer(uri="%2e%2e/%2e%2e/etc/passwd")), "external_reference"),
        "gltf_web": one("a.gltf", gltf(buffers=buffer(uri=f"{web}/a.bin")), "external_reference"),
        "gltf_absent": one("a.gltf", gltf(buffers=buffer(uri="a.bin")), "absent_file"),
        "gltf_short_buffer": one("a.gltf", gltf(buffers=buffer(uri="a.bin")), "unreadable", **{"a.bin": b"1234"}),
        "gltf_count_lies": one("a.gltf", gltf(accessors=accessor(count=10**12)), "unreadable"),
        "gltf_sparse_lies": one(
            "a.gltf",
            gltf(accessors=[{"componentType": 5126, "count": 4 * 10**9, "type": "VEC3"}]),
            "unreadable",
        ),
        "gltf_unknown_type": one("a.gltf", gltf(accessors=accessor(componentType=9999)), "unreadable"),
        "gltf_unknown_extension": one("a.gltf", gltf(extensionsRequired=["EXT_run_code"]), "unknown_extension"),
        "gltf_no_mesh": one("a.gltf", gltf(meshes=[], nodes=[{}]), "empty"),
        "gltf_deep": one("a.gltf", deep, "unreadable"),
        "gltf_no_json": one("a.gltf", b"\xff\xfe<html>", "unreadable"),
        "glb_length_lies": one("a.glb", glb, "unreadable"),
        "glb_empty": one("a.glb", b"", "unreadable"),
        "glb_cut": one("a.glb", b"glTF\2\0", "unreadable"),
    }
