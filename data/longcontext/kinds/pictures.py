"""Retrieval across the two forms: the code of a picture, the picture of a code, each shown without the other."""

from trivium.data.longcontext.dice import Dice
from trivium.data.longcontext.kinds.base import Room, Task

_FEW = 4  # pages of the wanted form, or there is nothing to choose from


def code_of_picture(room: Room, dice: Dice) -> Task | None:
    """A picture is asked with; one page holds its code and no picture."""
    target = _target(room, dice, "code")
    if target is None:
        return None
    page = room.pages[target]
    question = room.ask(dice, "code_of_picture")
    return Task("code_of_picture", question, f"{target + 1}\n{page.code}", pages=((target, 0),), picture=page.picture)


def picture_of_code(room: Room, dice: Dice) -> Task | None:
    """Code is asked with; one page shows its picture and no code."""
    target = _target(room, dice, "picture")
    if target is None:
        return None
    question = room.ask(dice, "picture_of_code", text=room.pages[target].code)
    return Task("picture_of_code", question, str(target + 1), pages=((target, 0),))


def _target(room: Room, dice: Dice, shows: str) -> int | None:
    """A page of that form whose drawing no other page of the row has."""
    pages = [number for number in room.drawings if room.pages[number].shows == shows and number not in room.edited]
    if len(pages) < _FEW:
        return None
    target = dice.pick(sorted(pages))
    drawing = room.drawings[target]
    alike = sum(drawing.like(other) for other in room.drawings.values())
    if alike != 1:
        return None
    room.asked.add(room.pages[target].title)
    return target
