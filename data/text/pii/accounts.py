"""Bank accounts and payment cards: numbers that carry a checksum."""

import re
from collections.abc import Iterator

from trivium.data.text.pii.scan import Scan

_IBAN = re.compile(r"[A-Z](?<![A-Za-z0-9][A-Z])[A-Z]\d{2}(?: ?[A-Z0-9]{4}){2,7}(?: ?[A-Z0-9]{1,3})?(?![A-Za-z0-9])")
_CARD = re.compile(
    r"\d(?<![\w.-]\d)(?:\d{3}([ -])\d{4}\1\d{4}\1\d{4}|(?<=3)\d{3}([ -])\d{6}\2\d{5}|\d{13,15}|\d{18})(?![\w-]|\.\d)"
)
# Prefixes and lengths of the large schemes (ISO/IEC 7812): Visa, Mastercard, Amex, Diners, Discover, JCB, UnionPay.
_SCHEMES = re.compile(
    r"(?:4\d{15}|4\d{18}|(?:5[1-5]\d{2}|222[1-9]|22[3-9]\d|2[3-6]\d{2}|27[01]\d|2720)\d{12}|3[47]\d{13}|3(?:0[0-5]|[68]\d)\d{11}"
    r"|6(?:011|4[4-9]\d|5\d{2})\d{12}|35(?:2[89]|[3-8]\d)\d{12}|62\d{14,17})\Z"
)


def ibans(scan: Scan) -> Iterator[tuple[int, int]]:
    """Account numbers with a valid country, length and checksum (ISO 13616)."""
    for found in scan.each(_IBAN, scan.numbers):
        stop = _valid_iban(found[0])
        if stop:
            yield found.start(), found.start() + stop


def _valid_iban(written: str) -> int:
    """How many characters of `written` are an IBAN; words in capitals may stand behind it."""
    from stdnum import iban

    while written:
        if iban.is_valid(written):
            return len(written)
        written = written.rpartition(" ")[0]
    return 0


def cards(scan: Scan) -> Iterator[tuple[int, int]]:
    """Card numbers of a known scheme, plain or in the usual groups, with a valid Luhn digit."""
    for found in scan.each(_CARD, scan.cards):
        digits = found[0].replace(" ", "").replace("-", "")
        if _SCHEMES.match(digits) and _luhn(digits) and len(set(digits)) > 2:
            yield found.span()


def _luhn(digits: str) -> bool:
    from stdnum import luhn

    return bool(luhn.is_valid(digits))
