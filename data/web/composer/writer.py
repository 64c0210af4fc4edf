"""HTML and CSS as a careful person writes them: indented, one declaration a line, one rule for what looks alike."""

import html
from collections.abc import Mapping

from trivium.data.longcontext.dice import Dice
from trivium.data.web.composer.theme import Theme

_NAMES = """a abbr b button code em i label li option small span strong td th
title h1 h2 h3 h4 p dt dd text"""
_INLINE = set(_NAMES.split())
_VOID = {"img", "input", "hr", "br"}


class Sketch:
    """A page under way: the theme, the draws, and the rules that its components brought along, in order."""

    def __init__(self, theme: Theme, dice: Dice) -> None:
        self.theme, self.dice = theme, dice
        self._rules: dict[str, dict[str, str]] = {}
        self._narrow: dict[str, dict[str, str]] = {}

    def name(self, *parts: str) -> str:
        return self.theme.name(*parts)

    def rule(self, selector: str, **declarations: object) -> None:
        """`_` in a name stands for `-`; the first rule for a selector stays."""
        if selector not in self._rules:
            self._rules[selector] = _named(declarations)

    def narrow(self, selector: str, **declarations: object) -> None:
        """A rule for windows of at most 760 pixels."""
        self._narrow.setdefault(selector, _named(declarations))

    def sheet(self) -> str:
        lines = _written(self._rules, "")
        if self._narrow:
            lines += ["@media (max-width: 760px) {", *_written(self._narrow, "  "), "}"]
        return "\n".join(lines)


def tag(kind: str, css: str = "", /, *inside: str, **attributes: object) -> str:
    """An element: `css` are its classes, `inside` markup; words must have been through `words` already."""
    named = {"class": css} if css else {}
    named |= {name.rstrip("_").replace("_", "-"): str(value) for name, value in attributes.items() if value is not None}
    written = "".join(f' {name}="{html.escape(value)}"' if value else f" {name}" for name, value in named.items())
    opening = f"<{kind}{written}>"
    if kind in _VOID:
        return opening
    together = "".join(inside)
    if kind in _INLINE and "\n" not in together and len(inside) <= 2 and len(together) < 140:
        return f"{opening}{together}</{kind}>"
    if not inside:
        return f"{opening}</{kind}>"
    return "\n".join([opening, *(indented(one) for one in inside if one), f"</{kind}>"])


def words(text: str) -> str:
    return html.escape(text, quote=False)


def indented(text: str) -> str:
    return "\n".join(f"  {line}" if line else line for line in text.split("\n"))


def document(sketch: Sketch, title: str, *inside: str) -> str:
    """The whole page, in the form that the cleaner gives too."""
    head = [
        '<meta charset="utf-8">',
        '<meta name="viewport" content="width=device-width, initial-scale=1">',
        f"<title>{words(title)}</title>",
        f"<style>\n{sketch.sheet()}\n</style>",
    ]
    inner = "\n".join(one for one in inside if one)
    lines = ["<!DOCTYPE html>", '<html lang="en">', "<head>", *head, "</head>", "<body>", inner, "</body>", "</html>"]
    return "\n".join(lines) + "\n"


def _named(declarations: Mapping[str, object]) -> dict[str, str]:
    return {
        name.replace("_", "-"): f"{value}px" if isinstance(value, int) and _length(name) else str(value)
        for name, value in declarations.items()
    }


def _length(name: str) -> bool:
    return name not in ("flex", "font_weight", "opacity", "line_height", "z_index", "order", "flex_grow", "columns")


def _written(rules: Mapping[str, Mapping[str, str]], indent: str) -> list[str]:
    lines = []
    for selector, declarations in rules.items():
        lines += [
            f"{indent}{selector} {{",
            *(f"{indent}  {name}: {value};" for name, value in declarations.items()),
            f"{indent}}}",
        ]
    return lines
