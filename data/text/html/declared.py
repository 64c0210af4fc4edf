"""What a page says about itself: author, date, site, canonical address, licence, language.

Read from `meta` elements (Open Graph, Dublin Core, HTML), JSON-LD and links; nothing is guessed from the text.
"""

import re
from collections.abc import Iterable, Iterator
from typing import Any

import msgspec

from trivium.data.text.html.tree import unescape

KEYS = ("author", "date", "site", "address", "license", "language")
_META = re.compile(r"<meta ([^>]*)>")
_LINK = re.compile(r"<(?:link|a) ([^>]*)>")
_JSON = re.compile(r'<script[^>]* type="application/ld\+json"[^>]*>(.*?)</script>', re.DOTALL)
_ATTRIBUTE = re.compile(r'([^\s=]+)="([^"]*)"')
_DATE = re.compile(r"\d{4}-\d{2}-\d{2}(?:[T ][0-9:.+\-Z]{4,20})?")
_CREATIVE = re.compile(
    r"creativecommons\.org/(?:licenses/(?P<kind>by(?:-nc)?(?:-nd|-sa)?)/(?P<version>\d\.\d)|publicdomain/(?P<public>zero|mark)/1\.0)"
)
_LANGUAGE = re.compile(r"[a-zA-Z]{2,3}(?:-[A-Za-z0-9]{2,8})*\Z")
_ENTRIES = 200  # JSON-LD objects that are looked at
_LONGEST = 300  # characters of a value

_NAMES = {
    "author": ("author", "article:author", "dc.creator", "dcterms.creator", "sailthru.author", "parsely-author", "byl"),
    "date": (
        "article:published_time", "datepublished", "dc.date", "dc.date.issued", "dcterms.date", "dcterms.created",
        "citation_publication_date", "parsely-pub-date", "sailthru.date", "date", "pubdate",
    ),
    "site": ("og:site_name", "application-name"),
    "address": ("og:url",),
    "license": ("dc.rights", "dcterms.license", "license"),
}  # fmt: skip


def declared(head: str, body: str, language: str) -> dict[str, str]:
    """Values by `KEYS`, those that the page declares; head and body as the parser writes them."""
    metas = _metas(head)
    found: dict[str, str] = {}
    linked = {**_json_ld(body), **_json_ld(head)}
    for key, names in _NAMES.items():
        values = [metas[name] for name in names if metas.get(name)]
        if linked.get(key):
            values.append(linked[key])
        value = next((fit for value in values if (fit := _fitting(key, value))), "")
        if value:
            found[key] = value
    for attributes in _attributes(_LINK, head):
        relation = attributes.get("rel", "").lower().split()
        if "canonical" in relation and attributes.get("href", "").startswith("http"):
            found["address"] = attributes["href"][:_LONGEST]
    if license := _license(head) or _license(body):
        found["license"] = license
    if _LANGUAGE.match(language):
        found["language"] = language
    return {key: found[key] for key in KEYS if key in found}


def headline(head: str) -> str:
    """The page's own title without its site's name, when it says it: Open Graph's."""
    return " ".join(_metas(head).get("og:title", "").split())


def _metas(head: str) -> dict[str, str]:
    found: dict[str, str] = {}
    for attributes in _attributes(_META, head):
        name = attributes.get("property") or attributes.get("name") or attributes.get("itemprop") or ""
        content = " ".join(unescape(attributes.get("content", "")).split())
        for part in name.lower().split():
            if content:
                found.setdefault(part, content)
    return found


def _attributes(pattern: re.Pattern[str], markup: str) -> Iterator[dict[str, str]]:
    for match in pattern.finditer(markup):
        yield dict(_ATTRIBUTE.findall(match[1]))


def _fitting(key: str, value: str) -> str:
    value = value[:_LONGEST].strip()
    if key == "date":
        date = _DATE.search(value)
        return date[0] if date else ""
    if key == "author":
        return "" if value.startswith(("http:", "https:", "//")) else value
    if key == "license":
        return spdx(value) or ""
    return value


def _license(markup: str) -> str:
    """The licence that a link of the page names: `rel="license"` first, else the only Creative Commons deed linked."""
    if "license" not in markup and "creativecommons" not in markup:
        return ""
    deeds = []
    for link in _LINK.finditer(markup):
        if "creativecommons" not in link[1].lower():  # no other address names a licence
            continue
        attributes = dict(_ATTRIBUTE.findall(link[1]))
        name = spdx(attributes.get("href", ""))
        if name and "license" in attributes.get("rel", "").lower().split():
            return name
        if name:
            deeds.append(name)
    return deeds[0] if len(set(deeds)) == 1 else ""


def spdx(address: str) -> str:
    """The SPDX name of a Creative Commons deed's address; empty for any other."""
    match = _CREATIVE.search(address.lower())
    if match is None:
        return ""
    if match["public"]:
        return "CC0-1.0" if match["public"] == "zero" else "CC-PDDC"
    return f"CC-{match['kind'].upper()}-{match['version']}"


def _json_ld(markup: str) -> dict[str, str]:
    found: dict[str, str] = {}
    if "ld+json" not in markup:
        return found
    for block in _JSON.findall(markup):
        try:
            data = msgspec.json.decode(block.strip().encode())
        except (msgspec.DecodeError, RecursionError, UnicodeEncodeError):
            continue
        for entry in _entries(data):
            for key, value in (
                ("author", _name(entry.get("author"))),
                ("date", entry.get("datePublished")),
                ("license", entry.get("license")),
                ("site", _name(entry.get("publisher"))),
            ):
                if isinstance(value, str) and value and "@type" in entry:
                    found.setdefault(key, " ".join(value.split()))
    return found


def _entries(data: Any) -> Iterable[dict[str, Any]]:
    stack: list[Any] = [data]
    found: list[dict[str, Any]] = []
    while stack and len(found) < _ENTRIES:
        item = stack.pop()
        if isinstance(item, list):
            stack.extend(reversed(item[:_ENTRIES]))
        elif isinstance(item, dict):
            found.append(item)
            if isinstance(item.get("@graph"), list):
                stack.extend(reversed(item["@graph"][:_ENTRIES]))
    return found


def _name(value: Any) -> str:
    if isinstance(value, str):
        return value
    if isinstance(value, list):
        return ", ".join(name for item in value[:10] if (name := _name(item)))
    if isinstance(value, dict):
        return _name(value.get("name"))
    return ""
