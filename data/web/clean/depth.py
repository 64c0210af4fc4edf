"""How deep a page's elements lie in each other, counted on its bytes before any browser sees it.

One pass, linear in the page, and it ends where a limit is passed. What HTML closes by itself (a `p` before a `div`, a
`li` before the next one) is closed here too, so sloppy pages are not called deep. Odd: this is no parser. It knows as
much of HTML's rules as decides depth, and where it knows less than a browser, the browser's own limits still hold.
"""

import re
from typing import NamedTuple

_NEXT = re.compile(r"<(?:!--|(/?)([a-zA-Z][^\s/>]*))")
# To the end of a tag: a quote counts only behind an equals sign. Possessive, so nothing is ever tried twice.
_REST = re.compile(r"""(?:[^>=]|=\s*+(?:"[^"]*+"|'[^']*+')?+)*+>""")
_VOID = frozenset("area base br col embed hr img image input keygen link meta param source track wbr".split())  # noqa: SIM905
# What they hold is text, no elements.
_PLAIN = frozenset("script style textarea title xmp iframe noembed noframes".split())  # noqa: SIM905
_ENDS = {name: re.compile(rf"</{name}(?=[\s/>])", re.IGNORECASE) for name in _PLAIN}
_BLOCKS = frozenset(
    "address article aside blockquote center details dialog dir div dl fieldset figcaption figure footer form "  # noqa: SIM905
    "h1 h2 h3 h4 h5 h6 header hgroup hr li listing main menu nav ol p pre search section summary table ul dd dt".split()
)
# What an element's beginning ends, and what it looks no further than.
_SCOPE = frozenset(
    "table td th caption html template object applet marquee button svg math foreignobject".split()  # noqa: SIM905
)
_LISTS = _SCOPE | {"ul", "ol", "menu", "dir"}
_ROWS = frozenset(["tbody", "thead", "tfoot"])
_TABLE = frozenset(("table", "template", "html"))
_CLOSES: dict[str, tuple[frozenset[str], frozenset[str]]] = {
    "li": (frozenset(("li",)), _LISTS),
    "dt": (frozenset(("dt", "dd")), _SCOPE | {"dl"}),
    "dd": (frozenset(("dt", "dd")), _SCOPE | {"dl"}),
    "td": (frozenset(("td", "th")), _TABLE | {"tr"}),
    "th": (frozenset(("td", "th")), _TABLE | {"tr"}),
    "tr": (frozenset(("tr",)), _TABLE),
    **dict.fromkeys(_ROWS, (_ROWS, _TABLE)),
    "caption": (frozenset(("caption",)), _TABLE),
    "colgroup": (frozenset(("colgroup",)), _TABLE),
    "option": (frozenset(("option",)), _SCOPE | {"select", "optgroup"}),
    "optgroup": (frozenset(("option", "optgroup")), _SCOPE | {"select"}),
    "a": (frozenset(("a",)), _SCOPE),
    "nobr": (frozenset(("nobr",)), _SCOPE),
    "button": (frozenset(("button",)), _SCOPE - {"button"}),
    "form": (frozenset(("form",)), frozenset(("template", "html"))),
    "rp": (frozenset(("rp", "rt")), _SCOPE | {"ruby"}),
    "rt": (frozenset(("rp", "rt")), _SCOPE | {"ruby"}),
}
_TABULAR = _ROWS | {"table", "td", "th", "tr", "caption", "colgroup"}
_ONE = frozenset(("html", "head", "body", "frameset"))  # never twice
_DRAWING = frozenset(("svg", "math"))  # where `/>` ends an element
# Of drawings, that hold HTML.
_WORDS = frozenset("foreignobject desc title annotation-xml mi mo mn ms mtext".split())  # noqa: SIM905


class _Open(NamedTuple):
    name: str
    foreign: bool  # of a drawing
    inner: bool  # whether what it holds is of a drawing


def beyond(payload: bytes, depth: int, tags: int) -> str:
    """`too_deep` for a page of which an element lies in `depth` others or more, `too_many_elements` for one of more
    than so many tags; "" for all others.
    """
    text = _text(payload)
    held: list[_Open] = []
    at = count = 0
    while found := _NEXT.search(text, at):
        if found[2] is None:
            at = text.find("-->", found.start() + 2)  # `<!-->` is a whole comment
            if at < 0:
                return ""
            continue
        count += 1
        if count > tags:
            return "too_many_elements"
        rest = _REST.match(text, found.end())
        if rest is None:  # the page ends inside a tag
            return ""
        at, name = rest.end(), found[2].lower()
        if found[1]:
            _end(held, name)
            continue
        foreign = name in _DRAWING or bool(held and held[-1].inner)
        if not foreign:
            if name == "plaintext":
                return ""
            if name in _VOID or (name in _ONE and any(one.name == name for one in held)):
                continue
            _close(held, name)
            if name in _PLAIN:
                end = _ENDS[name].search(text, at)
                if end is None:
                    return ""
                at = end.start()
                continue
        elif text[at - 2] == "/":
            continue
        held.append(_Open(name, foreign, foreign and name not in _WORDS))
        if len(held) > depth:
            return "too_deep"
    return ""


def _close(held: list[_Open], name: str) -> None:
    """Ends what cannot go on where an element of this name begins."""
    names, scope = _CLOSES.get(name, (frozenset(), _SCOPE))
    if names:
        _pop(held, names, scope)
    if name in _BLOCKS:
        _pop(held, frozenset(("p",)), _SCOPE)


def _end(held: list[_Open], name: str) -> None:
    _pop(held, frozenset((name,)), _TABLE if name in _TABULAR else _SCOPE)


def _pop(held: list[_Open], names: frozenset[str], scope: frozenset[str]) -> None:
    """Ends the innermost element of these names and all that it holds, unless one of `scope` lies between."""
    for place in range(len(held) - 1, -1, -1):
        if held[place].name in names:
            del held[place:]
            return
        if held[place].name in scope:
            return


def _text(payload: bytes) -> str:
    """As a browser would read it, as far as tags go: by its mark of order, else a byte a character."""
    for mark, encoding in ((b"\xff\xfe", "utf-16-le"), (b"\xfe\xff", "utf-16-be")):
        if payload.startswith(mark):
            return payload.decode(encoding, "replace")
    return payload.decode("latin-1")
