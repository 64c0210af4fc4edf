"""Numbers in a text, whichever way they are written: figures with either decimal mark, spelled out, Han, fractions.

A number may have several readings (`1.234` in German is usually 1234, in a table perhaps 1.234); two numbers are equal
when they share one. `sort` tells those that a rewrite has to keep (`number`) from those that prose uses freely.
"""

import re
from collections.abc import Iterator
from fractions import Fraction
from functools import cache
from typing import NamedTuple

from trivium.data.rephrase.gate.lexicon import Lexicon, lexicon

POINT = frozenset({"en", "zh", "ja", "ko", "th", "he", "hi"})  # where a point is the decimal mark
SMALL = 12  # up to here a spelled-out number may count what a text lists
_BLANKS = " \u00a0\u202f\u2009"
_FIGURE = re.compile(
    r"(?<![\dA-Za-z_À-ÿЀ-ӿ])(?<!\d[.,])(?P<sign>(?<![\w)])[-−](?=\d))?(?P<body>\d{1,3}(?:[\u00a0\u202f\u2009'’]\d{3})+(?:[.,]\d+)?"
    r"|\d{1,3}(?: \d{3})+(?![\d])(?:,\d+)?|\d+(?:[.,]\d+)*)(?P<glyph>[½⅓⅔¼¾⅕⅛])?"
    r"|(?P<lone>[½⅓⅔¼¾⅕⅛])"
)
_GLYPHS = {"½": (1, 2), "⅓": (1, 3), "⅔": (2, 3), "¼": (1, 4), "¾": (3, 4), "⅕": (1, 5), "⅛": (1, 8)}
_POWER = re.compile(r"\s?[×x·*]\s?10(?:\^\{?([-−]?\d+)\}?|([⁻⁰¹²³⁴-⁹]+))")
_EXPONENT = re.compile(r"[eE]([+-]?\d{1,3})(?!\w)")
_OVER = re.compile(r"\s?[/⁄]\s?(\d{1,4})(?![\d/.,]\d|\d)")
_WORD = re.compile(r"[^\W\d_]+(?:['’](?=\w))?")
_HAN_DIGITS = {
    "零": 0,
    "〇": 0,
    "一": 1,
    "二": 2,
    "两": 2,
    "兩": 2,
    "三": 3,
    "四": 4,
    "五": 5,
    "六": 6,
    "七": 7,
    "八": 8,
    "九": 9,
}
_HAN_SCALES = {"十": 10, "百": 100, "千": 1000, "万": 10**4, "萬": 10**4, "亿": 10**8, "億": 10**8, "兆": 10**12}
_HAN = re.compile(r"[零〇一二两兩三四五六七八九十百千万萬亿億兆]+")
_HAN_AFTER = re.compile(r"\s?[十百千万萬亿億兆]+")
_HAN_COUNTED = re.compile(
    r"[个個名位次年月日天人种種条條台张張件篇章倍层層国家座只隻本枚回度级級分秒小时時间間岁歳世点點块塊颗顆支棵匹头頭项項类類部步代つ段例组組届公米克升吨元円]"
)
_HAN_WORDS = frozenset({"十分", "千万", "万一", "一一", "三三", "百万富翁", "万万"})
_ROMAN = re.compile(r"(?<![\w.])(?=[IVXLC]{2,8}(?!\w))C{0,3}(?:XC|XL|L?X{0,3})(?:IX|IV|V?I{0,3})(?!\w)")
_ROMAN_VALUES = {"I": 1, "V": 5, "X": 10, "L": 50, "C": 100}
_TEN_POWERS = str.maketrans("⁰¹²³⁴⁵⁶⁷⁸⁹⁻−", "0123456789--")


class Number(NamedTuple):
    """One number of a text at `start` to `stop`; sorts: number, small, fraction, multiple, ordinal, roman."""

    readings: frozenset[Fraction]
    sort: str
    start: int
    stop: int

    def meets(self, other: "Number") -> bool:
        return not self.readings.isdisjoint(other.readings)


def numerals(text: str, language: str) -> list[Number]:
    """All numbers of a text, in its order."""
    words = lexicon(language)
    found = list(_figures(text, language, words))
    taken = [(number.start, number.stop) for number in found]
    spelled = [*_spelled(text, words), *(_han(text) if language in ("zh", "ja") else ()), *_romans(text)]
    spelled.sort(key=lambda number: number.start - number.stop)  # `two thirds` holds a `two`
    for number in spelled:
        if not any(number.start < stop and start < number.stop for start, stop in taken):
            found.append(number)
            taken.append((number.start, number.stop))
    return sorted(found, key=lambda number: number.start)


def _figures(text: str, language: str, words: Lexicon) -> Iterator[Number]:
    over = -1  # behind the last fraction's lower number
    for match in _FIGURE.finditer(text):
        if match.start() < over:
            continue
        stop, sort = match.end(), "number"
        readings = set(_read(match["body"], language)) if match["body"] else {Fraction(0)}
        glyph = match["glyph"] or match["lone"]
        if glyph:
            readings = {value + Fraction(*_GLYPHS[glyph]) for value in readings}
        fraction = _OVER.match(text, stop)
        if fraction and match["body"].isdigit() and len(match["body"]) < 4 and int(fraction[1]):
            top, bottom = int(match["body"]), int(fraction[1])
            stop = over = fraction.end()
            readings = {Fraction(top, bottom)}
            yield Number(frozenset({Fraction(top)}), "part", match.start(), stop)
            yield Number(frozenset({Fraction(bottom)}), "part", match.start(), stop)
        power = _POWER.match(text, stop) or _EXPONENT.match(text, stop)
        if power:
            raised = next(group for group in power.groups() if group)
            factor = Fraction(10) ** max(-400, min(400, int(raised.translate(_TEN_POWERS))))
            readings, stop, over = {value * factor for value in readings}, power.end(), power.end()
        else:
            times, stop = _scale(text, stop, words)
            readings = {value * times for value in readings}
        if match["sign"]:
            readings = {-value for value in readings}
        ordinal = next((end for end in words.ordinal_ends if text.startswith(end, stop)), "")
        if ordinal and not text[stop + len(ordinal) : stop + len(ordinal) + 1].isalpha():
            stop += len(ordinal)
        yield Number(frozenset(readings), sort, match.start(), stop)


def _read(body: str, language: str) -> Iterator[Fraction]:
    """The readings of a run of figures with marks between them."""
    body = re.sub(r"[\s'’]", "", body)
    marks = [mark for mark in body if mark in ".,"]
    if not marks:
        yield Fraction(int(body))
        return
    groups = re.split(r"[.,]", body)
    if len(set(marks)) == 2 and marks.count(marks[-1]) == 1:
        yield Fraction("".join(groups[:-1]) + "." + groups[-1])
    elif len(marks) > 1:
        yield Fraction(int("".join(groups)))
    else:
        grouped = len(groups[1]) == 3 and len(groups[0]) <= 3 and groups[0].strip("0") != ""
        comma = language not in POINT
        if not grouped or marks[0] == ("," if comma else ".") or comma:
            yield Fraction(f"{groups[0]}.{groups[1]}")
        if grouped and marks[0] == ("." if comma else ","):
            yield Fraction(int("".join(groups)))


def _scale(text: str, stop: int, words: Lexicon) -> tuple[int, int]:
    """What a word such as `million` right behind a figure makes of it, and where that word ends."""
    han = _HAN_AFTER.match(text, stop)
    if han:
        factor = 1
        for sign in han[0].strip():
            factor *= _HAN_SCALES[sign]
        return factor, han.end()
    word = _WORD.match(text, stop + 1 if text[stop : stop + 1] in (*_BLANKS, "-") else stop)
    if word and word[0].lower() in words.scales:
        return words.scales[word[0].lower()], word.end()
    if word and word[0].lower() in ("hundred", "hundert", "cents", "cent", "сот"):
        return (100, word.end()) if word[0].lower() in words.numerals else (1, stop)
    return 1, stop


class _Part(NamedTuple):
    value: int
    kind: str  # numeral, scale, glue
    start: int
    stop: int


@cache
def _morphemes(language: str) -> re.Pattern[str]:
    words = lexicon(language)
    known = sorted([*words.numerals, *words.scales, *words.glue], key=len, reverse=True)
    return re.compile("|".join(map(re.escape, known)))


def _spelled(text: str, words: Lexicon) -> Iterator[Number]:
    """Numbers in words: parts that follow each other, put together as the language does."""
    run: list[_Part] = []
    end = -1
    for word in _WORD.finditer(text):
        token = word[0].lower().rstrip("'’")
        joined = bool(run) and text[end : word.start()].strip(_BLANKS) in ("", "-", "‑") and word.start() - end <= 2
        parts = _parts(token, word.start(), words)
        if not parts or not joined:
            yield from _composed(run, words)
            run = []
        if parts and not (parts[0].kind == "glue" and not run):
            run += parts
        end = word.end()
        yield from _single(text, word, token, run, words)
    yield from _composed(run, words)


def _parts(token: str, start: int, words: Lexicon) -> list[_Part]:
    """What a word is made of, when it is a numeral."""
    if token in words.numerals:
        return [_Part(words.numerals[token], "numeral", start, start + len(token))]
    if token in words.scales:
        return [_Part(words.scales[token], "scale", start, start + len(token))]
    if token in words.glue:
        return [_Part(0, "glue", start, start + len(token))]
    if not words.compound or len(token) < 6:
        return []
    found, place = [], 0
    while place < len(token):
        match = _morphemes(words.language).match(token, place)
        if not match:
            return []
        found += _parts(match[0], start + place, words)
        place = match.end()
    return found


def _single(text: str, word: re.Match[str], token: str, run: list[_Part], words: Lexicon) -> Iterator[Number]:
    """Ordinals, fractions and multiples, each one word, perhaps with a number before it."""
    start, stop = word.start(), word.end()
    if token in words.multiples:
        yield Number(frozenset({Fraction(words.multiples[token])}), "multiple", start, stop)
    if token in words.fractions:
        before = text[max(0, start - 12) : start].split()
        top = before[-1].lower() if before else ""
        if top in words.numerals and words.numerals[top] > 1:
            value = words.fractions[token] * words.numerals[top]
            yield Number(frozenset({value}), "number", start - len(top) - 1, stop)
            return
        if top.isdigit():
            return
        readings = {words.fractions[token]}
        if token in words.ordinals:
            readings.add(Fraction(words.ordinals[token]))
        yield Number(frozenset(readings), "ordinal" if token in words.ordinals else "fraction", start, stop)
    elif token in words.ordinals:
        yield Number(frozenset({Fraction(words.ordinals[token])}), "ordinal", start, stop)


def _composed(run: list[_Part], words: Lexicon) -> Iterator[Number]:
    """The numbers that a run of parts makes: `two hundred and five` one, `five six` two."""
    state = _Sum()
    for place, part in enumerate(run):
        if part.kind == "glue":
            following = run[place + 1] if place + 1 < len(run) else None
            if following is None or not state.takes_glue(following.value, words):
                yield from state.number()
                state = _Sum()
            continue
        if not state.takes(part, words):
            yield from state.number()
            state = _Sum()
            state.takes(part, words)
    yield from state.number()


class _Sum:
    """A number in the making."""

    def __init__(self) -> None:
        self.total = self.current = 0
        self.scale = 10**18
        self.start, self.stop = -1, -1
        self.glued = False

    def takes_glue(self, following: int, words: Lexicon) -> bool:
        unit, tens = self.current % 100 < 10 and self.current % 100 > 0, self.current >= 20
        fits = (
            (unit and following >= 20 and following % 10 == 0 and following < 100)
            if words.tens_last
            else ((tens or self.total > 0) and 0 < following < 100)
        )
        fits = fits or (self.current >= 100 and following < 100) or (self.total > 0 and self.current == 0)
        if not words.tens_last and "and" in words.glue and self.total == 0 and self.current < 100:
            fits = False
        self.glued = fits
        return fits

    def takes(self, part: _Part, words: Lexicon) -> bool:
        value, rest = part.value, self.current % 100
        first = self.start < 0
        if part.kind == "scale":
            if value >= self.scale:
                return False
            self.total += max(self.current, 1) * value
            self.current, self.scale = 0, value
        elif first:
            self.current = value
        elif value == 100 and 0 < self.current < 100:
            self.current *= 100
        elif value == 20 and rest == 4 and "et" in words.glue:
            self.current += 76  # quatre-vingt
        elif self._adds(value, words):
            self.current += value
        elif 11 <= self.current <= 20 and self.total == 0 and 10 <= value < 100 and "and" in words.glue:
            self.current = self.current * 100 + value
        else:
            return False
        if first:
            self.start = part.start
        self.stop, self.glued = part.stop, False
        return True

    def _adds(self, value: int, words: Lexicon) -> bool:
        """Whether a part is added to what stands there: units to tens, tens to hundreds, in German tens to units."""
        rest = self.current % 100
        if self.current == 0 or (rest == 0 and value < 100):
            return True
        if rest >= 20 and rest % 10 == 0 and 0 < value < 10:
            return True
        if "et" in words.glue and ((rest in (60, 80) and 10 <= value < 20) or (rest == 10 and 7 <= value < 10)):
            return True  # soixante-dix, dix-sept
        return words.tens_last and self.glued and rest < 10 and value % 10 == 0 and 20 <= value < 100

    def number(self) -> Iterator[Number]:
        value = self.total + self.current
        if self.start >= 0 and value not in (0, 1):
            sort = "small" if value <= SMALL else "number"
            yield Number(frozenset({Fraction(value)}), sort, self.start, self.stop)


def _han(text: str) -> Iterator[Number]:
    """Numbers in Han signs; one sign alone counts only before what is counted."""
    for match in _HAN.finditer(text):
        run = match[0]
        if (
            run in _HAN_WORDS
            or text[match.start() : match.end() + 1] in _HAN_WORDS
            or (run[0] in _HAN_SCALES and run[0] != "十" and run[0] != "百" and run[0] != "千")
        ):
            continue
        counted = bool(_HAN_COUNTED.match(text, match.end())) or text[match.start() - 1 : match.start()] == "第"
        if len(run) == 1 and not counted:
            continue
        value = _han_value(run)
        if value > 1:
            sort = "small" if value <= SMALL else "number"
            if text[match.start() - 1 : match.start()] == "第":
                sort = "ordinal"
            yield Number(frozenset({Fraction(value)}), sort, match.start(), match.end())


def _han_value(run: str) -> int:
    if all(sign in _HAN_DIGITS for sign in run):
        return int("".join(str(_HAN_DIGITS[sign]) for sign in run))
    total = section = digit = 0
    for sign in run:
        if sign in _HAN_DIGITS:
            digit = _HAN_DIGITS[sign]
        elif _HAN_SCALES[sign] < 10**4:
            section += (digit or 1) * _HAN_SCALES[sign]
            digit = 0
        else:
            total += max(section + digit, 1) * _HAN_SCALES[sign]
            section = digit = 0
    return total + section + digit


def _romans(text: str) -> Iterator[Number]:
    for match in _ROMAN.finditer(text):
        values = [_ROMAN_VALUES[sign] for sign in match[0]]
        value = sum(-a if a < b else a for a, b in zip(values, [*values[1:], 0], strict=True))
        yield Number(frozenset({Fraction(value)}), "roman", match.start(), match.end())
