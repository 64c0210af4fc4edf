"""All finders over one text, without overlaps."""

import enum
from bisect import bisect
from collections.abc import Collection, Iterator

from trivium.data.text.pii.accounts import cards, ibans
from trivium.data.text.pii.emails import emails
from trivium.data.text.pii.ips import ips
from trivium.data.text.pii.keys import secrets
from trivium.data.text.pii.phones import phones
from trivium.data.text.pii.scan import Scan

Place = tuple[int, int]


class Kind(enum.StrEnum):
    """What can be found, in the order in which an overlap is decided."""

    SECRET = "secret"  # keys and tokens
    EMAIL = "email"
    IBAN = "iban"
    CARD = "card"
    IP = "ip"
    PHONE = "phone"


KINDS = tuple(Kind)
Span = tuple[int, int, Kind]  # start, stop, kind; characters


def find(text: str, kinds: Collection[Kind] = KINDS, regions: tuple[str, ...] = ("US",)) -> list[Span]:
    """Every span of the wanted kinds, sorted; `regions`: countries whose national way to write numbers counts."""
    found: list[Span] = []
    scan = Scan(text)
    for kind in KINDS:
        if kind in kinds:
            for start, stop in _places(kind, scan, regions):
                at = bisect(found, (start, stop, kind))
                if (at == 0 or found[at - 1][1] <= start) and (at == len(found) or stop <= found[at][0]):
                    found.insert(at, (start, stop, kind))
    return found


def _places(kind: Kind, scan: Scan, regions: tuple[str, ...]) -> Iterator[Place]:
    match kind:
        case Kind.SECRET:
            return secrets(scan.text)
        case Kind.EMAIL:
            return emails(scan.text)
        case Kind.IBAN:
            return ibans(scan)
        case Kind.CARD:
            return cards(scan)
        case Kind.IP:
            return ips(scan)
        case Kind.PHONE:
            return phones(scan, regions)
