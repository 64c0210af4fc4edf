"""What OpenSCAD says exactly of its own code: the evaluated tree, all loops unrolled, and the solid's measures."""

import re
from collections import Counter

import msgspec

from trivium.data.pairs.facts import Facts

# What people call the nodes of the tree; cylinders are looked at once more.
_KINDS = {
    "cube": "cubes", "sphere": "spheres", "polyhedron": "polyhedra", "linear_extrude": "linear extrusions",
    "rotate_extrude": "rotational extrusions", "square": "squares", "circle": "circles", "polygon": "polygons",
    "text": "pieces of text", "import": "imported files", "surface": "surfaces", "difference": "differences",
    "intersection": "intersections", "hull": "hulls", "minkowski": "Minkowski sums",
}  # fmt: skip
_NODE = re.compile(r"^\s*[%#]?(\w+)\((.*)\)\s*[;{]\s*$", re.M)
_RADII = re.compile(r"\br1 = ([^,)]+), r2 = ([^,)]+)")
_OF_FLAT = ("width", "depth")
_OF_SOLID = ("width", "depth", "height", "surface area", "volume")


def facts_of(tree: str, mesh: Facts, *, flat: bool) -> Facts:
    """`tree`: the code as OpenSCAD evaluates it (CSG); `mesh`: what the solid's triangles say."""
    found: Counter[str] = Counter()
    for name, arguments in _NODE.findall(tree):
        if name == "cylinder":
            radii = _RADII.search(arguments)
            found["cylinders" if radii is None or radii[1] == radii[2] else "cones"] += 1
        elif name in _KINDS:
            found[_KINDS[name]] += 1
    sizes = {key: mesh.sizes[key] for key in (_OF_FLAT if flat else _OF_SOLID) if key in mesh.sizes}
    sizes["number of separate pieces"] = mesh.sizes["pieces"]
    sizes |= {f"number of {kind}": float(count) for kind, count in sorted(found.items())}
    what = "a flat drawing made by OpenSCAD code" if flat else "a 3D model made by OpenSCAD code"
    return msgspec.structs.replace(mesh, what=what, sizes=sizes, parts=())
