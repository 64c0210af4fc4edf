"""E-mail addresses, found from their `@`."""

import re
import string
from collections.abc import Iterator

_LOCAL = string.ascii_letters + string.digits + "._%+='/-"
_DOMAIN = re.compile(r"(?:[A-Za-z0-9](?:[A-Za-z0-9-]{0,61}[A-Za-z0-9])?\.)+([A-Za-z]{2,24})(?![A-Za-z0-9@-])")
_LONGEST = 64  # characters before the @ (RFC 5321)
# Names that RFC 2606 and 6761 keep for examples: no one has an address there.
_EXAMPLES = (
    ".example.com", ".example.net", ".example.org", ".example", ".test", ".invalid", ".localhost", ".localdomain",
)  # fmt: skip
# What follows an @ in file names and units, and is no top-level domain.
_SUFFIXES = frozenset(
    (
        "bmp", "css", "device", "gif", "htm", "html", "jpeg", "jpg", "js", "json", "mount", "path", "png", "service",
        "slice", "socket", "svg", "target", "timer", "txt", "webp", "xml", "yaml", "yml",
    )
)  # fmt: skip
_ACCOUNTS = frozenset({"git", "hg", "svn"})  # `git@host.org:repository` is an address of a machine


def emails(text: str) -> Iterator[tuple[int, int]]:
    """Addresses of people and lists; none at domains that stand for examples, no message ids in URLs."""
    at = text.find("@")
    while at >= 0:
        before = text[max(0, at - _LONGEST) : at]
        local = before[len(before.rstrip(_LOCAL)) :].lstrip("._%+='-")
        domain = _DOMAIN.match(text, at + 1) if local and "/" not in local else None
        if domain and _real(local, domain[0].lower(), domain[1].lower()):
            yield at - len(local), domain.end()
            at = domain.end() - 1
        at = text.find("@", at + 1)


def _real(local: str, domain: str, suffix: str) -> bool:
    return local not in _ACCOUNTS and suffix not in _SUFFIXES and not f".{domain}".endswith(_EXAMPLES)
