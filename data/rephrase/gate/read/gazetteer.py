"""Names of countries, languages and large cities in any language, by CLDR (through Babel): `Moskau` is `Москва`."""

import re
from functools import cache

_KEYS = ("territories", "languages")
# Too short or too common a word to be taken for a place; also names of time zones that are no places.
_SKIPPED = frozenset({"unknown city", "gmt", "utc", "center", "the", "no linguistic content", "multiple languages"})


@cache
def places(language: str) -> dict[str, frozenset[str]]:
    """Codes by name in lower case; empty for a language that CLDR does not have."""
    from babel import Locale, UnknownLocaleError

    try:
        locale = Locale.parse(language)
    except (UnknownLocaleError, ValueError):
        return {}
    found: dict[str, set[str]] = {}
    for key in _KEYS:
        for code, name in getattr(locale, key).items():
            if (
                key == "territories"
                and code.isdigit()
                and code not in ("002", "009", "019", "142", "150", "003", "005")
            ):
                continue
            for form in {name, re.sub(r"\s*\(.*\)$", "", name)}:
                if len(form) > 1 and form.lower() not in _SKIPPED:
                    found.setdefault(form.lower(), set()).add(f"{key}:{code}")
    zones = {str(zone): zone for zone in Locale.parse("ru")._data["time_zones"]}
    for zone in zones:
        if "/" in zone and not zone.startswith("Etc"):
            names = locale._data["time_zones"].get(zone, {})
            city = names.get("city") if names else None
            name = str(city or zone.rsplit("/", 1)[1].replace("_", " "))
            if len(name) > 1 and name.lower() not in _SKIPPED:
                found.setdefault(name.lower(), set()).add(f"city:{zone}")
    return {name: frozenset(codes) for name, codes in found.items()}


@cache
def longest(language: str) -> re.Pattern[str] | None:
    """The pattern of all those names, longest first, for scripts without blanks."""
    known = sorted((name for name in places(language) if len(name) > 1), key=len, reverse=True)
    return re.compile("|".join(map(re.escape, known))) if known else None
