"""How deep a page nests, from its tags alone: extraction is quadratic in depth, so deep pages never reach it.

Odd: it is a bound for refusing, not the parser's exact depth. Elements whose end tag may be left out (`p`, `li`, `td`,
…) are not counted, since old pages open thousands of them side by side; each needs a counted element around it to nest,
so the true depth stays below about four times the bound (table, tbody, tr, td).
"""

import re

_ATTRIBUTES = r"""(?:[^>"']++|"[^"]*+"|'[^']*+')*+"""
_TAG = re.compile(
    rf"""<!--(?:.*?-->|.*)
    |<(?P<raw>script|style|textarea|title|xmp|iframe|noembed|noframes)\b(?:.*?</(?P=raw)\b|.*)
    |<(?P<leaf>[a-z][a-z0-9:-]*+){_ATTRIBUTES}>[^<]*+</(?P=leaf)\s*>
    |<(?P<close>/?)(?P<name>[a-z][a-z0-9:-]*+){_ATTRIBUTES}""",
    re.DOTALL | re.IGNORECASE | re.VERBOSE,
)
_VOID = "area|base|br|col|embed|hr|img|input|link|meta|param|source|track|wbr"  # never open
_OPTIONAL = "p|li|dt|dd|option|optgroup|tr|td|th|tbody|thead|tfoot|colgroup|rb|rt|rp|html|head|body"
_UNCOUNTED = frozenset(f"{_VOID}|{_OPTIONAL}".split("|"))
_FOREIGN = frozenset({"svg", "path", "use", "circle", "rect", "g", "line"})  # where `/>` does close


def nesting_bound(page: str, cap: int) -> int:
    """The deepest nesting of counted elements, or cap + 1 as soon as it is passed. Linear in the page's length."""
    if page.count("<") <= cap:
        return 0
    opened: dict[str, int] = {}
    depth = deepest = 0
    for match in _TAG.finditer(page):
        name = match["name"]
        if name is None or (name := name.lower()) in _UNCOUNTED:  # a leaf opens and closes at once
            continue
        if match["close"]:
            if opened.get(name, 0) > 0:
                opened[name] -= 1
                depth -= 1
        elif not match[0].endswith("/") or name not in _FOREIGN:
            opened[name] = opened.get(name, 0) + 1
            depth += 1
            if depth > deepest:
                deepest = depth
                if deepest > cap:
                    return deepest
    return deepest
