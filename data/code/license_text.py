"""Which licence a text states: SPDX tags, licence texts and notices, short phrases, a package's manifest.

Texts and notices are matched by `licenseclassifier`, a port of Google's licensecheck with SPDX's templates; it says
nothing rather than something wrong. Odd: a header that speaks of the GPL in words nobody knows counts as GPL of any
version, so that it never takes the permissive licence of the folder around it.
"""

import functools
import json
import re
import tomllib
from typing import Any, NamedTuple

from trivium.data.code.expression import joined, normalise
from trivium.data.code.paths import name_of
from trivium.errors import MissingDependencyError
from trivium.needs import cure

TAG, PHRASE, MANIFEST = 1.0, 0.8, 0.7  # confidence of what is no matched text
NOTICE = 0.9  # a licence's own notice in a header
HEAD = 8000  # characters in which a header is looked for
LONGEST = 200_000  # characters of a licence file that are looked at: the GPL has 35,000
COVERAGE = 40.0  # per cent of a licence file that must be known text; the rest names owners and third parties

_TAG = re.compile(r"SPDX-License-Identifier:[ \t]*([^\n\r*]+?)[ \t]*(?:\*/|-->|\"|'|#}|$)", re.MULTILINE)
_SPEAKS = re.compile(r"licen[cs]|spdx|permission|redistribut|\bgnu\b|\bgpl", re.IGNORECASE)
_COMMENT = re.compile(
    r"\s*(?:#|//|/\*|\*|--|;|%|<!--|\.\.|dnl\b|rem\b|!|\{-|\(\*|\"\"\"|'''|r?\"\"\"|@|<\?|'use strict'|$)", re.I
)
_OPENERS = (
    ("/*", "*/"),
    ('"""', '"""'),
    ("'''", "'''"),
    ("<!--", "-->"),
    ("{-", "-}"),
    ("(*", "*)"),
    ("=begin", "=end"),
)
_UNDER = (
    r"(?:licen[cs]ed|released|distributed|available|provided|covered|is)\s+under\s+"
    r"(?:the\s+)?(?:terms\s+of\s+)?(?:the\s+)?"
)
_ALONE = r"(?!\s*(?:,|/|\band\b|\bor\b|&))"


def _phrase(names: str, *, prefix: str = _UNDER) -> re.Pattern[str]:
    return re.compile(rf"{prefix}(?:{names})\b(?:\s+licen[cs]e)?{_ALONE}", re.IGNORECASE)


_PHRASES = (
    ("MIT", _phrase(r"MIT|Expat")),
    ("MIT", re.compile(r"^[^\w\n]*(?:MIT|Expat)[- ]licen[cs]ed?[^\w\n]*$", re.IGNORECASE | re.MULTILINE)),
    ("ISC", _phrase("ISC")),
    ("Apache-2.0", _phrase(r"Apache(?:\s+licen[cs]e)?,?(?:\s+version)?\s+v?2(?:\.0)?")),
    ("BSD-3-Clause", _phrase(r"(?:3[- ]clause|new|modified|revised)\s+BSD|BSD[- ]3[- ]clause")),
    ("BSD-2-Clause", _phrase(r"(?:2[- ]clause|simplified)\s+BSD|BSD[- ]2[- ]clause")),
    ("MPL-2.0", _phrase(r"(?:Mozilla\s+Public\s+Licen[cs]e|MPL),?(?:\s+version)?\s+v?2(?:\.0)?")),
    ("BSL-1.0", _phrase(r"Boost\s+Software\s+Licen[cs]e")),
    (
        "BSD-3-Clause OR GPL-2.0-only",  # Meta's projects, zstd above all
        re.compile(
            r"both\s+the\s+BSD-style\s+license[^.]*?\band\s+the\s+GPLv2.*?select,\s+at\s+your\s+option", re.DOTALL
        ),
    ),
    ("PSF-2.0", re.compile(r"Licensed\s+to\s+(?:the\s+)?PSF\s+under\s+a\s+Contributor\s+Agreement", re.IGNORECASE)),
)
_JSDOC = re.compile(r"@licen[cs]e:?\s+([A-Za-z0-9.+-]+)\s*$", re.MULTILINE)
_GPL = re.compile(r"GNU\s+(?:Lesser\s+|Library\s+|Affero\s+)?(?:General\s+)?Public\s+Licen[cs]e|\b[AL]?GPL(?:v?\d|\b)")


class Found(NamedTuple):
    """A licence expression and how sure it is: 1 for a tag, the matched share of a licence file, less for phrases."""

    expression: str
    confidence: float


NOTHING = Found("", 0.0)


def of_header(text: str) -> Found:
    """What the comment at the top of a source file states."""
    comment = leading_comment(text)
    return _of_comment(comment) if _SPEAKS.search(comment) else NOTHING


@functools.lru_cache(maxsize=8192)
def _of_comment(comment: str) -> Found:
    tag = _tagged(comment)
    if tag:
        return Found(tag, TAG)
    found = joined(normalise(region.id) for region in _regions(comment, 0.0))
    if found:
        return Found(found, NOTICE)
    return _phrased(comment)


def _tagged(text: str) -> str:
    """The tags of a text joined by AND (a file may carry several)."""
    found = [
        normalise(expression.strip(" )") if "(" not in expression else expression) for expression in _TAG.findall(text)
    ]
    return joined(found) if all(found) else ""


def _phrased(text: str) -> Found:
    text = " ".join(_strip(line) for line in text.splitlines()) + "\n" + text
    found = {expression for expression, pattern in _PHRASES if pattern.search(text)}
    found |= {normalise(name) for name in _JSDOC.findall(text)} - {""}
    if _GPL.search(text) and not any("GPL" in expression for expression in found):
        found.add("GPL-1.0-or-later")
    return Found(joined(found), PHRASE) if found else NOTHING


def _strip(line: str) -> str:
    return line.strip(" \t#/*;%-!.\"'")


def leading_comment(text: str) -> str:
    """The comment lines at the top, blank lines and directives between them too; up to 8,000 characters."""
    closing = ""
    end = 0
    for line in text[:HEAD].splitlines(keepends=True):
        bare = line.strip()
        if closing:
            closing = "" if closing in bare else closing
        elif _COMMENT.match(line):
            for opener, closer in _OPENERS:
                if opener in bare and closer not in bare.split(opener, 1)[1]:
                    closing = closer
                    break
        else:
            break
        end += len(line)
    return text[:end]


def of_license_file(text: str) -> Found:
    """What a LICENSE or COPYING file holds; several texts are joined by AND, the confidence is the share matched."""
    text = text[:LONGEST]
    regions = _regions(text, COVERAGE)
    known = [normalise(region.id) for region in regions]
    if known and all(known):
        covered = sum(region.end - region.start for region in regions)
        return Found(joined(known), round(min(1.0, covered / max(1, len(text.strip()))), 4))
    tag = _tagged(text)
    return Found(tag, TAG) if tag else _phrased(text)


def _regions(text: str, coverage: float) -> list[Any]:
    try:
        from licenseclassifier import identify_license
    except ModuleNotFoundError:
        raise MissingDependencyError(f"licenseclassifier is not installed; run: {cure('build')}") from None
    return list(identify_license(text, coverage))


def of_manifest(path: str, text: str) -> Found:
    """What package.json, composer.json, Cargo.toml, pyproject.toml or PKG-INFO says of the package's licence."""
    name = name_of(path).lower()
    try:
        if name.endswith(".json"):
            stated = _stated(json.loads(text))
        elif name.endswith(".toml"):
            whole = tomllib.loads(text)
            stated = _stated(whole.get("project") or whole.get("package") or {})
        else:
            match = re.search(r"^License(?:-Expression)?:\s*(.+)$", text, re.MULTILINE)
            stated = match[1] if match else ""
    except (ValueError, RecursionError, AttributeError):
        return NOTHING
    expression = normalise(stated)
    return Found(expression, MANIFEST) if expression else NOTHING


def _stated(table: Any) -> str:
    if not isinstance(table, dict):
        return ""
    value = table.get("license")
    if isinstance(value, dict):
        value = value.get("type") or value.get("text")
    if isinstance(value, list):
        value = " OR ".join(str(one) for one in value)
    return value if isinstance(value, str) and len(value) < 200 else ""
