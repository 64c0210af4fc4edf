"""Formulas of a page in LaTeX: the author's own source where the page carries it, else converted MathML.

Sources looked for, in this order: a TeX annotation inside MathML (KaTeX, Pandoc, MathJax 3, Wikipedia), `alttext`
(LaTeXML), MathJax 2's scripts, the alternative text of formula pictures (Wikipedia, WordPress, CodeCogs).
"""

import re

from trivium.data.text.html import mathml
from trivium.data.text.html.tree import Node

_TEX_NOTES = ("application/x-tex", "TeX", "LaTeX", "text/x-tex", "application/x-latex")
_PICTURE = re.compile(
    r"mwe-math-fallback|(?:^|\s)(?:tex|latex|math|formula|eq|MathTex)(?:$|\s)|katex-img", re.IGNORECASE
)
_SERVICE = re.compile(r"latex\.php|codecogs\.com|/latex\?|chart\?cht=tx|mimetex|mathtex|render/svg/", re.IGNORECASE)
_MARKED = re.compile(r"\\[a-zA-Z]|[_^=]|^\$.*\$$", re.DOTALL)
_WRAPPED = re.compile(r"\{\\displaystyle\s*(.*)\}\s*\Z", re.DOTALL)
_SPACES = re.compile(r"\s+")


def formula(node: Node) -> tuple[str, bool] | None:
    """(LaTeX, whether displayed) of a `math`, `script` or `img` element; None when it is no formula."""
    if node.tag == "math":
        return _of_mathml(node)
    if node.tag == "script":
        kind = node.get("type")
        if not kind.startswith("math/tex"):
            return None
        source = _clean(node.text())
        return (source, "display" in kind) if source else None
    if node.tag == "img":
        alt = node.get("alt").strip()
        if not alt or not (_PICTURE.search(node.names) or _SERVICE.search(node.get("src"))):
            return None
        if not _MARKED.search(alt) and len(alt) > 20:
            return None
        source = _clean(alt)
        return (source, "fallback-image-display" in node.names) if source else None
    return None


def _of_mathml(node: Node) -> tuple[str, bool] | None:
    display = node.get("display") == "block" or node.get("mode") == "display"
    source = ""
    for child in node.walk():
        if child.tag == "annotation" and child.get("encoding") in _TEX_NOTES:
            source = child.text()
            break
    source = _clean(source or node.get("alttext") or mathml.latex(node))
    return (source, display) if source else None


def _clean(source: str) -> str:
    """One line without delimiters and without MediaWiki's `{\\displaystyle …}` around the whole."""
    source = _SPACES.sub(" ", source).strip()
    for opening, closing in (("$$", "$$"), ("$", "$"), (r"\[", r"\]"), (r"\(", r"\)")):
        if source.startswith(opening) and source.endswith(closing) and len(source) > len(opening) + len(closing):
            source = source[len(opening) : -len(closing)].strip()
            break
    wrapped = _WRAPPED.match(source)
    if wrapped and _balanced(wrapped[1]):
        source = wrapped[1].strip()
    return source


def _balanced(text: str) -> bool:
    depth = 0
    for char in text:
        depth += (char == "{") - (char == "}")
        if depth < 0:
            return False
    return depth == 0
