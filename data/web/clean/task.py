"""The guarded cleaner: HTML through nh3, styles in one sheet, files under short names. Only its child imports this."""

import html
import re

import nh3

from trivium.data.web.clean.collected import Clean, Collected, Request
from trivium.data.web.clean.files import Files
from trivium.data.web.clean.styles import Styles
from trivium.data.web.clean.vocabulary import ATTRIBUTES, TAGS

CLASSED = 5  # elements with classes: a page of so many was written for a style sheet
SERVER_SAYS = 100  # words: a page without any style that says no more and names an error's number is a server's
_SERVER = re.compile(
    r"\b(?:400|401|403|404|410|429|500|502|503|504)\b\W{0,5}(?:error\W{0,3})?"
    r"(?:bad request|unauthori[sz]ed|forbidden|not found|gone|too many requests|internal server error|bad gateway"
    r"|service (?:temporarily )?unavailable|gateway time-?out)",
    re.IGNORECASE,
)
STYLING = frozenset({"rule", "nested", "block"})


def clean(request: Request) -> Clean:
    """A page that stands alone, or why there is none."""
    page, rules = request.page, request.rules
    words = len(re.findall(r"\w+", page.text))
    if page.elements > rules.max_elements:
        return Clean(reason="too_many_elements", detail=f"{page.elements:,} elements, limit {rules.max_elements:,}")
    if words < rules.min_words:
        return Clean(reason="no_text", detail=f"{words} words can be seen, {rules.min_words} are needed")
    if page.unfilled:
        return Clean(
            reason="unfilled_template", detail=f"shows {page.unfilled!r} of a template that was never filled in"
        )
    plain = not page.styled and not any(rule.kind in STYLING for rule in page.rules)
    if page.classed >= CLASSED and plain:
        detail = f"{page.classed:,} elements name classes, and no rule of the page matches anything"
        return Clean(reason="missing_style", detail=detail)
    if plain and words <= SERVER_SAYS and (said := _SERVER.search(page.text)):
        return Clean(reason="error_page", detail=f"a server's answer: {' '.join(said[0].split())[:80]!r}")
    files = Files(request.files, rules)
    styles = Styles(files)
    inline: list[str] = []
    body = sanitise(page.html, files, styles, inline)
    outer = {
        name: _attributes(found, files, styles, inline) for name, found in (("root", page.root), ("body", page.body))
    }
    sheet = styles.sheet(page.rules, inline)
    code = _document(page, body, sheet, outer)
    if len(code) > rules.max_chars:
        return Clean(reason="too_long", detail=f"{len(code):,} characters of code, limit {rules.max_chars:,}")
    if files.size > rules.max_files:
        return Clean(reason="too_large", detail=f"{files.size:,} bytes of files, limit {rules.max_files:,}")
    named = {name: payload for name, payload in files.kept.items() if name in code}
    return Clean(code=code, files=named, dropped=files.dropped)


def sanitise(text: str, files: Files, styles: Styles, inline: list[str]) -> str:
    """HTML of a body with allowed elements and attributes only."""

    def attribute(tag: str, name: str, value: str) -> str | None:
        return _attribute(tag, name, value, files, styles, inline)

    found = nh3.clean(
        text,
        tags=TAGS,
        clean_content_tags={"script", "style", "iframe", "object", "template", "noscript"},
        attributes=ATTRIBUTES,
        attribute_filter=attribute,
        generic_attribute_prefixes={"data-"},
        url_schemes={"data", "https"},
        link_rel=None,
        strip_comments=True,
    )
    return str(found).strip("\n")


def _attribute(tag: str, name: str, value: str, files: Files, styles: Styles, inline: list[str]) -> str | None:
    if name == "style":
        kept = styles.inline(value)
        inline.append(kept)
        return kept or None
    if tag in ("img", "image", "input") and name in ("src", "href"):
        return value if value.startswith("data:image/") and len(value) < 8000 else files.name(value) or None
    if name in ("href", "src", "background", "xlink:href"):
        return value if value.startswith("#") else None
    return value


def _attributes(found: dict[str, str], files: Files, styles: Styles, inline: list[str]) -> str:
    """Attributes of html or body, as text."""
    allowed = ATTRIBUTES["*"] | {"bgcolor", "text"}
    kept = ""
    for name, value in found.items():
        if name in allowed or name.startswith("data-"):
            left = _attribute("body", name, value, files, styles, inline)
            kept += f' {name}="{html.escape(left)}"' if left is not None else ""
    return kept


def _document(page: Collected, body: str, sheet: str, outer: dict[str, str]) -> str:
    doctype = "" if page.quirks else "<!DOCTYPE html>\n"
    head = [
        '<meta charset="utf-8">',
        '<meta name="viewport" content="width=device-width, initial-scale=1">',
        f"<title>{html.escape(page.title, quote=False)}</title>",
    ]
    if sheet:
        whole = sheet.replace("</", "<\\/")  # nothing in a sheet may end its element
        head.append(f"<style>\n{whole}\n</style>")
    lines = [
        f"{doctype}<html{outer['root']}>",
        "<head>",
        *head,
        "</head>",
        f"<body{outer['body']}>",
        body,
        "</body>",
        "</html>",
    ]
    return "\n".join(lines) + "\n"
