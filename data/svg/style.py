"""CSS to presentation attributes, and each property's value checked and made canonical.

Odd: style sheets and style attributes are resolved away, so that the code says what is drawn with attributes alone.
Selectors are simple ones (type, .class, #id, *); anything richer refuses the file rather than guess.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import tinycss2
import tinycss2.color3

from trivium.data.svg.policy import SvgPolicy, SvgRefusedError
from trivium.data.svg.quantities import fraction, length, measure, numbers, show
from trivium.data.svg.vocabulary import NEUTRAL, PICTURE_CHANGING, PROPERTIES, TEXT_PROPERTIES, WORDS

_PLAIN = re.compile(r"[^\"'\\/@(){}\[\]!]*\Z")
_SELECTOR = re.compile(r"(?P<type>\*|[A-Za-z][\w-]*)?(?P<rest>(?:[.#][\w-]+)*)\Z")
_REFERENCE = re.compile(r"url\(\s*(['\"]?)#([^'\"()\s]+)\1\s*\)\s*(.*)\Z", re.DOTALL)
_FAMILY = re.compile(r"[\w ,.'-]{1,200}\Z")
_BRACKET = re.compile(r"[()\[\]{}]")
_DEEPEST_BRACKETS = 32
_MOST_MATCHES = 1_000_000  # rules times elements
Declaration = tuple[str, str, bool]  # property, value, important


@dataclass(frozen=True, slots=True)
class Rule:
    type: str
    classes: frozenset[str]
    id: str
    weight: tuple[int, int, int]
    declarations: tuple[Declaration, ...]

    def matches(self, tag: str, element_id: str, classes: frozenset[str]) -> bool:
        return self.type in ("", tag) and self.id in ("", element_id) and self.classes <= classes


def read_sheets(sheets: list[str], elements: int, policy: SvgPolicy) -> list[Rule]:
    """The rules of all style sheets in order of rising precedence. Raises SvgRefusedError."""
    rules: list[Rule] = []
    for sheet in sheets:
        for part in tinycss2.parse_stylesheet(_shallow(sheet), skip_comments=True, skip_whitespace=True):
            if part.type == "qualified-rule":
                rules += _rules(part, policy)
            elif part.type == "at-rule" and not (part.lower_at_keyword == "import" and policy.external == "drop"):
                keyword = part.lower_at_keyword
                reason = "external_reference" if keyword in ("import", "font-face") else "unsupported_css"
                raise SvgRefusedError(reason, f"a style sheet with @{keyword}")
            elif part.type == "error":
                raise SvgRefusedError("bad_css", part.message)
    if len(rules) * elements > _MOST_MATCHES:
        raise SvgRefusedError("unsupported_css", f"{len(rules)} rules for {elements} elements")
    return sorted(rules, key=lambda rule: rule.weight)


def apply(rules: list[Rule], tag: str, attributes: dict[str, str], policy: SvgPolicy) -> dict[str, str]:
    """`attributes` with the cascade of rules and style attribute laid over them; class and style are gone."""
    style, classes = attributes.pop("style", ""), frozenset(attributes.pop("class", "").split())
    if not rules and not style:
        return attributes
    element_id = attributes.get("id", "")
    declared = [d for rule in rules if rule.matches(tag, element_id, classes) for d in rule.declarations]
    declared += declarations(style, policy)
    known = PROPERTIES | TEXT_PROPERTIES if policy.text else PROPERTIES
    for name, value, _ in sorted(declared, key=lambda d: d[2]):
        names = ("marker-start", "marker-mid", "marker-end") if name == "marker" else (name,)
        for one in names:
            if one in known:
                attributes[one] = value
        if name in PICTURE_CHANGING and value.lower() not in NEUTRAL:
            raise SvgRefusedError("unsupported_css", f"{name}: {value[:60]}")
    return attributes


def declarations(text: str, policy: SvgPolicy) -> list[Declaration]:
    """The declarations of a style attribute or a rule's block. Raises SvgRefusedError."""
    if _PLAIN.match(text):
        pairs = (part.partition(":") for part in text.split(";"))
        return [(name.strip().lower(), value.strip(), False) for name, _, value in pairs if value.strip()]
    return list(_from_tokens(tinycss2.parse_declaration_list(_shallow(text), skip_comments=True), policy))


def _from_tokens(parts: list[Any], policy: SvgPolicy) -> Iterator[Declaration]:
    for part in parts:
        if part.type == "at-rule":
            raise SvgRefusedError("unsupported_css", f"@{part.lower_at_keyword} among declarations")
        if part.type == "declaration":
            value = tinycss2.serialize(part.value).strip()
            if _leaves(part.value):
                if policy.external == "reject":
                    raise SvgRefusedError("external_reference", f"{part.lower_name}: {value[:80]}")
                continue
            yield part.lower_name, value, part.important


def _leaves(tokens: list[Any]) -> bool:
    """True when a url() points out of the file."""
    for token in tokens:
        if token.type == "url" and not token.value.startswith("#"):
            return True
        if token.type == "function":
            if token.lower_name in ("url", "src", "image", "image-set"):
                inner = tinycss2.serialize(token.arguments).strip(" '\"")
                if not inner.startswith("#"):
                    return True
            elif _leaves(token.arguments):
                return True
    return False


def _rules(part: Any, policy: SvgPolicy) -> Iterator[Rule]:
    block = tuple(_from_tokens(tinycss2.parse_declaration_list(part.content, skip_comments=True), policy))
    for text in tinycss2.serialize(part.prelude).split(","):
        match = _SELECTOR.match(text.strip())
        if match is None or not match[0]:
            raise SvgRefusedError("unsupported_css", f"the selector {text.strip()[:60]!r}")
        names = re.findall(r"[.#][\w-]+", match["rest"])
        classes = frozenset(name[1:] for name in names if name[0] == ".")
        ids = [name[1:] for name in names if name[0] == "#"]
        kind = "" if match["type"] in (None, "*") else match["type"]
        yield Rule(kind, classes, ids[0] if ids else "", (len(ids), len(classes), bool(kind)), block)


def _shallow(text: str) -> str:
    """The text itself, unless its brackets nest deeper than any real style does: the CSS library recurses."""
    depth = 0
    for bracket in _BRACKET.findall(text):
        depth += 1 if bracket in "([{" else -1
        if depth > _DEEPEST_BRACKETS:
            raise SvgRefusedError("bad_css", f"brackets nested deeper than {_DEEPEST_BRACKETS}")
    return text


def value(name: str, text: str, decimals: int, policy: SvgPolicy) -> str:
    """The canonical value of a presentation property; empty when engines would ignore it. Raises SvgRefusedError."""
    kind = (PROPERTIES.get(name) or TEXT_PROPERTIES[name])[0]
    text = text.strip()
    if text == "inherit" or not text:
        return text
    if kind in ("paint", "reference"):
        return _paint(name, text, policy, colors=kind == "paint")
    if kind == "color":
        plain = color(text)
        if plain == "none":
            raise SvgRefusedError("unsupported_css", f"{name}: {text[:40]!r}")
        return plain
    if kind == "fraction":
        return fraction(text)
    if kind == "number":
        return show(measure(text)[0], 3)
    if kind == "length":
        return length(text, decimals + 1)
    if kind == "lengths":
        return _dashes(text, decimals)
    if kind == "family":
        return text if _FAMILY.match(text) else ""
    if kind == "words":
        return " ".join(text.split()) if set(text.split()) <= {"normal", "fill", "stroke", "markers"} else ""
    return text if text in WORDS[name] else ""


def _paint(name: str, text: str, policy: SvgPolicy, *, colors: bool) -> str:
    if text == "none":
        return text
    if "url" in text.lower():
        match = _REFERENCE.match(text)
        if match is not None:
            return f"url(#{match[2]})"
        if policy.external == "reject":
            raise SvgRefusedError("external_reference", f"{name}: {text[:80]}")
        return "none"
    if not colors:
        raise SvgRefusedError("bad_value", f"{name}: {text[:60]}")
    return color(text)


def color(text: str) -> str:
    """A lower-case name or the shortest hex form; `none` for transparent. Raises SvgRefusedError for the rest."""
    text = re.sub(r"icc-color\([^)]*\)", "", text).strip()
    if text.lower() == "currentcolor":
        return "currentColor"
    parsed = tinycss2.color3.parse_color(text[:80])
    if parsed is None or parsed == "currentColor":
        raise SvgRefusedError("bad_value", f"not a colour: {text[:40]!r}")
    if parsed.alpha == 0:
        return "none"
    if parsed.alpha != 1:
        raise SvgRefusedError("unsupported_css", f"a colour with alpha: {text[:40]!r}")
    if text.isalpha():
        return text.lower()
    digits = "".join(f"{round(min(1.0, max(0.0, part)) * 255):02x}" for part in parsed[:3])
    return "#" + (digits[::2] if digits[::2] == digits[1::2] else digits)


def _dashes(text: str, decimals: int) -> str:
    if text == "none":
        return text
    if "%" in text:
        raise SvgRefusedError("bad_value", f"stroke-dasharray in per cent: {text[:40]!r}")
    found = numbers(re.sub(r"px", "", text))
    if any(part < 0 for part in found):
        raise SvgRefusedError("bad_value", f"stroke-dasharray {text[:40]!r}")
    return " ".join(show(part, decimals + 1) for part in found) if any(found) else "none"
