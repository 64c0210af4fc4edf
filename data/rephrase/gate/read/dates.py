"""Dates, months, weekdays and times of day, by the names that CLDR has for a language (through Babel).

Odd: `04/03/2021` has two readings, and a date may lack its day or year; two dates agree when some reading of each does
in all parts that both have.
"""

import re
from collections.abc import Iterator
from functools import cache
from typing import NamedTuple

from trivium.data.rephrase.gate.lexicon import lexicon
from trivium.data.rephrase.gate.read.spans import blank

_ISO = re.compile(r"(?<![\d-])(\d{4})-(\d{1,2})-(\d{1,2})(?![\d-])|(?<![\d/])(\d{4})/(\d{1,2})/(\d{1,2})(?![\d/])")
_FIGURES = re.compile(r"(?<![\d./])(\d{1,2})([./])(\d{1,2})\2(\d{4})(?![\d/])")
_HAN = re.compile(
    r"(\d{2,4})\s?年\s?(?:(\d{1,2})\s?月\s?(?:(\d{1,2})\s?[日号])?)?|(\d{1,2})\s?月\s?(?:(\d{1,2})\s?[日号])?(?!間|间)"
)
_TIME = re.compile(
    r"(?<![\d.,:])(\d{1,2})(?::|[h](?=\d))(\d{2})(?![\d:.]\d)(?:\s?([ap])\.?\s?m\b\.?)?|(?<![\d.,])(\d{1,2})\s?([ap])\.?\s?m\b\.?"
    r"|(?<![\d.,])(\d{1,2})(?:[.:](\d{2}))?\s?Uhr\b|(?<![\d.,])(\d{1,2})\s?h(?![\w/])(?=\s|[.,])|(\d{1,2})\s?[时時]\s?(?:(\d{1,2})\s?分)?(?!間|间)"
)
_INFLECTED = frozenset({"ru", "uk", "pl", "cs", "sk", "hr", "sr", "bg"})


class Date(NamedTuple):
    """Year, month, day of each reading, None where the text does not say."""

    readings: tuple[tuple[int | None, int | None, int | None], ...]
    start: int
    stop: int

    def agrees(self, other: "Date") -> bool:
        return any(_agree(one, two) for one in self.readings for two in other.readings)


class Moment(NamedTuple):
    """A time of day in minutes after midnight, or a weekday from 0 = Monday; `kind` is `time` or `weekday`."""

    kind: str
    value: int
    start: int
    stop: int


def _agree(one: tuple[int | None, ...], other: tuple[int | None, ...]) -> bool:
    shared = [(a, b) for a, b in zip(one, other, strict=True) if a is not None and b is not None]
    return bool(shared) and all(a == b for a, b in shared)


class _Names(NamedTuple):
    months: dict[str, int]
    weekdays: dict[str, int]
    pattern: re.Pattern[str]
    days: re.Pattern[str] | None


@cache
def _names(language: str) -> _Names | None:
    """Months and weekdays as the language writes them; None where they are numbers or unknown."""
    from babel import Locale, UnknownLocaleError

    try:
        locale = Locale.parse(language)
    except (UnknownLocaleError, ValueError):
        return None
    months, weekdays = {}, {}
    for context in ("format", "stand-alone"):
        for width in ("wide", "abbreviated"):
            for number, name in locale.months[context][width].items():
                if name.rstrip(".").lower() not in lexicon(language).numerals:  # `sept` is seven in French
                    months[name.rstrip(".").lower()] = number
            for number, name in locale.days[context]["wide"].items():
                weekdays[name.lower()] = number
    if any(re.match(r"\d", name) for name in months):
        return None
    if language == "de":
        months |= {"jänner": 1, "feber": 2}
    if language in _INFLECTED:
        months |= {re.sub(r"[ьйая]$", "", name) + end: number for name, number in months.items() for end in ("е", "ем")}
    known = "|".join(re.escape(name) for name in sorted(months, key=len, reverse=True))
    month = rf"(?P<month>\b(?:{known})\b)\.?"
    day, year = r"(?P<day>\d{1,2})(?!\d)(?:st|nd|rd|th|\.|er|º|ª|°)?", r"(?P<year>\d{3,4})(?!\d)"
    of = r"\s+(?:of\s+|de\s+|del\s+|d['’])?(?:the\s+)?"
    forms = (
        rf"(?<!\d)(?<![.,]){day}{of}{month}(?:,?{of}{year})?",
        rf"{month}\s+(?:the\s+)?{day}(?:,?\s+{year})?(?![.,]?\d)",
        rf"{month},?{of}{year}",
        month,
    )
    numbered = (re.sub(r"\?P<(\w+)>", rf"?P<\g<1>{number}>", form) for number, form in enumerate(forms))
    pattern = re.compile("|".join(numbered), re.IGNORECASE)
    alone = {name: number for name, number in weekdays.items() if len(name) > 2}
    days = re.compile(r"\b(?:" + "|".join(map(re.escape, alone)) + r")\b", re.IGNORECASE) if alone else None
    return _Names(months, weekdays, pattern, days)


def dates(text: str, language: str) -> tuple[list[Date], list[Moment], str]:
    """All dates, all weekdays and times of day, and the text with blanks where they stand."""
    found: list[Date] = []
    for finder in (_iso, _figures, _han, _named):
        new = list(finder(text, language))
        found += new
        text = blank(text, [(date.start, date.stop) for date in new])
    moments = list(_times(text))
    text = blank(text, [(moment.start, moment.stop) for moment in moments])
    names = _names(language)
    if names and names.days:
        for match in names.days.finditer(text):
            if language not in ("en", "de") or match[0][0].isupper():
                moments.append(Moment("weekday", names.weekdays[match[0].lower()], *match.span()))
    return found, moments, text


def _iso(text: str, language: str) -> Iterator[Date]:
    for match in _ISO.finditer(text):
        year, month, day = (int(group) for group in match.groups() if group)
        if 1 <= month <= 12 and 1 <= day <= 31:
            yield Date(((year, month, day),), *match.span())


def _figures(text: str, language: str) -> Iterator[Date]:
    for match in _FIGURES.finditer(text):
        one, two, year = int(match[1]), int(match[3]), int(match[4])
        readings = [(year, two, one)] if two <= 12 and one <= 31 else []
        if match[2] == "/" and one <= 12 and two <= 31 and one != two:
            readings.append((year, one, two))
        if readings:
            yield Date(tuple(readings), *match.span())


def _han(text: str, language: str) -> Iterator[Date]:
    for match in _HAN.finditer(text):
        year, month, day = match[1], match[2] or match[4], match[3] or match[5]
        if month and not 1 <= int(month) <= 12:
            continue
        if year and not month and (len(year) < 3 or text[match.end() : match.end() + 1] in tuple("间間前后後代")):
            continue  # 20年 may be a span of time, 1990年代 a decade
        parts = tuple(int(part) if part else None for part in (year, month, day))
        yield Date(((parts[0], parts[1], parts[2]),), *match.span())


def _named(text: str, language: str) -> Iterator[Date]:
    names = _names(language)
    if names is None:
        return
    for match in names.pattern.finditer(text):
        groups = {key.rstrip("0123456789"): value for key, value in match.groupdict().items() if value}
        word = groups["month"]
        numbered = "day" in groups or "year" in groups
        if not numbered and ((language in ("en", "de") and not word[0].isupper()) or not _alone(text, match, word)):
            continue
        if language == "en" and word[0].islower():
            continue
        year, day = groups.get("year"), groups.get("day")
        if day and not 1 <= int(day) <= 31:
            continue
        month = names.months[word.lower()]
        yield Date(((int(year) if year else None, month, int(day) if day else None),), *match.span())


def _alone(text: str, match: re.Match[str], word: str) -> bool:
    """Whether a month's name without a number is one: `may`, `march`, `mars` and short forms are usually not."""
    before = text[max(0, match.start() - 12) : match.start()].lower().split()
    if word.lower() in (
        "may",
        "march",
        "august",
        "mars",
        "mai",
        "dec",
        "mar",
        "jan",
        "sec",
        "set",
        "sett",
        "août",
        "abr",
        "ago",
        "дек",
    ):
        return bool(before) and before[-1] in (
            "in",
            "of",
            "since",
            "until",
            "by",
            "early",
            "late",
            "im",
            "seit",
            "ab",
            "en",
            "de",
            "depuis",
        )
    return len(word) > 3


def _times(text: str) -> Iterator[Moment]:
    for match in _TIME.finditer(text):
        hour = next(int(match[group]) for group in (1, 4, 6, 8, 9) if match[group])
        minute = next((int(match[group]) for group in (2, 7, 10) if match[group]), 0)
        half = (match[3] or match[5] or "").lower()
        if half and 1 <= hour <= 12:
            hour = hour % 12 + (12 if half == "p" else 0)
        if hour <= 24 and minute < 60:
            yield Moment("time", hour * 60 + minute, *match.span())
