"""Where pages come from: folders of real pages, each taken with the files that it names, and the composer."""

import functools
import hashlib
import posixpath
from collections.abc import Iterator
from fnmatch import fnmatch
from html.parser import HTMLParser
from pathlib import Path
from typing import Annotated, Any
from urllib.parse import unquote, urlsplit

import msgspec
from msgspec import Meta

from trivium.data.config import digest
from trivium.data.pairs import bundle
from trivium.data.records import Step
from trivium.data.stage import Content, Outcome
from trivium.data.web.composer.pages import ComposeRules, compose
from trivium.data.web.normalise import clean_page
from trivium.pipelines.corpora.sources import Counted, Folder, Place, files
from trivium.pipelines.corpora.sources.base import RefusedError

_TAKEN = (".css", ".png", ".jpg", ".jpeg", ".gif", ".svg", ".webp", ".ico", ".woff2", ".woff", ".ttf", ".otf", ".bmp")
_DEPTH = 4  # style sheets that name style sheets
_ATTRIBUTES = {"link": ("href",), "img": ("src", "srcset"), "source": ("srcset",), "image": ("href", "xlink:href")}
_ATTRIBUTES |= {"body": ("background",), "td": ("background",), "table": ("background",), "input": ("src",)}


class PageFolder(Folder, kw_only=True, tag="page_folder"):
    """Pages below a folder, each with the pictures, styles and fonts that it names, as far as they lie there too."""

    GIVES = Content.PAGES

    suffixes: tuple[str, ...] = (".html", ".htm", ".xhtml")
    mime: str = bundle.MIME
    max_bytes: Annotated[int, Meta(ge=1)] = 24 << 20  # of a page and its files together
    skip: tuple[str, ...] = ()  # patterns of addresses that are left out, such as "genindex*"
    most: Annotated[int, Meta(ge=0)] = 0  # so many pages of all, chosen by a hash of their address; 0 takes all

    def places(self, base: Path) -> Iterator[Place]:
        found = [
            place for place in super().places(base) if not any(fnmatch(place.address, pattern) for pattern in self.skip)
        ]
        if self.most and len(found) > self.most:
            kept = sorted(found, key=lambda place: hashlib.sha256(f"{self.name}/{place.address}".encode()).digest())
            found = sorted(kept[: self.most], key=lambda place: place.address)
        yield from found

    def read(self, place: Place, corpus: str, domain: str) -> Iterator[Outcome]:
        try:
            if "://" in place.path or not place.path:
                raise RefusedError("unreadable", "pages with files are read from a local folder")
            taken = closure(Path(place.root), place.address, self.max_bytes)
        except RefusedError as why:
            yield self.refused(place.address, why)
            return
        body = bundle.pack(place.address, taken)
        yield self.raw(corpus, domain, address=place.address, body=body, mime=self.mime)


def closure(root: Path, main: str, limit: int) -> dict[str, bytes]:
    """The page and all files in `root` that it needs, by their path from `root`.

    What a reference means outside the folder, by `..` or through a link, is never read. Raises RefusedError:
    `too_large` when they have more than `limit` bytes together, and what `files.read_whole` raises for the page.
    """
    found = {main: files.read_whole(str(root / main), limit, str(root))}
    left = limit - len(found[main])
    todo = [(path, 0) for path in _named_by_page(found[main], main)]
    while todo:
        path, depth = todo.pop(0)
        if path in found or not path.lower().endswith(_TAKEN):
            continue
        try:
            payload = files.read_whole(str(root / path), left, str(root))
        except RefusedError as why:
            if why.reason == "too_large":
                raise RefusedError("too_large", f"the page and its files have more than {limit:,} bytes") from None
            continue  # it isn't there, leads out, or is no file: the browser will miss it
        found[path] = payload
        left -= len(payload)
        if path.lower().endswith(".css") and depth < _DEPTH:
            todo += [(joined, depth + 1) for name in _named_by_style(payload) if (joined := inside(path, name))]
    return found


def inside(base: str, reference: str) -> str:
    """The path that a reference in the file `base` means; "" for one that leaves the folder."""
    parts = urlsplit(reference.strip())
    if parts.scheme or parts.netloc or not parts.path:
        return ""
    path = unquote(parts.path)
    joined = posixpath.normpath(path.lstrip("/") if path.startswith("/") else f"{posixpath.dirname(base)}/{path}")
    joined = joined.removeprefix("/")
    return "" if joined.startswith("..") or "\0" in joined or "\\" in joined else joined


def _named_by_page(payload: bytes, main: str) -> list[str]:
    reader = _References()
    reader.feed(payload.decode("utf-8", "replace"))
    reader.close()
    base = main if not reader.base else inside(main, f"{reader.base.rstrip('/')}/x")
    names = [*reader.found, *(name for text in reader.styles for name in _named_by_style(text.encode()))]
    return [path for name in names if (path := inside(base or main, name))]


class PageComposed(Counted, kw_only=True, tag="page_composed"):
    """`count` pages that the composer makes from `seed`; no file is read. They are clean already."""

    GIVES = Content.PAGE_CODE
    CHUNK = 64
    WORD = "page"

    language: str = "en"
    pages: ComposeRules = ComposeRules()  # which kinds of pages

    def read(self, place: Place, corpus: str, domain: str) -> Iterator[Outcome]:
        code, title = compose(self.seed, place.offset, self.pages)
        raw = self.raw(corpus, domain, address=place.address, body=code.encode(), mime="text/html")
        step = Step(name="page_composed", version=1, parameters=digest(self.pages), seed=self.seed)
        meta = raw.meta(source_sha256=hashlib.sha256(raw.body).hexdigest(), steps=(step,))
        yield clean_page(msgspec.structs.replace(meta, title=title), code, {})


class _References(HTMLParser):
    """Addresses that a page's elements name, and the texts of its styles."""

    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.found: list[str] = []
        self.styles: list[str] = []
        self.base = ""
        self._styled = False

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self._styled = tag == "style"
        for name, value in attrs:
            if not value:
                continue
            if tag == "base" and name == "href":
                self.base = self.base or value
            elif name == "style":
                self.styles.append(f"x{{{value}}}")
            elif name == "srcset" and name in _ATTRIBUTES.get(tag, ()):
                self.found += [part.split()[0] for part in value.split(",") if part.strip()]
            elif name in _ATTRIBUTES.get(tag, ()):
                self.found.append(value)

    def handle_endtag(self, tag: str) -> None:
        self._styled = False

    def handle_data(self, data: str) -> None:
        if self._styled:
            self.styles.append(data)


@functools.lru_cache(maxsize=64)  # the pages of a site share their style sheets
def _named_by_style(payload: bytes) -> tuple[str, ...]:
    import tinycss2

    nodes = tinycss2.parse_component_value_list(payload.decode("utf-8", "replace"))
    return tuple(dict.fromkeys(_addresses(nodes)))


def _addresses(nodes: list[Any]) -> Iterator[str]:
    imported = False
    for node in nodes:
        if node.type == "url" or (node.type == "string" and imported):
            yield node.value
        elif node.type == "function":
            if node.lower_name == "url":
                yield from (one.value for one in node.arguments if one.type == "string")
            else:
                yield from _addresses(node.arguments)
        elif node.type in ("{} block", "() block", "[] block"):
            yield from _addresses(node.content)
        if node.type not in ("whitespace", "comment"):
            imported = node.type == "at-keyword" and node.lower_value == "import"
