"""The elements and attributes that a clean page may hold."""

_TEXT = """a abbr address article aside b bdi bdo blockquote br caption center cite code dd del details dfn div dl dt em
figcaption figure font footer form h1 h2 h3 h4 h5 h6 header hgroup hr i ins kbd label legend li main mark menu meter nav
ol optgroup option output p pre progress q rp rt ruby s samp search section select small span strike strong sub summary
sup table tbody td textarea tfoot th thead time tr tt u ul var wbr col colgroup button input fieldset datalist img map
area canvas"""
_SVG = """svg g path rect circle ellipse line polyline polygon text tspan textPath defs linearGradient radialGradient
    stop clipPath mask pattern marker symbol use image title desc filter feGaussianBlur feOffset feBlend feColorMatrix
    feComposite feFlood feMerge feMergeNode feDropShadow"""
DRAWING = set(_SVG.split())
_MATHS = "math mi mn mo mrow ms mspace msub msup msubsup mfrac msqrt mroot mtext munder mover munderover mtable mtr mtd"
TAGS = set(_TEXT.split()) | DRAWING | set(_MATHS.split())

_PAINT = """fill stroke stroke-width stroke-linecap stroke-linejoin stroke-dasharray stroke-dashoffset stroke-miterlimit
stroke-opacity fill-opacity fill-rule clip-rule clip-path mask filter opacity transform color stop-color stop-opacity
font-size font-family font-weight text-anchor dominant-baseline alignment-baseline letter-spacing vector-effect
paint-order display visibility overflow marker-start marker-mid marker-end shape-rendering"""
_SHAPE = """x y x1 y1 x2 y2 cx cy r rx ry dx dy d points width height viewBox viewbox preserveAspectRatio
preserveaspectratio offset gradientUnits gradientunits gradientTransform gradienttransform patternUnits patternunits
patternTransform patterntransform patternContentUnits clipPathUnits clippathunits maskUnits maskunits markerWidth
markerHeight refX refY orient markerUnits spreadMethod fx fy fr href version xmlns stdDeviation stddeviation in in2
result mode type values operator flood-color flood-opacity rotate textLength lengthAdjust startOffset"""
_DRAWN = set((_PAINT + " " + _SHAPE).split())

ATTRIBUTES: dict[str, set[str]] = {
    "*": {"id", "class", "style", "lang", "dir", "title", "role", "align"},
    **{tag: set(_DRAWN) for tag in DRAWING},
    "a": {"href"},
    "img": {"src", "alt", "width", "height"},
    "input": {"type", "value", "placeholder", "checked", "disabled", "readonly", "size", "min", "max", "src"},
    "button": {"type", "disabled"},
    "textarea": {"rows", "cols", "placeholder", "disabled"},
    "select": {"multiple", "size", "disabled"},
    "option": {"value", "selected", "label"},
    "optgroup": {"label"},
    "label": {"for"},
    "progress": {"value", "max"},
    "meter": {"value", "min", "max", "low", "high", "optimum"},
    "ol": {"start", "type", "reversed"},
    "li": {"value"},
    "table": {"border", "cellpadding", "cellspacing", "width", "bgcolor"},
    **{tag: {"colspan", "rowspan", "width", "height", "valign", "bgcolor", "nowrap"} for tag in ("td", "th")},
    "tr": {"bgcolor", "valign"},
    "col": {"span", "width"},
    "colgroup": {"span", "width"},
    "font": {"color", "size", "face"},
    "hr": {"width", "size", "color"},
    "details": {"open"},
    "canvas": {"width", "height"},
}
