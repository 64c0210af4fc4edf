"""Changes of clean pages: what someone could ask for, and what someone could get wrong.

Only what the picture shows is changed: an element counts when its words are those of exactly one part of the facts.
"""

import html
from collections import Counter
from collections.abc import Iterator
from itertools import pairwise

from trivium.data.longcontext.dice import Dice
from trivium.data.pairs.editor import Edit
from trivium.data.pairs.facts import Facts, Part
from trivium.data.web import phrases
from trivium.data.web.bugs import mistakes
from trivium.data.web.markup import Element, body, with_style
from trivium.data.web.sheet import COLOR, Declared, declared

COLORS = (
    "#b91c1c", "#c2410c", "#a16207", "#4d7c0f", "#15803d", "#0f766e", "#0369a1", "#1d4ed8", "#4338ca", "#7e22ce",
    "#be185d", "#374151",
)  # fmt: skip
_LONGEST = 60  # characters of the words by which an element is named
_SIZES = {
    "font-size": ("px", (14, 18, 22, 28, 36, 44)),
    "padding": ("px", (4, 12, 20, 32)),
    "gap": ("px", (4, 12, 28, 40)),
}
_SIZES |= {"border-radius": ("px", (0, 4, 12, 24)), "margin-bottom": ("px", (0, 12, 32, 48))}


class Shown:
    """An element and the part of the picture that it is."""

    def __init__(self, element: Element, part: Part) -> None:
        self.element, self.part = element, part

    @property
    def phrase(self) -> str:
        return f"the {self.part.kind} “{self.part.text}”"


def shown(code: str, facts: Facts) -> list[Shown]:
    """Elements whose words are those of one part only."""
    root = body(code)
    if root is None:
        return []
    texts = Counter(part.text for part in facts.parts if part.text)
    parts = {part.text: part for part in facts.parts if texts[part.text] == 1 and len(part.text) <= _LONGEST}
    found: dict[str, list[Element]] = {}
    for element in root.walk():
        text = element.text
        if text in parts and element.tag not in ("body", "html"):
            found.setdefault(text, []).append(element)
    # Of elements one inside another with the same words, the innermost that is of the part's kind is meant.
    return [Shown(elements[-1], parts[text]) for text, elements in found.items() if _chain(elements)]


def _chain(elements: list[Element]) -> bool:
    return all(inner.start > outer.start and inner.end <= outer.end for outer, inner in pairwise(elements))


class PageEditor:
    language = "HTML"

    def edits(self, code: str, facts: Facts, dice: Dice) -> Iterator[Edit]:
        """Words, colours, sizes, order, parts added and taken away, without an end."""
        seen = shown(code, facts)
        rules = [one for one in declared(code) if not one.inside]
        makers = [
            lambda: _recolor_rule(code, rules, dice),
            lambda: _reword(code, seen, dice),
            lambda: _recolor(code, seen, dice),
            lambda: _resize(code, rules, dice),
            lambda: _reorder(code, seen, dice),
            lambda: _remove(code, seen, dice),
            lambda: _add(code, seen, dice),
            lambda: _enlarge(code, seen, dice),
        ]
        for _ in range(200):
            edit = dice.pick(makers)()
            if edit is not None and edit.code != code:
                yield edit

    def bugs(self, code: str, facts: Facts, dice: Dice) -> Iterator[Edit]:
        seen = [(one.element, one.part, one.phrase) for one in shown(code, facts)]
        return mistakes(code, seen, [one for one in declared(code) if not one.inside], dice)


def _reword(code: str, seen: list[Shown], dice: Dice) -> Edit | None:
    plain = [
        one
        for one in seen
        if one.element.plain
        and one.part.kind in ("heading", "button", "link", "list item", "table cell", "field label")
    ]
    if not plain:
        return None
    one = dice.pick(plain)
    pool = {"heading": phrases.TITLES, "button": phrases.ACTIONS, "link": phrases.LINKS}.get(
        one.part.kind, phrases.TITLES
    )
    text = dice.pick(pool)
    changed = code[: one.element.inner] + html.escape(text, quote=False) + code[one.element.close :]
    return Edit(instruction=f"Change the words of {one.phrase} to “{text}”.", code=changed)


def _recolor(code: str, seen: list[Shown], dice: Dice) -> Edit | None:
    if not seen:
        return None
    one, color = dice.pick(seen), dice.pick(COLORS)
    filled = one.part.kind in ("button", "badge")
    name, words = ("background-color", "background colour") if filled else ("color", "colour of the words")
    changed = with_style(code, one.element, f"{name}: {color}")
    return Edit(instruction=f"Set the {words} of {one.phrase} to {color} in its own style attribute.", code=changed)


def _recolor_rule(code: str, rules: list[Declared], dice: Dice) -> Edit | None:
    found = [one for one in rules if COLOR.fullmatch(one.value) and len(one.selector) <= _LONGEST]
    if not found:
        return None
    one, color = dice.pick(found), dice.pick(COLORS)
    changed = code[: one.start] + color + code[one.end :]
    return Edit(instruction=f"Change `{one.name}` of `{one.selector}` from {one.value} to {color}.", code=changed)


def _resize(code: str, rules: list[Declared], dice: Dice) -> Edit | None:
    found = [one for one in rules if one.name in _SIZES and len(one.selector) <= _LONGEST]
    if not found:
        return None
    one = dice.pick(found)
    unit, sizes = _SIZES[one.name]
    value = f"{dice.pick(sizes)}{unit}"
    changed = code[: one.start] + value + code[one.end :]
    return Edit(instruction=f"Change `{one.name}` of `{one.selector}` from {one.value} to {value}.", code=changed)


def _enlarge(code: str, seen: list[Shown], dice: Dice) -> Edit | None:
    found = [
        one for one in seen if "font size px" in one.part.sizes and one.part.kind in ("heading", "paragraph", "button")
    ]
    if not found:
        return None
    one = dice.pick(found)
    size = round(one.part.sizes["font size px"] * dice.pick((0.75, 1.25, 1.5)))
    changed = with_style(code, one.element, f"font-size: {size}px")
    return Edit(instruction=f"Set the font size of {one.phrase} to {size}px in its own style attribute.", code=changed)


def _siblings(one: Shown) -> list[Element]:
    """The element that its neighbours stand beside: list items, links of a bar, cards."""
    parent = one.element.parent
    return [] if parent is None else [child for child in parent.children if child.tag == one.element.tag]


def _reorder(code: str, seen: list[Shown], dice: Dice) -> Edit | None:
    found = [
        one for one in seen if one.part.kind in ("list item", "link", "button", "badge") and len(_siblings(one)) > 1
    ]
    if not found:
        return None
    one = dice.pick(found)
    siblings = _siblings(one)
    where = dice.pick(("first", "last"))
    other = siblings[0] if where == "first" else siblings[-1]
    if other is one.element:
        return None
    moved = code[one.element.start : one.element.end]
    if where == "first":
        changed = (
            f"{code[: other.start]}{moved}{code[other.start : one.element.start].rstrip()}{code[one.element.end :]}"
        )
    else:
        changed = f"{code[: one.element.start]}{code[one.element.end : other.end].lstrip()}{moved}{code[other.end :]}"
    return Edit(instruction=f"Move {one.phrase} to the {where} place among its neighbours.", code=changed)


def _remove(code: str, seen: list[Shown], dice: Dice) -> Edit | None:
    found = [one for one in seen if one.element.end > one.element.close]
    if not found:
        return None
    one = dice.pick(found)
    changed = code[: one.element.start].rstrip(" ") + code[one.element.end :].lstrip("\n")
    return Edit(instruction=f"Remove {one.phrase}.", code=changed)


def _add(code: str, seen: list[Shown], dice: Dice) -> Edit | None:
    found = [one for one in seen if one.part.kind in ("heading", "paragraph", "list item")]
    if not found:
        return None
    one = dice.pick(found)
    if one.part.kind == "list item":
        if one.element.tag != "li":
            return None
        text, made, what = dice.pick(phrases.TITLES), "<li>{}</li>", "list item"
    elif dice.share() < 0.5:
        text, made, what = dice.pick(phrases.ACTIONS), '<button type="button">{}</button>', "button of type `button`"
    else:
        text, made, what = phrases.sentence(dice), "<p>{}</p>", "paragraph"
    indent = code[code.rfind("\n", 0, one.element.start) + 1 : one.element.start]
    line = f"\n{indent if not indent.strip() else ''}{made.format(html.escape(text, quote=False))}"
    changed = code[: one.element.end] + line + code[one.element.end :]
    return Edit(instruction=f"Add a {what} that reads “{text}” right after {one.phrase}.", code=changed)
