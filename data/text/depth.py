"""How deep a page nests, and how much formatting it leaves open, from its tags alone.

Extraction by resiliparse is quadratic in depth, so deep pages never reach it. Parsing by the HTML standard is quadratic
in formatting elements left open: each block begins with copies of all of them, 15 kB make 300 MB.

Odd: it is a bound for refusing, not the parser's exact depth. Elements whose end tag may be left out (`p`, `li`, `td`,
…) are not counted, since old pages open thousands of them side by side; each needs a counted element around it to nest,
so the true depth stays below about four times the bound (table, tbody, tr, td).
"""

import re
from collections import Counter

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
_OPENED = re.compile(r"<([a-z][a-z0-9:-]*+)", re.IGNORECASE)
# Tags of one spelling: a leaf more that isn't seen only means that the page is walked.
_LEAF = re.compile(rf"<([a-zA-Z][a-zA-Z0-9:-]*+){_ATTRIBUTES}>[^<]*+</\1\s*>")
_LEVELS = 4  # looks at what is left when leaves are taken off, before a page is walked
_FOREIGN = frozenset({"svg", "path", "use", "circle", "rect", "g", "line"})  # where `/>` does close


def nesting_bound(page: str, cap: int) -> int:
    """The deepest nesting of counted elements, or cap + 1 as soon as it is passed. Linear in the page's length.

    0 where a count of tags shows that it can't pass the cap.
    """
    if page.count("<") <= cap:
        return 0
    left, bare = _counted(_OPENED.findall(page)), page
    if left <= cap:
        return 0
    for level in range(_LEVELS):  # an element of leaves alone is a leaf in the next round, where each nests by one
        left -= _counted(_LEAF.findall(bare))
        if left + level <= cap:
            return 0
        bare = _LEAF.sub("", bare)
    return _nesting(page, cap)


def _counted(names: list[str]) -> int:
    return sum(count for name, count in Counter(names).items() if name.lower() not in _UNCOUNTED)


def _nesting(page: str, cap: int) -> int:
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
# The first letter is looked at before the names, in all its cases: most tags go by it.
_NAMED = "<(/?)(?=[bcefistuBCEFISTU\u0130\u0131\u017f])(b|big|code|em|font|i|s|small|strike|strong|tt|u)(?=[\\s/>])"
_FORMATTING = re.compile(_NAMED + "([^>]{0,200})", re.IGNORECASE)
_FORMATTING_NAMES = re.compile(_NAMED + "[^>]{0,200}", re.IGNORECASE)
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
    return 0 if _few_open(page) else _tangle(page, cap)


def _few_open(page: str) -> bool:
    """Whether no more formatting elements than in ordinary pages are ever open at once."""
    left_open: dict[str, int] = {}
    count = 0
    for slash, name in _FORMATTING_NAMES.findall(page):
        if not slash:
            count += 1
            if count > _FEW:
                return False
            left_open[name] = left_open.get(name, 0) + 1
        elif left_open.get(name):
            left_open[name] -= 1
            count -= 1
    return True


def _tangle(page: str, cap: int) -> int:
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
    """How many different names of elements and attributes a page has, or 0 when they can't be many; values without
    quotes count as names.
    """
    tags = _VALUES.sub(" ", " ".join(_TAGS.findall(page)))
    return len(set(_NAMES.findall(tags))) if len(tags) > 2 * _MANY_NAMES else 0  # a name and what ends it take two
