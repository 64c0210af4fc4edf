"""MathML to LaTeX, for formulas that carry no source of their own.

Presentation MathML only (MathML Core and what MathType, LaTeXML and Word export); unknown elements are read as rows.
"""

import re
import unicodedata

from trivium.data.text.html.tree import Node

_SYMBOLS = {
    "−": "-", "⁢": "", "⁡": "", "⁣": "", "⁤": "", "\u200b": "", "′": "'", "″": "''", "∗": "*", "…": r"\ldots",
    "⋯": r"\cdots", "⋮": r"\vdots", "⋱": r"\ddots", "×": r"\times", "÷": r"\div", "±": r"\pm", "∓": r"\mp",
    "⋅": r"\cdot", "·": r"\cdot", "∘": r"\circ", "≤": r"\leq", "≥": r"\geq", "≠": r"\neq", "≈": r"\approx",
    "≡": r"\equiv", "∼": r"\sim", "≃": r"\simeq", "≅": r"\cong", "∝": r"\propto", "≪": r"\ll", "≫": r"\gg",
    "∈": r"\in", "∉": r"\notin", "∋": r"\ni", "⊂": r"\subset", "⊆": r"\subseteq", "⊃": r"\supset", "⊇": r"\supseteq",
    "∪": r"\cup", "∩": r"\cap", "∖": r"\setminus", "∅": r"\emptyset", "∀": r"\forall", "∃": r"\exists", "¬": r"\neg",
    "∧": r"\wedge", "∨": r"\vee", "⊕": r"\oplus", "⊗": r"\otimes", "⊥": r"\perp", "∥": r"\parallel", "∣": r"\mid",
    "→": r"\to", "←": r"\leftarrow", "↔": r"\leftrightarrow", "⇒": r"\Rightarrow", "⇐": r"\Leftarrow",
    "⇔": r"\Leftrightarrow", "⟹": r"\implies", "⟺": r"\iff", "↦": r"\mapsto", "↑": r"\uparrow", "↓": r"\downarrow",
    "∑": r"\sum", "∏": r"\prod", "∐": r"\coprod", "∫": r"\int", "∬": r"\iint", "∭": r"\iiint", "∮": r"\oint",
    "⋃": r"\bigcup", "⋂": r"\bigcap", "∂": r"\partial", "∇": r"\nabla", "∞": r"\infty", "ℏ": r"\hbar", "ℓ": r"\ell",
    "℘": r"\wp", "ℜ": r"\Re", "ℑ": r"\Im", "ℵ": r"\aleph", "∠": r"\angle", "√": r"\surd", "⟨": r"\langle",
    "⟩": r"\rangle", "⌊": r"\lfloor", "⌋": r"\rfloor", "⌈": r"\lceil", "⌉": r"\rceil", "‖": r"\|", "°": r"^\circ",
    "†": r"\dagger", "⊢": r"\vdash", "⊨": r"\models", "⊤": r"\top", "ℕ": r"\mathbb{N}", "ℤ": r"\mathbb{Z}",
    "ℚ": r"\mathbb{Q}", "ℝ": r"\mathbb{R}", "ℂ": r"\mathbb{C}", "ϵ": r"\epsilon", "ε": r"\varepsilon",
    "ϕ": r"\phi", "φ": r"\varphi", "ϑ": r"\vartheta", "ϱ": r"\varrho", "ς": r"\varsigma", "\xa0": r"\,",
    "{": r"\{", "}": r"\}", "%": r"\%", "&": r"\&", "#": r"\#", "$": r"\$", "_": r"\_", "\\": r"\backslash",
}  # fmt: skip
_GREEK = re.compile(r"GREEK (SMALL|CAPITAL) LETTER ([A-Z]+)\Z")
_LATIN_GREEK = frozenset({"OMICRON"})  # no command in LaTeX
_STYLES = (
    ("BOLD SCRIPT", "mathcal"), ("BOLD FRAKTUR", "mathfrak"), ("DOUBLE-STRUCK", "mathbb"), ("SCRIPT", "mathcal"),
    ("FRAKTUR", "mathfrak"), ("BLACK-LETTER", "mathfrak"), ("SANS-SERIF", "mathsf"), ("MONOSPACE", "mathtt"),
    ("BOLD", "mathbf"),
)  # fmt: skip
_VARIANTS = {
    "bold": "mathbf", "double-struck": "mathbb", "script": "mathcal", "fraktur": "mathfrak", "sans-serif": "mathsf",
    "monospace": "mathtt", "bold-italic": "boldsymbol", "bold-script": "mathcal", "bold-fraktur": "mathfrak",
}  # fmt: skip
_FUNCTIONS = frozenset(
    [
        "arccos",
        "arcsin",
        "arctan",
        "arg",
        "cos",
        "cosh",
        "cot",
        "coth",
        "csc",
        "deg",
        "det",
        "dim",
        "exp",
        "gcd",
        "hom",
        "inf",
        "ker",
        "lg",
        "lim",
        "liminf",
        "limsup",
        "ln",
        "log",
        "max",
        "min",
        "Pr",
        "sec",
        "sin",
        "sinh",
        "sup",
        "tan",
        "tanh",
    ]
)
_ACCENTS = {
    "^": "hat", "ˆ": "hat", "~": "tilde", "˜": "tilde", "¯": "bar", "‾": "overline", "_": "bar", "→": "vec", "⃗": "vec",
    "˙": "dot", ".": "dot", "¨": "ddot", "ˇ": "check", "˘": "breve", "⏞": "overbrace", "´": "acute", "`": "grave",
}  # fmt: skip
_UNDERS = {"⏟": "underbrace", "_": "underline", "¯": "underline", "‾": "underline"}
_LIMITS = frozenset(
    [
        "∑",
        "∏",
        "∐",
        "∫",
        "∬",
        "∭",
        "∮",
        "⋃",
        "⋂",
        "⋁",
        "⋀",
        "⨁",
        "⨂",
        "lim",
        "max",
        "min",
        "sup",
        "inf",
        "limsup",
        "liminf",
        "argmax",
        "argmin",
        "det",
        "gcd",
        "Pr",
    ]
)
_WORD_END = re.compile(r"\\[a-zA-Z]+\Z")
_MAX_DEPTH = 60


def latex(math: Node) -> str:
    """The formula in LaTeX, without delimiters; nesting below 60 levels is written as text."""
    return _join(_children(math, 0)).strip()


def _join(parts: list[str]) -> str:
    """Parts side by side; a command is kept apart from a letter behind it."""
    found = ""
    for part in parts:
        if not part:
            continue
        if found and part[0].isalpha() and _WORD_END.search(found):
            found += " "
        found += part
    return found


def _children(node: Node, depth: int) -> list[str]:
    return [_one(child, depth + 1) for child in node.nodes()] or [_text(node.text())]


def _row(node: Node, depth: int) -> str:
    return _join(_children(node, depth))


def _one(node: Node, depth: int) -> str:
    if depth > _MAX_DEPTH:
        return _text(node.text())
    tag = node.tag
    if tag in ("mi", "mn", "mo", "ms"):
        return _token(node)
    if tag == "mtext":
        text = node.text().replace("\xa0", " ")
        return rf"\text{{{text}}}" if text.strip() else (" " if text else "")
    if tag == "mspace":
        return r"\\" if "linebreak" in node.attrs else " "
    if tag in ("annotation", "annotation-xml", "mphantom", "malignmark", "maligngroup", "mprescripts", "none"):
        return ""
    if tag == "mtable":
        return _table(node, depth)
    if tag == "mfenced":
        return _fenced(node, depth)
    if tag == "mmultiscripts":
        return _multiscripts(node, depth)
    build = _BUILDERS.get(tag)
    if build is None:
        return _row(node, depth)
    parts = _children(node, depth)
    kids = list(node.nodes())
    return build(parts, kids) if len(parts) == len(kids) else _join(parts)


def _token(node: Node) -> str:
    raw = node.text().strip()
    if node.tag == "ms":
        return rf"\text{{“{raw}”}}"
    if node.tag in ("mi", "mo") and len(raw) > 1 and raw.isalpha():
        return f"\\{raw} " if raw in _FUNCTIONS else rf"\operatorname{{{raw}}}" if raw.isascii() else rf"\text{{{raw}}}"
    text = _text(raw)
    variant = _VARIANTS.get(node.get("mathvariant"))
    if variant and text:
        return rf"\{variant}{{{text}}}"
    spaced = node.tag == "mo" and ((text[:1] == "\\" and text[1:2].isalpha()) or text in ("=", "<", ">"))
    return f" {text} " if spaced else text


def _text(raw: str) -> str:
    return _join([_symbol(char) for char in raw.strip()])


def _symbol(char: str) -> str:
    if char in _SYMBOLS:
        return _SYMBOLS[char]
    if char.isascii():
        return char
    name = unicodedata.name(char, "")
    greek = _GREEK.match(name)
    if greek and greek[2] not in _LATIN_GREEK:
        word = greek[2].replace("LAMDA", "LAMBDA").lower()
        if greek[1] == "SMALL":
            return f"\\{word}"
        if unicodedata.normalize("NFKD", char) and word in (
            "gamma", "delta", "theta", "lambda", "xi", "pi", "sigma", "upsilon", "phi", "psi", "omega",
        ):  # fmt: skip
            return f"\\{word.capitalize()}"
        return char
    if name.startswith("MATHEMATICAL "):
        plain = _join([_symbol(base) for base in unicodedata.normalize("NFKC", char)])
        for style, command in _STYLES:
            if f"MATHEMATICAL {style}" in name:
                return rf"\{command}{{{plain}}}"
        return plain
    return char


def _group(text: str) -> str:
    """An argument: one plain character stands alone, the rest in braces."""
    text = text.strip()
    return text if len(text) == 1 else f"{{{text}}}"


def _base(text: str) -> str:
    text = text.strip()
    bare = len(text) <= 1 or re.fullmatch(r"\\[A-Za-z]+|\\[a-z]+\{[^{}]*\}|\d+|[([{|].*|.*[)\]}|]", text)
    return text if bare else f"{{{text}}}"


def _over(parts: list[str], kids: list[Node]) -> str:
    mark = kids[1].text().strip()
    if mark in _ACCENTS:
        name = _ACCENTS[mark]
        if name == "bar" and len(parts[0].strip()) > 1:
            name = "overline"
        return rf"\{name}{{{parts[0].strip()}}}"
    if _limits(kids[0]):
        return f"{parts[0].strip()}^{_group(parts[1])}"
    return rf"\overset{{{parts[1].strip()}}}{{{parts[0].strip()}}}"


def _under(parts: list[str], kids: list[Node]) -> str:
    mark = kids[1].text().strip()
    if mark in _UNDERS:
        return rf"\{_UNDERS[mark]}{{{parts[0].strip()}}}"
    if _limits(kids[0]):
        return f"{parts[0].strip()}_{_group(parts[1])}"
    return rf"\underset{{{parts[1].strip()}}}{{{parts[0].strip()}}}"


def _limits(base: Node) -> bool:
    text = base.text().strip()
    return text in _LIMITS or base.tag in ("munder", "mover", "munderover")


def _underover(parts: list[str], kids: list[Node]) -> str:
    if _limits(kids[0]):
        return f"{parts[0].strip()}_{_group(parts[1])}^{_group(parts[2])}"
    return rf"\overset{{{parts[2].strip()}}}{{\underset{{{parts[1].strip()}}}{{{parts[0].strip()}}}}}"


def _enclose(parts: list[str], kids: list[Node]) -> str:
    return rf"\boxed{{{_join(parts).strip()}}}"


def _arity(count: int, template: str):  # type: ignore[no-untyped-def]
    def build(parts: list[str], kids: list[Node]) -> str:
        if len(parts) != count:
            return _join(parts)
        return template.format(*(part.strip() for part in parts))

    return build


_BUILDERS = {
    "mfrac": _arity(2, r"\frac{{{0}}}{{{1}}}"),
    "mroot": _arity(2, r"\sqrt[{1}]{{{0}}}"),
    "msqrt": lambda parts, kids: rf"\sqrt{{{_join(parts).strip()}}}",
    "msub": lambda p, k: f"{_base(p[0])}_{_group(p[1])}" if len(p) == 2 else _join(p),
    "msup": lambda p, k: f"{_base(p[0])}^{_group(p[1])}" if len(p) == 2 else _join(p),
    "msubsup": lambda p, k: f"{_base(p[0])}_{_group(p[1])}^{_group(p[2])}" if len(p) == 3 else _join(p),
    "mover": lambda p, k: _over(p, k) if len(p) == 2 else _join(p),
    "munder": lambda p, k: _under(p, k) if len(p) == 2 else _join(p),
    "munderover": lambda p, k: _underover(p, k) if len(p) == 3 else _join(p),
    "menclose": _enclose,
}


def _fenced(node: Node, depth: int) -> str:
    opening = node.get("open") if "open=" in node.attrs else "("
    closing = node.get("close") if "close=" in node.attrs else ")"
    separators = node.get("separators").strip() if "separators=" in node.attrs else ","
    parts = _children(node, depth)
    found = parts[0] if parts else ""
    for index, part in enumerate(parts[1:]):
        found += (separators[min(index, len(separators) - 1)] if separators else "") + part
    return f"{_text(opening)}{found}{_text(closing)}"


def _multiscripts(node: Node, depth: int) -> str:
    kids = list(node.nodes())
    if not kids:
        return ""
    before = next((at for at, kid in enumerate(kids) if kid.tag == "mprescripts"), len(kids))
    return (
        _scripts(kids[before + 1 :], "{}", depth)
        + _base(_one(kids[0], depth + 1))
        + _scripts(kids[1:before], "", depth)
    )


def _scripts(kids: list[Node], base: str, depth: int) -> str:
    found = ""
    for at in range(0, len(kids) - 1, 2):
        for mark, kid in (("_", kids[at]), ("^", kids[at + 1])):
            text = _one(kid, depth + 1).strip()
            found += mark + _group(text) if text else ""
    return base + found if found else ""


def _table(node: Node, depth: int) -> str:
    rows = []
    for row in node.nodes():
        cells = [_row(cell, depth + 2).strip() for cell in row.nodes()]
        rows.append(" & ".join(cells))
    return r"\begin{matrix}" + r" \\ ".join(rows) + r"\end{matrix}"
