"""Which files a page with scripts needs, read off the texts: what markup, style sheets and scripts name.

More than is needed may be named and some names are made at run time; the engine says what was missing.
"""

import posixpath
import re
from collections.abc import Iterator
from urllib.parse import unquote

_MARKUP = re.compile(rb"""\b(?:src|href|data|poster|xlink:href)\s*=\s*(?:"([^"<>]+)"|'([^'<>]+)'|([^\s"'<>]+))""", re.I)
_STYLE = re.compile(rb"""url\(\s*["']?([^"')]+)["']?\s*\)|@import\s+["']([^"']+)["']""", re.I)
_ENDS = rb"png|jpe?g|gif|webp|svg|json|js|mjs|css|txt|xml|obj|mtl|glb|gltf|mp3|wav|ogg|m4a|ttf|woff2?|fnt|vert|frag"
_STRING = re.compile(rb"""["'`]([\w./ @%-]+\.(?:""" + _ENDS + rb"""))(?:\?[^"'`]*)?["'`]""", re.I)
_SCRIPTS = (".js", ".mjs")
_PAGES = (".html", ".htm", ".xhtml")
_LONGEST = 300_000  # bytes of a script that is looked through; longer ones are libraries


def named_by(path: str, body: bytes, page: str) -> Iterator[str]:
    """Paths that the file `path` (of the page at `page`) may mean, relative to the package, in order, some twice.

    A script's strings are relative to the page, where it asks by itself, or to the script, where it imports.
    """
    lower = path.lower()
    if lower.endswith(_PAGES):
        patterns, bases = [_MARKUP, _STYLE, _STRING], [path]
    elif lower.endswith(".css"):
        patterns, bases = [_STYLE], [path]
    elif lower.endswith(_SCRIPTS) and len(body) <= _LONGEST:
        patterns, bases = [_STRING], [page, path]
    else:
        return
    for pattern in patterns:
        for found in pattern.finditer(body):
            name = next((group for group in found.groups() if group), b"").decode("utf-8", "replace")
            for base in bases:
                target = resolved(base, name)
                if target and not target.endswith(_PAGES):
                    yield target


def resolved(base: str, name: str) -> str:
    """The path that `name` means in the file `base`; "" for what leaves the package or is no path."""
    name = unquote(re.split(r"[?#]", name, maxsplit=1)[0].strip())
    if not name or re.match(r"[a-z][a-z0-9+.-]*:|//", name, re.I):
        return ""
    joined = name.lstrip("/") if name.startswith("/") else f"{posixpath.dirname(base)}/{name}".lstrip("/")
    target = posixpath.normpath(joined)
    return "" if target == "." or target.startswith("..") else target
