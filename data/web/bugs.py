"""Mistakes that people make in pages, each with what one then sees."""

from collections.abc import Callable, Iterator, Sequence
from itertools import pairwise

from trivium.data.longcontext.dice import Dice
from trivium.data.pairs.editor import Edit
from trivium.data.pairs.facts import Part
from trivium.data.web.markup import Element, with_style
from trivium.data.web.sheet import Declared

Seen = tuple[Element, Part, str]  # an element, the part that it is, the words for it


def mistakes(code: str, seen: Sequence[Seen], rules: Sequence[Declared], dice: Dice) -> Iterator[Edit]:
    makers: list[Callable[[str, Sequence[Seen], Sequence[Declared], Dice], Edit | None]] = [
        _broken_row, _contrast, _unclosed, _overlap, _misspelt, _semicolon, _too_wide,
    ]  # fmt: skip
    for _ in range(200):
        edit = dice.pick(makers)(code, seen, rules, dice)
        if edit is not None and edit.code != code:
            yield edit


def _broken_row(code: str, seen: Sequence[Seen], rules: Sequence[Declared], dice: Dice) -> Edit | None:
    found = [one for one in rules if one.name == "display" and one.value in ("flex", "grid", "inline-flex")]
    if not found:
        return None
    one = dice.pick(found)
    wrong = f"{code[: one.start]}block{code[one.end :]}"
    return Edit(instruction="Things that belong beside each other stand below each other.", code=wrong)


def _contrast(code: str, seen: Sequence[Seen], rules: Sequence[Declared], dice: Dice) -> Edit | None:
    found = [one for one in seen if one[1].color.startswith("#") and one[1].kind not in ("card",)]
    if not found:
        return None
    element, part, phrase = dice.pick(found)
    filled = part.kind in ("button", "badge")
    # Words like their ground: of a filled part the ground is known, else dark words stand on something light.
    color = part.color if filled else "#f1f1f1" if _light(part.color) < 0.55 else "#1c1c1c"
    return Edit(
        instruction=f"The words of {phrase} can hardly be read on their background.",
        code=with_style(code, element, f"color: {color}"),
    )


def _light(color: str) -> float:
    red, green, blue = (int(color[at : at + 2], 16) for at in (1, 3, 5))
    return (0.299 * red + 0.587 * green + 0.114 * blue) / 255


def _unclosed(code: str, seen: Sequence[Seen], rules: Sequence[Declared], dice: Dice) -> Edit | None:
    found = [one for one in seen if one[0].tag in ("h1", "h2", "h3", "h4", "a", "strong", "b", "em", "button", "code")]
    if not found:
        return None
    element, _, phrase = dice.pick(found)
    wrong = code[: element.close] + code[element.end :]
    return Edit(instruction=f"What comes after {phrase} looks as if it were still part of it.", code=wrong)


def _overlap(code: str, seen: Sequence[Seen], rules: Sequence[Declared], dice: Dice) -> Edit | None:
    found = [
        one for one in seen if one[1].kind in ("heading", "paragraph", "button") and one[1].box and one[1].box[1] > 60
    ]
    if not found:
        return None
    element, _, phrase = dice.pick(found)
    wrong = with_style(code, element, f"margin-top: -{dice.between(24, 60)}px")
    return Edit(instruction=f"{phrase[0].upper()}{phrase[1:]} has slid up over what stands above it.", code=wrong)


def _misspelt(code: str, seen: Sequence[Seen], rules: Sequence[Declared], dice: Dice) -> Edit | None:
    """Two letters of a class name change places."""
    found = [one for one in seen if one[0].attributes.get("class")]
    if not found:
        return None
    element, _, phrase = dice.pick(found)
    name = dice.pick(element.attributes["class"].split())
    at = dice.below(max(1, len(name) - 1))
    swapped = name[:at] + name[at + 1 : at + 2] + name[at : at + 1] + name[at + 2 :]
    opening = code[element.start : element.inner]
    names = element.attributes["class"]
    wrong = " ".join(swapped if one == name else one for one in names.split())
    changed = opening.replace(f'class="{names}"', f'class="{wrong}"', 1)
    instruction = f"{phrase[0].upper()}{phrase[1:]} has lost part of its look."
    return Edit(instruction=instruction, code=code[: element.start] + changed + code[element.inner :])


def _semicolon(code: str, seen: Sequence[Seen], rules: Sequence[Declared], dice: Dice) -> Edit | None:
    """The end of a declaration is missing, which takes the next one with it."""
    pairs = [
        (one, after)
        for one, after in pairwise(rules)
        if one.selector == after.selector and code[one.end : after.start].count("\n") == 1
        and (one.name + after.name).count("color") + (one.name + after.name).count("padding")
    ]  # fmt: skip
    if not pairs:
        return None
    one, after = dice.pick(pairs)
    told = f"Neither `{one.name}` nor `{after.name}` of `{one.selector}` takes effect."
    return Edit(instruction=told, code=code[: one.end] + code[one.end + 1 :])


def _too_wide(code: str, seen: Sequence[Seen], rules: Sequence[Declared], dice: Dice) -> Edit | None:
    found = [one for one in seen if one[1].kind in ("paragraph", "heading") and one[1].box]
    if not found:
        return None
    element, part, phrase = dice.pick(found)
    assert part.box is not None
    width = round((part.box[2] - part.box[0]) * 1.6)
    wrong = with_style(code, element, f"width: {width}px; max-width: none")
    return Edit(instruction=f"{phrase[0].upper()}{phrase[1:]} is wider than what it stands in.", code=wrong)
