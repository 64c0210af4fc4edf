"""Names: none is new, and most of the source's are kept; across languages by CLDR's places and by their sound."""

import re
from collections.abc import Iterable
from difflib import SequenceMatcher
from functools import cache

from trivium.data.rephrase.gate.pair import Finding
from trivium.data.rephrase.gate.read.gazetteer import places
from trivium.data.rephrase.gate.read.names import Name
from trivium.data.rephrase.gate.reading import Comparison, Reading, shown

_LATIN = re.compile(r"[A-Za-zÀ-ɏ]")
_CYRILLIC = re.compile(r"[Ѐ-ӿ]")
_PEOPLE = {
    "french": "franc", "dutch": "netherlands", "greek": "greec", "swiss": "switzer", "switzerland": "switzer",
    "welsh": "wales", "wales": "wales", "spanish": "spain", "spain": "spain", "norwegian": "norway", "norway": "norway",
    "danish": "denmark", "denmark": "denmark", "turkish": "turkey", "turkey": "turkey", "finnish": "fin",
}  # fmt: skip
_OTHER = frozenset({"zh", "ja", "ko", "th", "ar", "he", "hi"})  # scripts that no table here turns into Latin
_SOUND = 0.66  # likeness of two names' letters, in Latin, from which on one is the other in another language
_CASES = 3  # letters that a case ending has at most
_WORD = re.compile(r"[^\W\d_]+(?:[-‑][^\W\d_]+)*")
_CYRILLIC_LETTERS = "абвгдеёжзийклмнопрстуфхцчшщъыьэюя"
_LATIN_LETTERS = "a b v g d e e zh z i i k l m n o p r s t u f h c ch sh sch . y . e yu ya"
_TABLE = {letter: latin.strip(".") for letter, latin in zip(_CYRILLIC_LETTERS, _LATIN_LETTERS.split(), strict=True)}


def check(both: Comparison) -> Finding:
    """No name that the source does not have; of the source's no more missing than the policy allows."""
    source, rewrite = both.source, both.rewrite
    comparable = _comparable(source.language, rewrite.language)
    ours = _distinct(name for name in source.names if name.sure)
    theirs = _distinct(name for name in rewrite.names if name.sure and name.key not in rewrite.labels)
    spelled = comparable or source.language not in _OTHER  # Latin names stand in Han or kana as they are
    seen = [name for name in theirs if comparable or name.codes or (spelled and _LATIN.match(name.text))]
    new = [name for name in seen if not _stands(name, source, rewrite)]
    asked = [name for name in ours if comparable or name.codes]
    lost = [name for name in asked if not _stands(name, rewrite, source)]
    if lost and not new and not both.pair.translated and not rewrite.lexicon.nouns_capital:
        begun = [name for name in rewrite.names if not name.sure and name.key not in rewrite.labels]
        new = [name for name in begun if _followed(name, rewrite) and not _stands(name, source, rewrite)]
    share = len(lost) / max(1, len(asked))
    groups = _wholly_lost(lost, asked, source)
    reason = detail = ""
    if new:
        reason = "name_changed" if lost else "name_invented"
        detail = f"{shown(new[0].text)} is not in the source"
        if lost:
            detail = f"{shown(lost[0].text)} of the source is missing; {detail}"
    elif share > both.config.lost_names and not both.scope.condenses and groups > 1:
        reason, detail = "name_lost", f"{len(lost)} of {len(asked)} names are missing, first {shown(lost[0].text)}"
    total = max(1, len(asked) + len(new))
    broken = len(new) + (0 if both.scope.condenses else len(lost))
    return Finding(check="names", score=max(0.0, 1.0 - broken / total), passed=not reason, reason=reason, detail=detail)


def _wholly_lost(lost: list[Name], asked: list[Name], source: Reading) -> int:
    """How many names are missing with all their words: `Frederick Banting` is there as long as `Banting` is."""
    count, group = 0, list[Name]()
    for name in sorted(asked, key=lambda name: name.start):
        if group and source.prose[group[-1].stop : name.start].strip(" .'’") == "":
            group.append(name)
        else:
            count += bool(group) and all(part in lost for part in group)
            group = [name]
    return count + (bool(group) and all(part in lost for part in group))


def _followed(name: Name, reading: Reading) -> bool:
    """Whether another capital or a Roman number follows the word that opens a sentence: `Charles X`."""
    return bool(re.match(r"\s[A-ZÀ-Þ]", reading.prose[name.stop : name.stop + 2]))


def _distinct(names: Iterable[Name]) -> list[Name]:
    found: dict[str, Name] = {}
    for name in names:
        found.setdefault(name.key, name)
    return list(found.values())


def _comparable(one: str, other: str) -> bool:
    """Whether names of two languages can be told by their letters: not between Han or kana and an alphabet."""
    return one == other or not ({one, other} & _OTHER)


def _stands(name: Name, other: Reading, own: Reading) -> bool:
    """Whether the other text has that name, inflected, abbreviated, or as its language calls it."""
    if name.codes and any(name.codes & theirs.codes for theirs in other.names):
        return True
    if name.codes and other.language != own.language and _by_code(name, other):
        return True
    same = other.language == own.language
    key = name.key
    if (not key[0].isascii() or not key[0].isalpha()) and key in other.lower:
        return True
    whole = [word.lower() for word in _WORD.findall(other.text)]
    words = {*whole, *(part for word in whole for part in re.split("[-‑]", word))}  # Unix-like
    if key in words or key in {re.sub(r"['’]s?$", "", word) for word in words}:
        return True
    if any(_inflected(key, word) for word in words):
        return True
    if same and key[0].isalpha() and any(_people(key) == _people(word) for word in words if word[0] == key[0]):
        return True
    parts = re.split(r"[-‑'’]", key)
    held = [part in words or any(_inflected(part, w) for w in words) for part in parts if len(part) > 2]
    if len(parts) > 1 and (all(held) if same else any(held)):  # Linux-Distribution, in a translation
        return True
    if (name.text.isupper() and _initials(name.text, other)) or _expanded(name, own, other):
        return True
    capitals = {word for word in _WORD.findall(other.text) if word[0].isupper()}
    return not same and any(_sounds_like(name.text, word) for word in capitals)


def _inflected(one: str, other: str) -> bool:
    """Whether they differ by an ending: one goes on where the other stops, or both have short endings of Cyrillic."""
    if min(len(one), len(other)) < 3:
        return False
    short, long = sorted((one, other), key=len)
    if long.startswith(short) and len(long) - len(short) <= _CASES + (2 if len(short) > 4 else 0):
        return True
    if _CYRILLIC.match(one) and _CYRILLIC.match(other):
        stem = len(short) - 2
        return stem >= 3 and one[:stem] == other[:stem] and len(long) - len(short) <= _CASES
    return False


@cache
def _people(word: str) -> str:
    """A country's name or that of its people without the ending, so that `england` meets `english`."""
    return _PEOPLE.get(word) or re.sub(r"(?:and|ands|ish|ese|ians?|ans?|is?|ia|y|e|s)$", "", word)


def _by_code(name: Name, other: Reading) -> bool:
    """Whether the other text names that place in its own language."""
    wanted = [form for form, codes in places(other.language).items() if codes & name.codes]
    stems = [form if len(form) < 5 else form[: max(4, len(form) - 2)] for form in wanted]
    return any(stem in other.lower for stem in stems)


def _initials(acronym: str, other: Reading) -> bool:
    """Whether capitals of neighbouring words of the other text make that acronym."""
    letters = "".join(word[0] for word in _WORD.findall(other.text) if word[0].isupper())
    return len(acronym) > 1 and acronym in letters


def _expanded(name: Name, own: Reading, other: Reading) -> bool:
    """Whether the name is part of words whose initials stand in the other text as an acronym."""
    acronyms = [word for word in _WORD.findall(other.text) if word.isupper() and len(word) > 2]
    around = own.text[max(0, name.start - 60) : name.stop + 60]
    letters = "".join(word[0] for word in _WORD.findall(around) if word[0].isupper())
    return any(acronym in letters and name.text[0] in acronym for acronym in acronyms)


def _sounds_like(one: str, other: str) -> bool:
    a, b = _latin(one), _latin(other)
    if not a or not b or a[0] not in _near(b[0]):
        return False
    return SequenceMatcher(None, a, b).ratio() >= _SOUND


def _near(letter: str) -> str:
    groups = ("ckqghx", "fvwbp", "iyje", "sczt", "uvwo", "ao")
    return letter + "".join(group for group in groups if letter in group)


def _latin(text: str) -> str:
    """Lower-case Latin letters without marks."""
    import unicodedata

    text = "".join(_TABLE.get(character, character) for character in text.lower())
    return re.sub(r"[^a-z]", "", unicodedata.normalize("NFKD", text))
