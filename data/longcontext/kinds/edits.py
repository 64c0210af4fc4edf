"""A document early in the row, edits of it scattered over the rest, and the question what it reads in the end."""

from trivium.data.longcontext.dice import Dice
from trivium.data.longcontext.kinds.base import Plant, Room, Task
from trivium.data.longcontext.wording import fill, line_start

_LINES = (3, 40)
_CHARACTERS = 3000
_EDITS = (3, 7)
_EARLY = 0.5  # the base stands in this first share of the pages


def edits(room: Room, dice: Dice) -> Task | None:
    """Edits of a page of code, line by line; first and last line stay. The new lines are lines of other code."""
    bases = [number for number in range(int(len(room.pages) * _EARLY)) if _editable(room, number)]
    plain = [number for number in bases if number not in room.drawings]
    spare = _spare_lines(room)
    if not bases or not spare:
        return None
    base = dice.pick(plain or bases)
    lines = room.pages[base].code.split("\n")
    count = dice.between(*_EDITS)
    first = (base + 1) / len(room.pages)
    texts = []
    for _ in range(count):
        text, lines = _edit(room, dice, lines, spare)
        texts.append(text)
    room.edited.add(base)
    plants = tuple(
        Plant(text, first + (1 - first) * depth, True, document=base + 1, step=step)
        for step, (text, depth) in enumerate(zip(texts, dice.strata(count), strict=True), 1)
    )
    question = room.ask(dice, "edits", number=base + 1, count=count)
    return Task("edits", question, "\n".join(lines), plants, ((base, 0),))


def _editable(room: Room, number: int) -> bool:
    page = room.pages[number]
    lines = page.code.split("\n")
    return (
        page.shows == "code"
        and number not in room.edited
        and page.title not in room.asked
        and _LINES[0] <= len(lines) <= _LINES[1]
        and len(page.code) <= _CHARACTERS
        and all(line.strip() for line in lines)
    )


def _spare_lines(room: Room) -> list[str]:
    """Inner lines of the row's code, such as may be put into other code."""
    marks = [template for templates in room.wording.edits.values() for template in templates]
    marks += [
        getattr(frame, name) for frame in room.wording.frames for name in ("document", "edit", "note", "question")
    ]
    found = {line for page in room.pages if page.code for line in page.code.split("\n")[1:-1]}
    return sorted(
        line
        for line in found
        if line.strip() and len(line) <= 400 and not any(line_start(m).search(line) for m in marks)
    )


def _edit(room: Room, dice: Dice, lines: list[str], spare: list[str]) -> tuple[str, list[str]]:
    """One edit in words, and the lines after it."""
    new = list(lines)
    inner = len(lines) - 2
    choices = ["insert"] + ["replace"] * (inner > 0) + ["delete"] * (inner > 1)
    swaps = [(a, b) for a in range(1, inner + 1) for b in range(a + 1, inner + 1) if lines[a] != lines[b]]
    kind = dice.pick(choices + ["swap"] * bool(swaps))
    template = dice.pick(room.wording.edits[kind])
    line = dice.pick(spare)
    if kind == "insert":
        at = dice.between(1, len(lines) - 1)
        new.insert(at, line)
        return fill(template, line=at, text=line), new
    if kind == "swap":
        a, b = dice.pick(swaps)
        new[a], new[b] = new[b], new[a]
        return fill(template, line=a + 1, other=b + 1), new
    at = dice.between(1, inner)
    if kind == "delete":
        del new[at]
        return fill(template, line=at + 1), new
    new[at] = line
    return fill(template, line=at + 1, text=line), new
