"""Telephone numbers: what looks like one is given to phonenumbers, Google's library of numbering plans."""

import re
from collections.abc import Iterator
from functools import lru_cache

from trivium.data.text.pii.scan import Scan

_CANDIDATE = re.compile(
    r"[(+\d](?<![\w.,$€£#/-][(+\d])(?:(?<=\d)|(?<=\()(?:\+ ?)?\d|(?<=\+) ?\d)"
    r"[\d \u00a0().\u2010-\u2015/-]{5,24}\d(?![\w%]|\.\d)"
)
_CALLED = re.compile(
    r"(?:call|dial|sms|text|voice|reach|contact|hotline|number|toll[ -]?free)\b[\W_]{1,6}(?:\w+\W{1,3})?\Z", re.I
)
_NAMED = re.compile(
    r"(?:\b(?:tele?|tel[ée]fono?|telephone|phone|fax|mobile|cell|cellphone|handy|whatsapp)\.?\s?(?:no\.?)?\s?[:=(]"
    r"|(?<![\w&?])[tfmp]\s?[:.])\W{0,4}\Z",
    re.I,
)
_MARK = re.compile(r"[:=(.]")  # in the last five characters of what names a number
_CALLS = ("call", "dial", "sms", "text", "voice", "reach", "contact", "hotline", "number", "toll")
_SEPARATED = re.compile(r"\d[^\d]+\d")
_DATE = re.compile(r"(?:19|20)\d\d[-/.]\d\d?[-/.]\d\d?|\d\d?[-/.]\d\d?[-/.](?:19|20)\d\d")
_QUAD = re.compile(r"\d{1,3}(?:\.\d{1,3}){3}\Z")  # an IP address
_CONTEXT = 32  # characters before a number in which a word may name it
_DIGITS = (7, 15)  # of a number (E.164 has at most 15)
_NATIONAL = 9  # digits of a national number that is not named, at least


def known(region: str) -> bool:
    """Whether the library has a numbering plan of this region; True where it is not installed."""
    try:
        from phonenumbers import SUPPORTED_REGIONS
    except ModuleNotFoundError:
        return True
    return region in SUPPORTED_REGIONS


def phones(scan: Scan, regions: tuple[str, ...]) -> Iterator[tuple[int, int]]:
    """Valid numbers: with their country's code, or as one of `regions` writes them.

    National numbers need their groups to be apart, or a word before them that names them: a plain run of digits is a
    number of anything. After `Tel:` or `Fax:` any number of a telephone number's length is one.
    """
    for found in scan.each(_CANDIDATE, scan.numbers):
        written = found[0]
        digits = sum(map(str.isdigit, written))
        if digits < _DIGITS[0] or _DATE.search(written) or _QUAD.match(written):
            continue
        before = scan.text[max(0, found.start() - _CONTEXT) : found.start()]
        named = _MARK.search(before, max(0, len(before) - 5)) is not None and _NAMED.search(before) is not None
        places: list[tuple[int, int]] = []
        if "+" in written:
            places = _valid(written, (None,), strict=False)
        elif digits >= _NATIONAL:
            places = _valid(written, regions, strict=not named and not _called(before))
        if not places and digits <= _DIGITS[1] and (named or (_called(before) and _international(written))):
            places = [(0, len(written))]
        yield from ((found.start() + start, found.start() + stop) for start, stop in places)


def _called(before: str) -> bool:
    """Whether a word before a number asks to call it."""
    lowered = before.lower()
    if before.isascii() and not any(word in lowered for word in _CALLS):
        return False
    return _CALLED.search(before) is not None


@lru_cache(maxsize=1 << 12)  # the library takes half a millisecond, and what is no number comes again and again
def _valid(written: str, regions: tuple[str | None, ...], *, strict: bool) -> list[tuple[int, int]]:
    """Valid numbers inside; `strict`: in groups as the country writes them, not one run of digits."""
    from phonenumbers import Leniency, PhoneNumberMatcher

    if strict and not _SEPARATED.search(written):
        return []
    leniency = Leniency.STRICT_GROUPING if strict else Leniency.VALID
    for region in regions:
        matched = PhoneNumberMatcher(written, region, leniency=leniency, max_tries=8)
        kept = [match for match in matched if not strict or _SEPARATED.search(match.raw_string)]
        if kept:
            return [(match.start, match.end) for match in kept]
    return []


def _international(written: str) -> bool:
    """Whether the digits are a number with its country's code, the plus left out."""
    from phonenumbers import NumberParseException, is_valid_number, parse

    try:
        return is_valid_number(parse("+" + "".join(filter(str.isdigit, written))))
    except NumberParseException:
        return False
