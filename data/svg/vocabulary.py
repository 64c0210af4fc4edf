"""The allow-lists: elements, their own attributes, and the presentation properties with the kind of value each takes.

Sources: SVG 1.1 second edition, appendix on elements, and its property index (initial values, inheritance).
"""

ACTIVE = {
    "script": "script",
    "handler": "script",
    "listener": "script",
    "foreignObject": "foreign_object",
    "animate": "animation",
    "animateColor": "animation",
    "animateMotion": "animation",
    "animateTransform": "animation",
    "set": "animation",
    "discard": "animation",
    "mpath": "animation",
}
NAMELESS = frozenset({"title", "desc", "metadata", "style"})  # read or dropped, never written
TEXT_ELEMENTS = frozenset({"text", "tspan"})
SHAPES = frozenset({"path", "rect", "circle", "ellipse", "line", "polyline", "polygon"})
GRADIENTS = frozenset({"linearGradient", "radialGradient"})
# What these hold is drawn only through a reference.
HIDDEN = frozenset({"defs", "symbol", "clipPath", "mask", "pattern", "marker", "filter", *GRADIENTS})
FILTERS = frozenset(
    {"feBlend", "feColorMatrix", "feComposite", "feFlood", "feGaussianBlur", "feMerge", "feMergeNode", "feOffset"}
)
DRAWN = frozenset({*SHAPES, *TEXT_ELEMENTS, "use", "image"})

_BOX = ("x", "y", "width", "height")
# Attributes of each element in the order in which they are written.
OWN: dict[str, tuple[str, ...]] = {
    "svg": ("width", "height", "viewBox", "preserveAspectRatio"),
    "g": (),
    "a": (),
    "defs": (),
    "symbol": ("viewBox", "preserveAspectRatio"),
    "use": ("href", *_BOX),
    "image": (*_BOX, "preserveAspectRatio", "href"),
    "path": ("d",),
    "rect": (*_BOX, "rx", "ry"),
    "circle": ("cx", "cy", "r"),
    "ellipse": ("cx", "cy", "rx", "ry"),
    "line": ("x1", "y1", "x2", "y2"),
    "polyline": ("points",),
    "polygon": ("points",),
    "text": ("x", "y", "dx", "dy"),
    "tspan": ("x", "y", "dx", "dy"),
    "linearGradient": ("href", "x1", "y1", "x2", "y2", "gradientUnits", "spreadMethod", "gradientTransform"),
    "radialGradient": ("href", "cx", "cy", "r", "fx", "fy", "gradientUnits", "spreadMethod", "gradientTransform"),
    "stop": ("offset",),
    "clipPath": ("clipPathUnits",),
    "mask": (*_BOX, "maskUnits", "maskContentUnits"),
    "pattern": (
        "href",
        *_BOX,
        "viewBox",
        "preserveAspectRatio",
        "patternUnits",
        "patternContentUnits",
        "patternTransform",
    ),
    "marker": (
        "viewBox",
        "preserveAspectRatio",
        "refX",
        "refY",
        "markerWidth",
        "markerHeight",
        "markerUnits",
        "orient",
    ),
    "filter": (*_BOX, "filterUnits", "primitiveUnits"),
    "feBlend": ("in", "in2", "mode", "result"),
    "feColorMatrix": ("in", "type", "values", "result"),
    "feComposite": ("in", "in2", "operator", "k1", "k2", "k3", "k4", "result"),
    "feFlood": ("result",),
    "feGaussianBlur": ("in", "stdDeviation", "result"),
    "feMerge": ("result",),
    "feMergeNode": ("in",),
    "feOffset": ("in", "dx", "dy", "result"),
}
ELEMENTS = frozenset({*OWN, *NAMELESS})

COORDINATES = frozenset(
    {"x", "y", "width", "height", "rx", "ry", "cx", "cy", "r", "fx", "fy", "x1", "y1", "x2", "y2", "dx", "dy"}
    | {"refX", "refY", "markerWidth", "markerHeight"}
)
NOT_NEGATIVE = frozenset({"width", "height", "r", "rx", "ry", "markerWidth", "markerHeight"})
TRANSFORMS = frozenset({"transform", "gradientTransform", "patternTransform"})
UNITS = {
    "gradientUnits": "objectBoundingBox",
    "patternUnits": "objectBoundingBox",
    "patternContentUnits": "userSpaceOnUse",
    "clipPathUnits": "userSpaceOnUse",
    "maskUnits": "objectBoundingBox",
    "maskContentUnits": "userSpaceOnUse",
    "filterUnits": "objectBoundingBox",
    "primitiveUnits": "userSpaceOnUse",
}

# property: (kind of value, initial value, inherited)
PROPERTIES: dict[str, tuple[str, str, bool]] = {
    "clip-path": ("reference", "none", False),
    "clip-rule": ("word", "nonzero", True),
    "color": ("color", "#000", True),
    "color-interpolation-filters": ("word", "linearRGB", True),
    "display": ("word", "inline", False),
    "fill": ("paint", "#000", True),
    "fill-opacity": ("fraction", "1", True),
    "fill-rule": ("word", "nonzero", True),
    "filter": ("reference", "none", False),
    "flood-color": ("color", "#000", False),
    "flood-opacity": ("fraction", "1", False),
    "marker-end": ("reference", "none", True),
    "marker-mid": ("reference", "none", True),
    "marker-start": ("reference", "none", True),
    "mask": ("reference", "none", False),
    "opacity": ("fraction", "1", False),
    "overflow": ("word", "", False),
    "paint-order": ("words", "normal", True),
    "stop-color": ("color", "#000", False),
    "stop-opacity": ("fraction", "1", False),
    "stroke": ("paint", "none", True),
    "stroke-dasharray": ("lengths", "none", True),
    "stroke-dashoffset": ("length", "0", True),
    "stroke-linecap": ("word", "butt", True),
    "stroke-linejoin": ("word", "miter", True),
    "stroke-miterlimit": ("number", "4", True),
    "stroke-opacity": ("fraction", "1", True),
    "stroke-width": ("length", "1", True),
    "vector-effect": ("word", "none", False),
    "visibility": ("word", "visible", True),
}
TEXT_PROPERTIES: dict[str, tuple[str, str, bool]] = {
    "font-family": ("family", "", True),
    "font-size": ("length", "", True),
    "font-style": ("word", "normal", True),
    "font-weight": ("word", "", True),
    "text-anchor": ("word", "start", True),
}
# These change the picture and neither engine or only one knows them.
PICTURE_CHANGING = frozenset({"mix-blend-mode", "transform", "d", "clip", "mask-image", "background-image"})
NEUTRAL = frozenset({"normal", "none", "auto", "inherit"})  # values of the above that change nothing
WORDS: dict[str, frozenset[str]] = {
    "clip-rule": frozenset({"nonzero", "evenodd"}),
    "color-interpolation-filters": frozenset({"linearRGB", "sRGB", "auto"}),
    "display": frozenset({"none", "inline", "block", "inherit"}),
    "fill-rule": frozenset({"nonzero", "evenodd"}),
    "overflow": frozenset({"visible", "hidden", "auto", "scroll"}),
    "stroke-linecap": frozenset({"butt", "round", "square"}),
    "stroke-linejoin": frozenset({"miter", "round", "bevel"}),
    "vector-effect": frozenset({"none", "non-scaling-stroke"}),
    "visibility": frozenset({"visible", "hidden", "collapse"}),
    "font-style": frozenset({"normal", "italic", "oblique"}),
    "font-weight": frozenset({"normal", "bold", "bolder", "lighter", *(str(n) for n in range(100, 1000, 100))}),
    "text-anchor": frozenset({"start", "middle", "end"}),
}
