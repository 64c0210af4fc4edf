"""From an address that a browser asked for back to what the page's author wrote; nobody knows the host that we made up.

The browser resolves references, so `../x.css` comes back as an address of our host, `//cdn.org/x` with our protocol.
Here the page's own files are searched for words that resolve to the same address. Where there are none (a script made
the address up) it is the address, or its place below the page's folder.
"""

import html
import re
from collections.abc import Iterator, Mapping
from urllib.parse import quote, unquote, urljoin

_READ = (".html", ".htm", ".xhtml", ".css", ".svg", ".js")
_TRIES = 50  # places of one file that are looked at
_REACH = 2000  # characters on each side of a place
_END = re.compile(r"[\s\"'()<>]")  # of what may be a reference
_BASE = re.compile(r"<base\b[^>]{0,500}?\bhref\s*=\s*[\"']?([^\"'\s>]+)", re.IGNORECASE)


def written(address: str, origin: str, main: str, files: Mapping[str, bytes]) -> str:
    """`address` as one of `files`, which lie at `origin`, says it."""
    wanted = _alike(address)
    names = [main, *sorted(path for path in files if path != main and path.lower().endswith(_READ))]
    for path in names:
        text = files.get(path, b"").decode("utf-8", "replace")
        place = origin + quote(path)
        found = _BASE.search(text) if path == main else None
        base = _join(place, html.unescape(found[1])) if found else place
        for word in _words(text, address):
            said = html.unescape(word)
            if _alike(_join(base, said)) == wanted:
                return said
    return unquote(address.removeprefix(origin)) if address.startswith(origin) else address


def _words(text: str, address: str) -> Iterator[str]:
    """What stands in a text around the last name of an address, as far as one reference may go."""
    path = re.split(r"[?#]", address, maxsplit=1)[0]
    last = next((name for name in reversed(path.split("/")) if name), address)
    for key in dict.fromkeys((last, unquote(last))):
        at = -1
        for _ in range(_TRIES):
            at = text.find(key, at + 1)
            if at < 0:
                break
            before, behind = text[max(0, at - _REACH) : at], text[at : at + _REACH]
            word = _END.split(before)[-1] + _END.split(behind, maxsplit=1)[0]
            yield word
            yield word.rpartition("=")[2]  # an attribute without quotes, or a `url=` of a refresh
            yield word.rstrip(",;")


def _join(base: str, reference: str) -> str:
    try:
        return urljoin(base, reference)
    except ValueError:  # no address
        return ""


def _alike(address: str) -> str:
    """What of an address tells it from others: browsers ask for `http` as `https`, and add a slash to a host."""
    return unquote(re.sub(r"^https?:", "", address).partition("#")[0]).rstrip("/")
