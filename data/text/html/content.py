"""Which part of a page is its main content.

The prose of a page (its *mass*) is counted bottom up. From the body the search goes down as long as one child holds
nearly all of it, where elements that call themselves the article weigh more; then siblings that carry on the text and
the lead paragraph above it join. Inside, blocks of links and named boilerplate go. Names are taken at their word only
while they leave enough of the page.
"""

import re
from collections.abc import Iterator

from trivium.data.text.html.names import (
    CLEAN,
    DOUBTFUL,
    HIDDEN,
    SURE,
    boilerplate,
    is_body,
    is_drawn,
    is_lead,
    is_talk,
    is_text,
)  # fmt: skip
from trivium.data.text.html.tree import INLINE, Node

_HEADINGS = frozenset({"h1", "h2", "h3", "h4", "h5", "h6"})
_LEAVES = frozenset({"p", "pre", "tr", "td", "blockquote", "table", "tbody", "ul", "ol", "dl"})
_PARTS = _HEADINGS | {"p", "pre", "td", "th", "tr", "li", "dt", "dd"}  # judged with the block that they stand in
_FULL = 80  # characters of own text, without links, that count as a whole paragraph
_SECTION = re.compile(r"(?:^| )(?:section|sect[1-6]|level[1-6])(?: |$)")
_LITTLE = 250  # characters of prose below which names may have hidden the text
_NEARLY_ALL = 0.7
_NEARLY_ALL_OF_TEXT = 0.85  # of an element that calls itself the text
_DOMINANT = {SURE: 0.8, DOUBTFUL: 0.6}  # a named element with so much of the page's prose is no boilerplate
_CLAIMS = {"main": 6.0, "article": 3.0}
_BODY_CLAIM = 6.0
_TEASER = 1000  # characters; `article` elements below it are as often teasers of others
_TOLD = 8  # characters of an item beside its links: "In progress:"
_CARRY_ON = 0.06  # of the chosen prose: loose paragraphs beside it that make their parent the choice


def main_content(root: Node, order: list[Node]) -> list[Node]:
    """The nodes that make the main content, in order, with `noise` set on what is to be left out below them."""
    for node in order:
        node.kind = _kind(node)
    _weigh(order, DOUBTFUL)
    if root.mass < 0.5 * sum([node.own - node.own_links for node in order]):
        _reconsider(root, order)
    chosen = _with_parts(_with_paragraphs(_descend(root)))
    for node in chosen:
        _clean(node)
    return [*_leads(chosen[0]), *chosen]


def _kind(node: Node) -> int:
    tag = node.tag
    if tag in ("figcaption", "label"):
        return HIDDEN
    if not node.attrs:
        return DOUBTFUL if tag == "aside" else CLEAN
    if tag == "span":
        return HIDDEN if is_drawn(node.names) else CLEAN
    if not node.names or tag in ("main", "article") or tag in INLINE or tag in _HEADINGS:
        return DOUBTFUL if tag == "aside" else CLEAN
    if _is_boxed(node):
        return CLEAN
    return boilerplate(node.names) or (DOUBTFUL if tag == "aside" else CLEAN)


def _is_boxed(node: Node) -> bool:
    """DocBook's sidebar: a boxed passage of the text with a title, not a column beside it."""
    return node.names == " sidebar" and any(part.names == " titlepage" for part in node.nodes())


def _weigh(order: list[Node], level: int) -> None:
    """Counts, from the leaves up; what is noise at `level` counts nothing above it."""
    for node in order:
        node.noise = node.kind >= level
        node.chars = node.flow = node.own
        node.links = node.flow_links = node.own_links
        node.mass = node.claim = 0.0
    for node in reversed(order):
        if node.tag not in _HEADINGS and node.flow_links * 2 < node.flow:
            plain = node.flow - node.flow_links
            prose = plain if plain >= _FULL else plain * plain / _FULL
            node.mass += prose
            node.claim += prose
        if node.mass >= _LITTLE and (claim := _claim(node)):
            node.claim = max(node.claim, claim * node.mass)
        parent = node.parent
        if parent is not None and not node.noise:
            if node.tag in INLINE:
                parent.flow += node.flow
                parent.flow_links += node.flow_links
            else:
                parent.mass += node.mass
                parent.claim += node.claim
            parent.chars += node.chars
            parent.links += node.links


def _claim(node: Node) -> float:
    """By how much an element that calls itself the article outweighs others; 0 for those that don't."""
    if node.attrs:
        if 'itemprop="articleBody"' in node.attrs or 'role="main"' in node.attrs:
            return _BODY_CLAIM
        if node.names and is_body(node.names):
            return _BODY_CLAIM
    if node.tag == "article" and node.mass < _TEASER:
        return 0.0
    return _CLAIMS.get(node.tag, 0.0)


def _reconsider(root: Node, order: list[Node]) -> None:
    """Where names hide most of a page, takes fewer of them at their word."""
    mass = {}
    for level in (HIDDEN, SURE, DOUBTFUL):
        _weigh(order, level)
        mass[level] = root.mass
        if level > DOUBTFUL:
            most = _DOMINANT[level - 1] * root.mass
            for node in order:
                if node.kind == level - 1 and node.mass > most and not is_talk(node.names):
                    node.kind = CLEAN
    level = DOUBTFUL
    if mass[level] < min(_LITTLE, 0.5 * mass[SURE]) or mass[level] < 0.1 * mass[SURE]:
        level = HIDDEN if mass[SURE] < min(_LITTLE, 0.5 * mass[HIDDEN]) else SURE
        _weigh(order, level)


def _descend(root: Node) -> Node:
    """The deepest element that still holds nearly all of the prose of each element around it."""
    node = root
    while True:
        blocks = [child for child in node.nodes() if not child.noise and child.tag not in INLINE]
        if not blocks:
            return node
        best = max(blocks, key=_by_claim)
        keep = _NEARLY_ALL_OF_TEXT if node.tag in _CLAIMS or is_text(node.names) else _NEARLY_ALL
        bare = node.mass - sum([block.mass for block in blocks])
        whole = sum([block.claim for block in blocks]) + bare
        if best.claim < keep * whole or best.claim == 0 or best.tag in _LEAVES:
            return node
        if _is_section(best) and any(child.tag in _HEADINGS for child in node.nodes()):
            return node  # a part of the text below a heading that is the whole's
        node = best


def _is_section(node: Node) -> bool:
    """A part with a heading of its own, as generators of manuals nest them."""
    return node.tag == "section" or bool(_SECTION.search(node.names))


def _by_claim(node: Node) -> float:
    return node.claim


def _with_paragraphs(node: Node) -> Node:
    """An ancestor instead, when paragraphs of the same text stand beside the chosen element."""
    chosen = place = node
    for _ in range(3):
        up = place.parent
        if up is None:
            break
        loose = sum([part.flow for part in up.nodes() if part is not place and _is_paragraph(part)])
        if loose >= _CARRY_ON * chosen.mass:
            chosen = up
        place = up
    return chosen


def _is_paragraph(node: Node) -> bool:
    return not node.noise and node.flow >= _FULL and node.flow_links * 4 < node.flow


def _with_parts(node: Node) -> list[Node]:
    """The element and its like, when advertisements cut one text into several of the same name."""
    place = node
    for _ in range(4):
        up = place.parent
        if up is None:
            break
        if place.names:
            like = [part for part in up.nodes() if part is place or _carries_on(part, place)]
            if len(like) > 1:
                return [part for part in up.nodes() if part in like or _is_loose(part)]
        place = up
    return [node]


def _carries_on(part: Node, place: Node) -> bool:
    return not part.noise and part.mass >= _FULL and part.tag == place.tag and part.names == place.names


def _is_loose(part: Node) -> bool:
    return not part.noise and part.tag in ("p", "ul", "ol", "blockquote", "pre", "h2", "h3")


def _leads(first: Node) -> Iterator[Node]:
    """What stands above the chosen text, inside the same article, and calls itself its lead."""
    before: list[Node] = []
    place = first
    for _ in range(6):
        up = place.parent
        if up is None or place.tag in _CLAIMS:
            break
        found: list[Node] = []
        for part in up.nodes():
            if part is place:
                break
            found += _named_leads(part)
        before = found + before
        place = up
    yield from before


def _named_leads(part: Node) -> Iterator[Node]:
    stack = [part]
    while stack:
        node = stack.pop()
        if node.noise or node.tag in INLINE:
            continue
        if node.names and is_lead(node.names) and 40 <= node.chars <= 1500 and node.links * 3 < node.chars:
            yield node
        else:
            stack.extend(reversed([child for child in node.children if isinstance(child, Node)]))


def _clean(top: Node) -> None:
    """Marks blocks of links inside the chosen part as noise."""
    for node in top.walk():
        if node is top or node.noise or node.tag in INLINE or node.tag in _PARTS:
            continue
        if node.links > 0.5 * node.chars and node.chars - node.links < 100 and not _is_told(node):
            node.noise = node.tag != "table" or all(cell.tag != "th" for cell in node.walk())


def _is_told(node: Node) -> bool:
    """A list below an item that says something itself: links that it tells of, and no menu below a link."""
    up = node.parent
    return node.tag in ("ul", "ol") and up is not None and up.tag == "li" and up.own - up.own_links >= _TOLD
