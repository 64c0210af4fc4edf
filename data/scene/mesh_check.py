"""Whether a mesh file holds what it says, before trimesh reads it; imported only inside a guarded child.

Odd: trimesh reads what it finds of an STL, PLY or OFF file that is cut or whose head lies, often nothing, and says
nothing. Such a file must not pass for an empty one, nor for a part of itself.
"""

import json
import re
import struct
from collections.abc import Callable, Iterator, Mapping

from trivium.errors import GuardError

_UNDERSTOOD = frozenset(
    {"KHR_materials_unlit", "KHR_texture_transform", "KHR_materials_pbrSpecularGlossiness", "KHR_mesh_quantization"}
)
_STL_HEAD, _STL_TRIANGLE = 84, 50  # bytes
_STL_LINES = re.compile(rb"^[ \t]*(solid|endsolid|facet|endfacet|vertex)\b", re.M | re.I)
_PLY_FORMAT = re.compile(rb"format +(ascii|binary_little_endian|binary_big_endian) +1\.0\s*")
_PLY_HEAD = 1 << 16  # bytes in which it must end
_PLY_BYTES = {
    **dict.fromkeys(("char", "uchar", "int8", "uint8"), 1),
    **dict.fromkeys(("short", "ushort", "int16", "uint16"), 2),
    **dict.fromkeys(("int", "uint", "float", "int32", "uint32", "float32"), 4),
    **dict.fromkeys(("double", "float64"), 8),
}
_OFF = re.compile(r"C?OFF")
_COMMENT = re.compile(r"#[^\n]*")


def check(kind: str, body: bytes) -> None:
    """Raises GuardError: `unreadable`, or `unknown_extension` of a glTF file. `kind`: the name's end, as `.stl`."""
    checks: Mapping[str, Callable[[bytes], None]] = {
        ".stl": _stl, ".ply": _ply, ".off": _off, ".gltf": _gltf, ".glb": _glb
    }  # fmt: skip
    if kind in checks:
        checks[kind](body)


def _no(why: str) -> GuardError:
    return GuardError("unreadable", why)


def _stl(body: bytes) -> None:
    """Binary of the length that its count says, or text whose facets have three corners each and whose solids end."""
    if not body.strip():
        return  # no file at all: it is empty
    if len(body) >= _STL_HEAD:
        (count,) = struct.unpack_from("<I", body, _STL_HEAD - 4)
        if len(body) == _STL_HEAD + count * _STL_TRIANGLE:
            return
    words = [found[1].lower() for found in _STL_LINES.finditer(body)]
    if not words or words[0] != b"solid":
        raise _no("neither a binary STL of the length that its count says nor one in words")
    facets = words.count(b"facet")
    if words[-1] != b"endsolid" or words.count(b"endfacet") != facets:
        raise _no("the STL is cut: a solid or facet of it does not end")
    if words.count(b"vertex") != 3 * facets:
        raise _no(f"{facets} facets with {words.count(b'vertex')} corners in all")


def _ply(body: bytes) -> None:
    """Its format is named, its head ends, and at least as much follows as the head's elements must take."""
    head, end, data = body[:_PLY_HEAD].partition(b"end_header")
    lines = head.splitlines()
    if not end or not lines or lines[0].strip() != b"ply":
        raise _no("no PLY: its head does not begin or does not end")
    if len(lines) < 2 or not (found := _PLY_FORMAT.fullmatch(lines[1].strip())):
        raise _no("the PLY does not say its format in its second line")
    data = body[len(head) + len(end) :].partition(b"\n")[2]
    elements = list(_ply_elements(lines[2:]))
    if found[1] == b"ascii":
        wanted, held, unit = (
            sum(count for count, _ in elements),
            sum(1 for line in data.splitlines() if line.strip()),
            "lines",
        )
    else:
        wanted, held, unit = sum(count * least for count, least in elements), len(data), "bytes"
    if held < wanted:
        raise _no(f"the PLY is cut, or its head lies: {held} {unit} of at least {wanted}")


def _ply_elements(lines: list[bytes]) -> Iterator[tuple[int, int]]:
    """How many of each element the head promises, and the least bytes that one takes."""
    count = least = 0
    for line in lines:
        match line.decode("ascii", "replace").split():
            case ["element", _, number]:
                yield count, least
                count, least = _whole(number), 0
            case ["property", "list", size, _, _]:
                least += _PLY_BYTES.get(size, 1)
            case ["property", kind, _]:
                least += _PLY_BYTES.get(kind, 1)
    yield count, least


def _off(body: bytes) -> None:
    """As many lines as its counts say, and as many corners in each face."""
    _, *parts = _OFF.split(_COMMENT.sub("", body.decode("utf-8", "replace")), maxsplit=1)
    lines = [line.split() for line in parts[0].splitlines() if line.strip()] if parts else []
    if not lines or len(lines[0]) < 2:
        raise _no("no OFF: it does not say how many points and faces it has")
    points, faces = _whole(lines[0][0]), _whole(lines[0][1])
    if len(lines) < 1 + points + faces:
        raise _no(f"the OFF is cut, or its counts lie: {len(lines) - 1} lines of {points + faces}")
    if any(len(line) <= _whole(line[0]) for line in lines[1 + points : 1 + points + faces]):
        raise _no("a face of the OFF has less corners than it says")


def _whole(text: str) -> int:
    """Raises GuardError (`unreadable`) for what is no count."""
    try:
        number = int(text)
    except ValueError:
        number = -1
    if number < 0:
        raise _no(f"{text[:40]!r} is no count")
    return number


def _glb(body: bytes) -> None:
    try:
        (length,) = struct.unpack_from("<I", body, 12)
    except struct.error as error:
        raise _no(f"no glTF: {error}") from None
    _gltf(body[20 : 20 + length])


def _gltf(body: bytes) -> None:
    try:
        head = json.loads(body)
        required = set(head.get("extensionsRequired", ())) - _UNDERSTOOD
    except (ValueError, TypeError, AttributeError, RecursionError) as error:
        raise _no(f"no glTF: {error}") from None
    if required:
        raise GuardError("unknown_extension", f"it requires {', '.join(sorted(map(str, required)))}")
