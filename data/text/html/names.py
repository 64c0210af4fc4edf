"""What class and id names say about a part of a page, as web authors and content systems use them.

A name is split at blanks, hyphens, underscores and humps (`articleBody`); one word of a list anywhere in it counts.
Three answers matter: surely no part of a text, probably none, and surely the text itself.
"""

import re
from functools import lru_cache

CLEAN, DOUBTFUL, SURE, HIDDEN = range(4)  # how sure it is that an element is boilerplate

_DOUBTFUL = (
    "ads?|adv|advert\\w*|adsense|adbox|aside|author-?(?:card|date|line|name)|banner\\w*|byline|captions?|date-?(?:header|line)"
    "|dropdown|feedback|foot|gutter|hidden|legal|lightbox|line-?numbers?|lineno|linenos|login|menu|meta|meta-?line|metadata"
    "|modal|nav|navi|navigation|overlay|poll|popup|post-?date|print|printfriendly|promo\\w*|pub-?date|rail|ratings?"
    "|reactions?|search\\w*|side-?bar|sidebar|sign-?in|signup|skip\\w*|sponsor\\w*|submenu|subscri\\w+|tags?"
    "|teasers?(?![-_ ]?text)|timestamp|toc|toolbar|tooltip|topbar|(?<!elementor-)widget\\w*|wp-caption-text"
)
_NEVER = "breadcrumbs?|catlinks|colophon|consent|cookies?|copyright|crumbs|footer|gdpr"
_SURE = (
    "addthis\\w*|ambox|author-?(?:bio|box|info)|comment-?respond|commentlist|comments?"
    "|disclaimer|disqus\\w*|entry-?meta|hatnote|headerlink"
    "|jp-relatedposts|masthead|more-?(?:from|news|stories)|breaking-?news|most-?(?:read|popular)|mw-editsection|mw-jump-link|navbar"
    "|navbox\\w*|newsletter\\w*|next-?posts?\\w*|noprint|outbrain|page-?header|pager|pagination|paging|popular|post-?meta"
    "|post-?nav\\w*|postmetadata|prev-?posts?|read-?more|recirc\\w*|recommend\\w*|references|reflist|related\\w*|replies"
    "|respond|screen-?reader\\w*|share\\w*|sharedaddy|sharing|site-?header|social\\w*|sphinxsidebar\\w*|sr-only|taboola"
    "|tag-?links|taglist|trending|visually-?hidden"
)
_TEXT = (
    "article|article-?(?:body|content|text)|body-?text|content|document|documentwrapper|entry|entry-?content|hentry|main"
    "|main-?content|post|post-?(?:body|content|text)|story|story-?(?:body|text)|text"
)
_BODY = "article-?(?:body|content|text)|entry-?content|main-?content|post-?(?:body|content|text)|story-?(?:body|text)"
_LEAD = (
    "abstract|bajada|chapo|dek|einleitung|excerpt|intro|introduction|lead|leader|lede|stand-?first|sub-?head\\w*|subtitle"
    "|summary|teaser|teaser-?text|vorspann"
)
# A name that says whose text it is: `comment-text` is the readers', whatever `text` means elsewhere.
_READERS = (
    "comments?[-_]?(?:area|block|body|box|content|entry|holder|item|list|main|post|section|story|text|thread"
    "|wrap(?:per)?)"
)
_HUMP = re.compile(r"(?<=[a-z])(?=[A-Z])")
_WORD = re.compile(r"[^-_]+")
_WORDS = 4  # of one name; longer ones are headings that a generator made ids of, or layout rules
_REMEMBERED = 1 << 14  # distinct names; a crawl's sites use few


def _any_of(words: str) -> re.Pattern[str]:
    return re.compile(rf"(?:^|[\s_-])(?:{words})(?=$|[\s_-])", re.IGNORECASE)


_DOUBTFUL_NAME, _SURE_NAME, _TEXT_NAME, _BODY_NAME, _LEAD_NAME = map(_any_of, (_DOUBTFUL, _SURE, _TEXT, _BODY, _LEAD))
_NEVER_NAME, _READERS_NAME = _any_of(_NEVER), re.compile(rf"(?:^|\s){_READERS}(?=$|[\s_-])", re.IGNORECASE)
_TALK = re.compile(r"comment|disqus|repl(?:y|ies)|respond", re.IGNORECASE)
# What MathJax and KaTeX draw from a formula whose source stands beside it.
_DRAWN = re.compile(r"katex-html|(?:^| )MathJax(?:_Preview|_SVG|_CHTML)?(?: |$)|mjx-chtml|MathJax_Error")


@lru_cache(maxsize=_REMEMBERED)
def boilerplate(names: str) -> int:
    """How sure the name says boilerplate; one that also says that it is the text is CLEAN, one of many words says
    nothing.
    """
    names = " ".join([name for name in _HUMP.sub("-", names).split() if len(_WORD.findall(name)) <= _WORDS])
    if _READERS_NAME.search(names):
        return SURE
    if _TEXT_NAME.search(names):
        return CLEAN
    if _NEVER_NAME.search(names):
        return HIDDEN
    return SURE if _SURE_NAME.search(names) else DOUBTFUL if _DOUBTFUL_NAME.search(names) else CLEAN


@lru_cache(maxsize=_REMEMBERED)
def is_text(names: str) -> bool:
    """Whether the name is one of those that text stands under."""
    return _TEXT_NAME.search(_HUMP.sub("-", names)) is not None


@lru_cache(maxsize=_REMEMBERED)
def is_body(names: str) -> bool:
    """Whether the name is that of an article's body and of nothing around it."""
    return _BODY_NAME.search(_HUMP.sub("-", names)) is not None


@lru_cache(maxsize=_REMEMBERED)
def is_lead(names: str) -> bool:
    """Whether the name is that of the sentences between an article's headline and its body."""
    return _LEAD_NAME.search(_HUMP.sub("-", names)) is not None


def is_talk(names: str) -> bool:
    """Whether the name is that of readers' comments."""
    return _TALK.search(names) is not None


def is_drawn(names: str) -> bool:
    """Whether the name is that of a drawn formula."""
    return _DRAWN.search(names) is not None
