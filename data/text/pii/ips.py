"""Public IP addresses, v4 and v6; private, loopback, reserved and documentation ranges are not looked for."""

import ipaddress
import re
from collections.abc import Iterator
from functools import lru_cache

from trivium.data.text.pii.scan import Scan

_V4 = re.compile(r"\d(?<![\w.]\d)\d{0,2}\.\d{1,3}\.\d{1,3}\.\d{1,3}(?!\w|\.\w)")
# Global unicast is 2000::/3 (RFC 4291), so the first group is written with four digits.
_V6 = re.compile(r"[23](?<![\w:.][23])[0-9A-Fa-f]{3}:(?:[0-9A-Fa-f]{0,4}:){1,6}[0-9A-Fa-f]{0,4}(?![\w:])")
_NUMBERED = re.compile(
    r"\b(?:v|ver|vers|version|versions|release|releases|rev|revision|build|firmware)[\s.:=]*\Z", re.I
)
_NAMED = re.compile(r"[A-Za-z][\w+]*[-_/]\Z")  # `package-1.2.3.4`, `Agent/1.2.3.4`, never `//1.2.3.4`
# Four numbers below this are a version or a section unless something says otherwise: one public address in 45 is such.
_SMALL = 100
_TINY = 10  # below this, nothing can: 1.1.1.1 and 8.8.8.8 are well-known services
_ADDRESS = re.compile(r"(?://|[\[@]|\b(?:ip|ips|ipv4|host|addr|address|inet|server|peer|from)\b[\s:=(]*)\Z", re.I)
_PORT = re.compile(r":\d{2,5}\b|/\d{1,2}\b")


def ips(scan: Scan) -> Iterator[tuple[int, int]]:
    """Addresses that belong to someone, and no version numbers."""
    for found in scan.each(_V4, scan.dotted):
        if _public(found[0]) and not _version(scan.text, found):
            yield found.span()
    for found in scan.each(_V6, scan.colons):
        if _public(found[0]):
            yield found.span()


@lru_cache(maxsize=1 << 12)  # a look at all reserved ranges; the same address comes again and again
def _public(address: str) -> bool:
    try:
        parsed = ipaddress.ip_address(address)
    except ValueError:
        return False
    return parsed.is_global and not parsed.is_multicast


def _version(text: str, found: re.Match[str]) -> bool:
    largest = max(map(int, found[0].split(".")))
    before = text[max(0, found.start() - 24) : found.start()]
    if largest < _TINY or _NUMBERED.search(before) or _NAMED.search(before):
        return True
    return largest < _SMALL and not _ADDRESS.search(before) and not _PORT.match(text, found.end())
