"""A scene with all that it names beside itself: includes, and what those include, pictures, fonts, meshes.

Nothing outside a scene's own tree and the libraries that a recipe names is ever looked at: a name that leads there
refuses the scene. A name that leads nowhere stays a name; the engine says what it misses.
"""

import json
import posixpath
from collections.abc import Callable, Iterator, Mapping

from trivium.data.scene.pov import references as pov
from trivium.data.scene.scad import references as scad

Find = Callable[[str], bytes | None]  # the content of a path inside the tree (posix, normal), None where none is
SCENES = (".pov", ".scad")
_NAMES: Mapping[str, Callable[[str], Iterator[str]]] = {
    ".pov": pov.references,
    ".inc": pov.references,
    ".map": pov.references,
    ".mcr": pov.references,
    ".scad": scad.references,
    ".gltf": lambda text: _quoted(text, "uri"),
    ".obj": lambda text: _after(text, ("mtllib",)),
    ".mtl": lambda text: _after(text, ("map_Kd", "map_Ka", "map_Ks", "map_Bump", "bump", "map_d", "norm", "disp")),
}


class OutsideError(ValueError):
    """A scene names something outside its own tree."""


def text_of(content: bytes) -> str:
    """UTF-8 where it is that, else Latin-1, as scenes were written for long; line ends become plain."""
    try:
        text = content.decode("utf-8-sig")
    except UnicodeDecodeError:
        text = content.decode("latin-1")
    return text.replace("\r\n", "\n").replace("\r", "\n")


def closure(main: str, content: bytes, find: Find) -> dict[str, bytes]:
    """All files that `main` needs by their path in the tree, `main` not among them.

    A POV-Ray scene finds files by the folder of `main`, all else by the folder of the file that names them. Raises
    OutsideError.
    """
    held: dict[str, bytes] = {}
    left = [(main, content)]
    while left:
        path, body = left.pop()
        reader = _NAMES.get(posixpath.splitext(path.lower())[1])
        if reader is None:
            continue
        folder = posixpath.dirname(main if main.lower().endswith(".pov") else path)
        for name in reader(text_of(body)):
            if name.startswith("data:"):
                continue
            for place in _places(folder, name):
                if place in held or place == main:
                    break
                found = find(place)
                if found is not None:
                    held[place] = found
                    left.append((place, found))
                    break
    return dict(sorted(held.items()))


def _places(folder: str, name: str) -> Iterator[str]:
    """Where a name may lie: beside who names it, else from the tree's root on, as libraries do. Raises OutsideError."""
    plain = name.replace("\\", "/")
    path = posixpath.normpath(posixpath.join(folder, plain))
    if "://" in plain or plain.startswith(("/", "~")) or path.startswith("../") or path == ".." or "\0" in plain:
        raise OutsideError(f"it names {name!r}, outside its own tree")
    yield path
    if "." not in posixpath.basename(path):
        yield f"{path}.ttf"  # POV-Ray's fonts may be named without their ending
    if folder and not plain.startswith("."):
        yield posixpath.normpath(plain)


def _quoted(text: str, key: str) -> Iterator[str]:
    def walk(value: object) -> Iterator[str]:
        if isinstance(value, dict):
            if isinstance(value.get(key), str):
                yield value[key]
            for inner in value.values():
                yield from walk(inner)
        elif isinstance(value, list):
            for inner in value:
                yield from walk(inner)

    try:
        yield from walk(json.loads(text))
    except (ValueError, RecursionError):
        return


def _after(text: str, words: tuple[str, ...]) -> Iterator[str]:
    for line in text.splitlines():
        first, _, rest = line.strip().partition(" ")
        if first in words and rest.strip():
            yield rest.split()[-1] if first != "mtllib" else rest.strip()
