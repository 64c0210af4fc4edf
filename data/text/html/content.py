"""Which part of a page is its main content.

The prose of a page (its *mass*) is counted bottom up. From the body the search goes down as long as one child holds
nearly all of it; siblings that read like the chosen part stay. Inside, blocks of links and named boilerplate go.
"""

import re
from functools import lru_cache

from trivium.data.text.html.tree import INLINE, Node

CLEAN, NAMED, REPLIES, HIDDEN = range(4)  # what a node's tag and names say; the higher, the surer it is noise
# Parts of class and id names, split at hyphens, underscores and humps.
_WEAK = (
    "ads?|adv|advert\\w*|adsense|adbox|banner\\w*|foot|topbar|toolbar|nav|navigation|navi|menu|submenu|sidebar|side-?bar"
    "|aside|rail|(?<!elementor-)widget\\w*|captions?|wp-caption-text|print|printfriendly|modal|popup|overlay|lightbox"
    "|tooltip|dropdown|byline|tags?|metadata|meta|ratings?|hidden|legal|search\\w*|feedback|poll|login|sign-?in|signup"
    "|reactions?|linenos|lineno|gutter|line-?numbers?|skip\\w*|promo\\w*|sponsor\\w*|subscri\\w+|toc"
)
_SURE = (
    "comments?|commentlist|comment-?respond|respond|disqus\\w*|replies|breadcrumbs?|crumbs|cookies?|consent|gdpr|footer"
    "|colophon|masthead|site-?header|page-?header|navbar|related\\w*|recommend\\w*|recirc\\w*|read-?more|more-?stories"
    "|most-?(?:read|popular)|popular|trending|teasers?|share\\w*|sharing|social\\w*|addthis\\w*|sharedaddy|newsletter\\w*"
    "|pagination|pager|paging|author-?(?:bio|box|info)|taglist|tag-?links|post-?meta|entry-?meta|outbrain|taboola"
    "|jp-relatedposts|screen-?reader\\w*|sr-only|visually-?hidden|noprint|copyright|disclaimer|next-?posts?\\w*"
    "|prev-?posts?|post-?nav\\w*|mw-editsection|mw-jump-link|navbox\\w*|reflist|references|catlinks|ambox|hatnote"
    "|sphinxsidebar\\w*|headerlink"
)
_NOISE = re.compile(rf"(?:^|[\s_-])(?:{_WEAK})(?=$|[\s_-])", re.IGNORECASE)
_REPLIES = re.compile(rf"(?:^|[\s_-])(?:{_SURE})(?=$|[\s_-])", re.IGNORECASE)
_CONTENT = re.compile(
    r"(?:^|[\s_-])(?:article|articlebody|article-?(?:body|content|text)|body-?text|story-?(?:body|text)?|entry-?content|post-?(?:body|content|text)|main|main-?content|content|hentry|entry|post|documentwrapper|document|text)(?=$|[\s_-])",
    re.IGNORECASE,
)
_COMMENTS = re.compile(r"comment|disqus|repl(?:y|ies)|respond", re.IGNORECASE)
_HUMP = re.compile(r"(?<=[a-z])(?=[A-Z])")
_NOISE_TAGS = frozenset({"figcaption", "aside", "label"})
_HEADINGS = frozenset({"h1", "h2", "h3", "h4", "h5", "h6"})
_DRAWN = re.compile(r"katex-html|(?:^| )MathJax(?:_Preview|_SVG|_CHTML)?(?: |$)|mjx-chtml|MathJax_Error")
_FULL = 80  # characters of own text, without links, that count as a whole paragraph
_LEAVES = frozenset({"p", "pre", "tr", "td", "blockquote", "table", "tbody", "ul", "ol", "dl"})


def main_content(root: Node, order: list[Node]) -> list[Node]:
    """The nodes that make the main content, in order, with `noise` set on what is to be left out below them."""
    for node in order:
        node.kind = _kind(node)
    _weigh(order, NAMED)
    if root.mass < 0.5 * sum([node.own - node.own_links for node in order]):
        _reconsider(root, order)
    chosen = _descend(root)
    for node in chosen:
        _clean(node)
    return chosen


def _reconsider(root: Node, order: list[Node]) -> None:
    """Where names hide most of a page, takes fewer of them at their word."""
    sums = {}
    for level in (HIDDEN, REPLIES, NAMED):
        _weigh(order, level)
        sums[level] = root.mass
        if level != NAMED:
            for node in order:
                if node.kind == level - 1 and not _COMMENTS.search(node.names) and node.mass > 0.6 * root.mass:
                    node.kind = CLEAN
    least = 250
    level = NAMED
    if sums[NAMED] < min(least, 0.5 * sums[REPLIES]) or sums[NAMED] < 0.1 * sums[REPLIES]:
        level = REPLIES
        if sums[REPLIES] < min(least, 0.5 * sums[HIDDEN]):
            level = HIDDEN
        _weigh(order, level)


def _kind(node: Node) -> int:
    if node.tag in _NOISE_TAGS:
        return HIDDEN if node.tag != "aside" else NAMED
    if not node.attrs or node.tag in ("body", "main", "article", "math"):
        return CLEAN
    if node.tag == "span":
        return HIDDEN if _DRAWN.search(node.names) else CLEAN
    if not node.names or node.tag in INLINE or node.tag in _HEADINGS:
        return CLEAN
    return _named(node.names)


@lru_cache(maxsize=1 << 14)
def _named(names: str) -> int:
    names = _HUMP.sub("-", names)
    if _CONTENT.search(names):
        return CLEAN
    return REPLIES if _REPLIES.search(names) else NAMED if _NOISE.search(names) else CLEAN


@lru_cache(maxsize=1 << 14)
def _content(names: str) -> bool:
    return _CONTENT.search(_HUMP.sub("-", names)) is not None


def _weigh(order: list[Node], level: int) -> None:
    """Counts, from the leaves up; what is noise counts nothing above it."""
    for node in order:
        node.noise = node.kind >= level
        node.chars = node.flow = node.own
        node.links = node.flow_links = node.own_links
        node.mass = node.claim = 0.0
    for node in reversed(order):
        if node.tag not in _HEADINGS:
            plain = node.flow - node.flow_links
            if node.flow_links * 2 < node.flow:
                prose = plain if plain >= _FULL else plain * plain / _FULL
                node.mass += prose
                node.claim += prose
        if node.mass >= 250 and (factor := _claims(node)):
            node.claim = max(node.claim, factor * node.mass)
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


CLAIM = 2.5
_ARTICLE = frozenset({"article", "main"})
_BODY = re.compile(
    r"(?:^|[\s_-])(?:article-?(?:body|content|text)|story-?(?:body|text)|entry-?content|post-?(?:body|content|text)|main-?content)(?=$|[\s_-])",
    re.I,
)


def _claims(node: Node) -> float:
    if node.tag == "main":
        return 4
    if node.attrs and (
        'itemprop="articleBody"' in node.attrs or 'role="main"' in node.attrs or (node.names and _body(node.names))
    ):
        return 4
    return 2.5 if node.tag == "article" else 0


@lru_cache(maxsize=1 << 14)
def _body(names: str) -> bool:
    return _BODY.search(_HUMP.sub("-", names)) is not None


def _descend(root: Node) -> list[Node]:
    node = root
    while True:
        blocks = [child for child in node.nodes() if not child.noise and child.tag not in INLINE]
        if not blocks:
            break
        best = max(blocks, key=lambda child: child.claim)
        keep = 0.85 if node.tag in ("article", "main") or _content(node.names) else 0.7
        if (
            best.claim < keep * (sum([b.claim for b in blocks]) + node.mass - sum([b.mass for b in blocks]))
            or best.mass == 0
            or best.tag in _LEAVES
        ):
            break
        node = best
    place = node
    for _ in range(3):
        up = place.parent
        if up is None:
            break
        loose = sum(
            s.flow
            for s in up.nodes()
            if s is not place and not s.noise and s.flow >= _FULL and 4 * s.flow_links < s.flow
        )
        if loose >= 0.06 * node.mass:
            node = up
        place = up
    # parts of one text, cut by advertisements
    place, up = node, 0
    while place.parent is not None and up < 4:
        like = [
            s
            for s in place.parent.nodes()
            if s is not place
            and not s.noise
            and s.tag == place.tag
            and s.names == place.names
            and s.names
            and s.mass >= _FULL
        ]
        if like:
            return [
                s
                for s in place.parent.nodes()
                if s is place
                or s in like
                or (not s.noise and s.tag in ("p", "ul", "ol", "blockquote", "pre", "h2", "h3"))
            ]
        place = place.parent
        up += 1
    return [node]


def _clean(top: Node) -> None:
    """Marks blocks of links inside the chosen part as noise."""
    for node in top.walk():
        if (
            node is top
            or node.noise
            or node.tag in INLINE
            or node.tag in _HEADINGS
            or node.tag in ("p", "pre", "td", "th", "tr", "li", "dt", "dd")
        ):
            continue
        if node.links > 0.5 * node.chars and node.chars - node.links < 100 + 0 * node.chars:
            node.noise = True
