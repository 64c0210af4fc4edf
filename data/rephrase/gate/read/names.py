"""Names in a text without a model: capital letters where the script has them, CLDR's places, katakana and title marks.

Odd: German writes every noun with a capital letter, so there a name is one that CLDR knows, an acronym, two capitals in
a row, or stands behind a preposition without an article. What a sentence begins with is a name only when it is one
elsewhere.
"""

import re
from collections.abc import Iterator
from functools import cache
from typing import NamedTuple

from trivium.data.rephrase.gate.lexicon import lexicon
from trivium.data.rephrase.gate.read.gazetteer import longest, places
from trivium.data.rephrase.gate.read.sentences import sentences

_WORD = re.compile(r"[^\W\d_]+(?:[-‑'’][^\W\d_]+)*")
_LABEL = re.compile(
    r"^[ \t]*(?:[-*•—]\s*)?(?:\*\*)?([^\W\d_][\w .'’-]{0,30}?)(?:\*\*)?\s?[:：](?:\*\*)?(?=\s|\S)", re.MULTILINE
)
_KATAKANA = re.compile(r"[ァ-ヴー]{3,}(?:[・＝][ァ-ヴー]+)*")
_FOREIGN = re.compile(r"[\u4e00-\u9fff]{1,4}(?:·[\u4e00-\u9fff]{2})+")
_TITLED = re.compile(r"《([^《》]{1,30})》")
_OPENING = re.compile(
    r"(?:[\n:.!?…«“\"‘—–*>#|]\s*[\"“«‘(*_]*|\n\s*(?:[-*•·]|\(?\d+[.)])\s*)$"
)  # what stands before the first word of a sentence
_HEADING = re.compile(r"^[^.!?。！？:\n]{1,70}$", re.MULTILINE)
_NOUN_END = re.compile(
    r"(?:ung|ungen|heit|heiten|keit|keiten|ion|ionen|schaft|schaften|tät|täten|nis|nisse|tum|ling|chen|lein|enz|anz|ismus|ik|ur|ei|sel"
    r"|ment|mente|öße|ärme|inge?|ag|age|eit|eiten|and|ende?|aft|ang|itt|all|ahl|ahlen|alt|atz|ort|orte|eil|eile|ode|ache|iel)$"
)
_BEFORE_NAME = frozenset(
    {"in", "aus", "nach", "von", "bei", "durch", "für", "gegen", "und", "wie", "herr", "frau", "heißt", "namens"}
)
_CAPITALS_BEFORE = re.compile(r"(?:(?<=[^.!?:\n]\s)[A-ZÄÖÜ][\w-]+\s*)+$")
_CAPITAL_AFTER = re.compile(r"\s([A-ZÄÖÜ][a-zäöüß-]+)")
_CJK = frozenset({"zh", "ja"})


class Name(NamedTuple):
    """A name as written; `key` is its lower case, `codes` are CLDR's; `sure` is false where it opens a sentence."""

    text: str
    key: str
    codes: frozenset[str]
    start: int
    stop: int
    sure: bool = True


def labels(text: str) -> frozenset[str]:
    """Words before a colon at the beginning of a line, in lower case."""
    found: set[str] = set()
    for match in _LABEL.finditer(text):
        found.update(word[0].lower() for word in _WORD.finditer(match[1]))
    return frozenset(found)


def names(text: str, language: str) -> list[Name]:
    """All names of a text, in its order."""
    found = list(_cjk(text, language)) if language in _CJK else list(_alphabetic(text, language))
    return sorted(found, key=lambda name: name.start)


def _cjk(text: str, language: str) -> Iterator[Name]:
    known = longest(language)
    spans: list[tuple[int, int]] = []
    for pattern in (_FOREIGN, _TITLED, _KATAKANA if language == "ja" else _FOREIGN):
        for match in pattern.finditer(text):
            if any(start < match.end() and match.start() < stop for start, stop in spans):
                continue
            spans.append(match.span())
            key = match[0].lower()
            yield Name(match[0], key, places(language).get(key, frozenset()), *match.span())
    for match in known.finditer(text) if known else ():
        if not any(start < match.end() and match.start() < stop for start, stop in spans):
            spans.append(match.span())
            yield Name(match[0], match[0], places(language)[match[0]], *match.span())
    for match in re.finditer(r"[A-Za-zÀ-ÿ][\w.'’-]+", text):
        if match[0][0].isupper():
            yield Name(match[0], match[0].lower(), frozenset(), *match.span())


def _alphabetic(text: str, language: str) -> Iterator[Name]:
    words = lexicon(language)
    starts = {start for start, _ in sentences(text)}
    headings = [match.span() for match in _HEADING.finditer(text) if _is_heading(match[0], text, match.start())]
    lower = _lower_words(text)
    before, end = "", 0
    for match in _WORD.finditer(text):
        word = match[0]
        gap = text[end : match.start()]
        opens = match.start() in starts or end == 0 or bool(_OPENING.search(gap))
        capital = word[0].isupper() and (len(word) > 1 or language not in ("en", "fr", "ru"))
        acronym = sum(character.isupper() for character in word) > 1
        key = re.sub(r"['’]s?$|^(?:[ldnsjmtc]|qu|dell|nell|all)['’]", "", word.lower())
        core = (
            word.split("’")[-1].split("'")[-1]
            if re.match(r"^(?:[ldnsjmtcLDNSJMTC]|qu|Qu|dell|nell|all)['’]", word)
            else word
        )
        capital = capital if core is word else core[0].isupper()
        codes = places(language).get(key, frozenset())
        previous, before, end = before, word, match.end()
        if not capital or key in words.not_names or (len(key) < 2 and not acronym):
            continue
        if any(start <= match.start() < stop for start, stop in headings) and not acronym and not codes:
            continue
        sure = acronym or not opens
        if not sure and (key in lower or key in words.articles):
            continue
        if words.nouns_capital and not _german(text, match, previous, acronym, bool(codes), opens):
            continue
        yield Name(word, key, codes, *match.span(), sure)


def _german(text: str, match: re.Match[str], previous: str, acronym: bool, known: bool, opens: bool) -> bool:
    """Whether a noun is a name."""
    if acronym or known:
        return True
    word = match[0]
    if opens or len(word) < 3 or _NOUN_END.search(word.lower()):
        return False
    before = text[: match.start()].rstrip()
    row = _CAPITALS_BEFORE.search(before)  # the capitals right before it: Johann Wolfgang
    led = before[: row.start()].rstrip() if row else before
    leader = (_WORD.findall(led[-30:]) or [""])[-1].lower()
    described = leader in lexicon("de").articles or leader.endswith(("e", "en", "er", "es", "em")) or led[-1:].isdigit()
    following = _CAPITAL_AFTER.match(text, match.end())
    if row or following:
        other = following[1] if following else row[0].strip().split()[-1] if row else ""
        if not described and not _NOUN_END.search(other.lower()) and other.lower() not in places("de"):
            return True
    return leader == previous.lower() and leader in _BEFORE_NAME and not word.endswith(("en", "er", "e", "es"))


def _is_heading(line: str, text: str, start: int) -> bool:
    """A line by itself in title case: most of its longer words have capitals."""
    long = [word for word in _WORD.findall(line) if len(word) > 3]
    return len(long) > 1 and sum(word[0].isupper() for word in long) * 4 >= len(long) * 3 and len(line.split()) < 12


@cache
def _lower_words(text: str) -> frozenset[str]:
    return frozenset(word for word in _WORD.findall(text) if word[:1].islower())
