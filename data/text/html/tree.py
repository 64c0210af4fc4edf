"""A page as a light tree: parsed by lexbor to the HTML standard, then read once from its canonical serialisation.

Odd: walking the parser's own nodes from Python costs ten times more than reading the text that it writes, whose syntax
is so regular that one pattern holds for it (every element closed, every attribute quoted, `<` and `>` escaped). Inline
markup that changes no text (`span`, `b`, …) never becomes a node; links are counted, not kept.
"""

import re
from collections.abc import Iterator
from functools import lru_cache

from trivium.errors import InputError

# Never text of a page; scripts that hold the source of a formula are.
_UNSEEN = re.compile(
    r"<!--(?:[^-]++|-(?!->))*+-->|<!doctype[^>]*+>"
    r"|<(script|style|xmp|iframe|noembed|noframes|plaintext|svg|noscript|template|object|select|button|textarea|canvas"
    r'|audio|video|datalist|dialog|map|rp|rt)(?= |>)(?![^>]* type="math/)[^>]*+>(?:[^<]++|<(?!/\1>))*+</\1>'
)
_SOURCE = re.compile(r'(<script[^>]* type="math/tex[^>]*+>)((?:[^<]++|<(?!/script>))*+)')
_INLINE = "b|strong|i|em|font|small|big|u|s|strike|abbr|acronym|cite|dfn|var|mark|time|ins|bdi|bdo|nobr|wbr|ruby|rb|o:p"
_BARE = re.compile(rf"</?(?:{_INLINE}|span)(?: [^>]*)?>")
_BARE_BUT_SPANS = re.compile(rf"</?(?:{_INLINE})(?: [^>]*)?>")
_TYPESET = ("katex", "MathJax", "mjx-", "mathjax", "MJX")  # where spans hold drawn formulas
_TOKEN = re.compile(r"([^<]*+)<(/?)([a-zA-Z][^\s/>]*+)([^>]*+)>")
_ATTRIBUTE = re.compile(r' ([^\s=]+)="([^"]*)"')
VOID = frozenset(
    ["area", "base", "br", "col", "embed", "hr", "img", "input", "link", "meta", "param", "source", "track", "wbr"]
)
_SKIPPED = frozenset({"nav", "footer", "menu", "legend"})
_HIDDEN = re.compile(
    r'style="[^"]*(?:display:\s*none|visibility:\s*hidden)| hidden="| aria-hidden="true"'
    r'| role="(?:navigation|banner|contentinfo|complementary|search|menu|menubar|dialog|alert|alertdialog|toolbar'
    r'|tablist)"'
)
_CACHED = 200  # characters of attributes; longer ones are not worth keeping
INLINE = frozenset(
    ["a", "code", "kbd", "samp", "tt", "sub", "sup", "q", "img", "br", "math", "script", "label", "span"]
)
"""Tags that don't break a line."""
_KNOWN = frozenset(
    [
        "address",
        "article",
        "aside",
        "blockquote",
        "caption",
        "center",
        "cite",
        "code",
        "col",
        "colgroup",
        "dd",
        "details",
        "dir",
        "div",
        "dl",
        "dt",
        "fieldset",
        "figcaption",
        "figure",
        "footer",
        "form",
        "frameset",
        "h1",
        "h2",
        "h3",
        "h4",
        "h5",
        "h6",
        "header",
        "hgroup",
        "hr",
        "html",
        "img",
        "kbd",
        "label",
        "legend",
        "li",
        "main",
        "math",
        "menu",
        "nav",
        "ol",
        "p",
        "pre",
        "q",
        "samp",
        "script",
        "section",
        "span",
        "sub",
        "summary",
        "sup",
        "table",
        "tbody",
        "td",
        "tfoot",
        "th",
        "thead",
        "tr",
        "tt",
        "ul",
        "br",
    ]
)
_MATHML = frozenset(
    [
        "mi",
        "mn",
        "mo",
        "ms",
        "mtext",
        "mrow",
        "mfrac",
        "msqrt",
        "mroot",
        "msub",
        "msup",
        "msubsup",
        "munder",
        "mover",
        "munderover",
        "mmultiscripts",
        "mprescripts",
        "none",
        "mtable",
        "mtr",
        "mlabeledtr",
        "mtd",
        "mspace",
        "mstyle",
        "mpadded",
        "mphantom",
        "merror",
        "menclose",
        "mfenced",
        "maction",
        "semantics",
        "annotation",
        "annotation-xml",
        "maligngroup",
        "malignmark",
        "mglyph",
    ]
)


class TangledError(InputError):
    """A page with more elements than its limit; `found` is a lower bound."""


class Node:
    """An element: `children` are nodes and text, `names` its class and id in lower case, counts are of characters.

    `own` and `own_links` count what stands in the element itself, `flow` and `flow_links` that and its inline elements,
    `chars`, `links` and `mass` (text that reads like prose) the whole subtree. `kind` is what its name makes it,
    `noise` that it is left out.
    """

    __slots__ = (
        "attrs", "chars", "children", "claim", "flow", "flow_links", "kind", "links", "mass", "names", "noise", "own",
        "own_links", "parent", "tag",
    )  # fmt: skip

    def __init__(self, tag: str, attrs: str, parent: "Node | None") -> None:
        self.tag, self.attrs, self.parent = tag, attrs, parent
        self.names = (_names(attrs) if len(attrs) < _CACHED else _names.__wrapped__(attrs)) if attrs else ""
        self.children: list[Node | str] = []
        self.own = self.own_links = self.flow = self.flow_links = self.chars = self.links = 0
        self.mass = self.claim = 0.0
        self.noise = False
        self.kind = 0

    def get(self, name: str) -> str:
        """An attribute's value, unescaped; empty when absent."""
        if name not in self.attrs:
            return ""
        for key, value in _ATTRIBUTE.findall(self.attrs):
            if key == name:
                return unescape(value)
        return ""

    def nodes(self) -> Iterator["Node"]:
        return (child for child in self.children if isinstance(child, Node))

    def walk(self) -> Iterator["Node"]:
        """The element and all below it, in document order."""
        stack = [self]
        while stack:
            node = stack.pop()
            yield node
            stack.extend(child for child in reversed(node.children) if isinstance(child, Node))

    def text(self) -> str:
        """All text below, as it stands."""
        parts: list[str] = []
        stack: list[Node | str] = [self]
        while stack:
            item = stack.pop()
            if isinstance(item, str):
                parts.append(item)
            else:
                stack.extend(reversed(item.children))
        return "".join(parts)


def unescape(text: str) -> str:
    """The text that a canonical serialisation stands for."""
    if "&" not in text:
        return text
    text = text.replace("&nbsp;", "\xa0").replace("&lt;", "<").replace("&gt;", ">").replace("&quot;", '"')
    return text.replace("&amp;", "&")


def read_tree(markup: str, *, max_elements: int) -> tuple[Node, list[Node]]:
    """The body of a page from its canonical serialisation, and its nodes in document order.

    Raises TangledError above `max_elements`. Linear in the length of `markup`.
    """
    markup = _UNSEEN.sub("", markup)
    if "math/tex" in markup:  # a script's text is written as it is, not escaped
        markup = _SOURCE.sub(lambda match: match[1] + match[2].replace("&", "&amp;").replace("<", "&lt;"), markup)
    markup = markup.replace('<span class="classifier">', " : ")  # numpydoc, Sphinx: their style sheets write the colon
    bare = _BARE_BUT_SPANS if any(mark in markup for mark in _TYPESET) else _BARE
    markup = bare.sub("", markup)
    root = node = Node("body", "", None)
    order = [root]
    children = root.children
    in_link = False
    known = _KNOWN | _MATHML
    skipping, open_skipped = "", 0
    if (found := markup.count("<") // 2) > max_elements:
        raise TangledError(f"about {found:,} elements, limit {max_elements:,}")
    for text, slash, tag, attrs in _TOKEN.findall(markup + "<end>"):
        if skipping:
            if tag == skipping:
                open_skipped += -1 if slash else 1
                if not open_skipped:
                    skipping = ""
            continue
        if text:
            if "&" in text:
                text = unescape(text)
            children.append(text)
            if count := len(text.strip()):
                node.own += count
                if in_link:
                    node.own_links += count
        if tag not in known:
            if tag == "a":
                in_link = not slash
                continue
            if "-" not in tag:
                continue
            if tag.startswith("mjx-"):  # MathJax 3 draws with elements of its own
                attrs = attrs if tag != "mjx-math" else ' class="MathJax"'
                tag = "span"
        if slash:
            if tag == node.tag and node.parent is not None:
                node = node.parent
                children = node.children
        elif tag in _SKIPPED or (attrs and tag not in INLINE and _HIDDEN.search(attrs)):
            skipping, open_skipped = tag, 1
        else:
            child = Node(tag, attrs, node)
            children.append(child)
            order.append(child)
            if tag not in VOID:
                node = child
                children = child.children
    return root, order


@lru_cache(maxsize=1 << 14)
def _names(attrs: str) -> str:
    found = ""
    for key in (' class="', ' id="'):
        at = attrs.find(key)
        if at >= 0:
            at += len(key)
            found += " " + attrs[at : attrs.find('"', at)]
    return found
