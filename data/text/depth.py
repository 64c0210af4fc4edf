"""How deep a page nests, and how much formatting it leaves open, from its tags alone.

Extraction by resiliparse is quadratic in depth, so deep pages never reach it. Parsing by the HTML standard is quadratic
in formatting elements left open: each block begins with copies of all of them, 15 kB make 300 MB.

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
_START = re.compile(r"<[a-zA-Z]")
_VOID = "area|base|br|col|embed|hr|img|input|link|meta|param|source|track|wbr"  # never open
_OPTIONAL = "p|li|dt|dd|option|optgroup|tr|td|th|tbody|thead|tfoot|colgroup|rb|rt|rp|html|head|body"
_UNCOUNTED = frozenset(f"{_VOID}|{_OPTIONAL}".split("|"))
_FOREIGN = frozenset({"svg", "path", "use", "circle", "rect", "g", "line"})  # where `/>` does close


def nesting_bound(page: str, cap: int) -> int:
    """The deepest nesting of counted elements, or cap + 1 as soon as it is passed. Linear in the page's length."""
    if page.count("<") <= cap or len(_START.findall(page)) <= cap:
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


# The standard's formatting elements (`a` and `nobr` close their like); those left open are opened again in every block.
_FORMATTING = re.compile(
    r"<(/?)(b|big|code|em|font|i|s|small|strike|strong|tt|u)(?=[\s/>])([^>]{0,200})", re.IGNORECASE
)
_TAGS = re.compile(r"</?[a-zA-Z][^>]*")
_VALUES = re.compile(r"""=\s*(?:"[^"]*"|'[^']*')""")
_NAMES = re.compile(r"[^\s=<>/]+")
_SMALL = 1 << 18  # characters; a page below it can't hold names enough to matter
_MANY_NAMES = 50_000  # a parser's time is quadratic in distinct names of elements and attributes: here one second
_AGAIN = re.compile(r"<(?:body|html)[\s/]", re.IGNORECASE)  # their attributes are merged one by one
_TIMES = 50
_ALIKE = 3  # equal elements that the standard opens again at most ("Noah's Ark clause")
_FEW = 8  # open at once in ordinary pages


def tangle_bound(page: str, cap: int) -> int:
    """About how many elements a parser makes by itself of formatting left open, or a number above `cap`.

    Counts, for each stretch between two formatting tags, its tags times the formatting elements open there. Linear.
    """
    if len(_AGAIN.findall(page)) > _TIMES or (len(page) > _SMALL and _names(page) > _MANY_NAMES):
        return cap + 1
    left_open: dict[str, list[str]] = {}
    alike: dict[str, int] = {}
    count = total = last = 0
    for match in _FORMATTING.finditer(page):
        if count > _FEW:
            total += count * page.count("<", last, match.start() + 1)
            if total > cap:
                return total
        last = match.start() + 1
        slash, name, attributes = match.groups()
        stack = left_open.setdefault(name.lower(), [])
        if not slash:
            key = name.lower() + attributes
            stack.append(key)
            alike[key] = alike.get(key, 0) + 1
            count += alike[key] <= _ALIKE
        elif stack:
            key = stack.pop()
            count -= alike[key] <= _ALIKE
            alike[key] -= 1
    return total + (count * page.count("<", last) if count > _FEW else 0)


def _names(page: str) -> int:
    """How many different names of elements and attributes a page has; values without quotes count as names."""
    return len(set(_NAMES.findall(_VALUES.sub(" ", " ".join(_TAGS.findall(page))))))
