"""Needles among near misses: one fact, several events, a chain of registers."""

from itertools import pairwise

from trivium.data.longcontext.dice import Dice
from trivium.data.longcontext.kinds.base import Plant, Room, Task


def needle(room: Room, dice: Dice) -> Task | None:
    """One fact. Distractors: the same name with another attribute, near names with the same attribute."""
    entity = room.entity(dice)
    if entity is None:
        return None
    attribute, *others = dice.sample(room.wording.attributes, 2)
    near = room.several(lambda: room.entity(dice, near=entity), 2)
    values = room.several(lambda: room.value(dice), 4)
    if near is None or values is None:
        return None
    wrong = [(attribute, near[0]), (attribute, near[1]), (others[0], entity)]
    plants = [_fact(room, dice, attribute, entity, values[0], evidence=True)]
    plants += [_fact(room, dice, *pair, value, evidence=False) for pair, value in zip(wrong, values[1:], strict=True)]
    question = room.ask(dice, "needle", attribute=attribute, entity=entity)
    return Task("needle", question, values[0], tuple(plants))


def _fact(room: Room, dice: Dice, attribute: str, entity: str, value: str, *, evidence: bool) -> Plant:
    text = room.statement(dice, "facts", attribute=attribute, entity=entity, value=value)
    return Plant(text, dice.share(), evidence)


def needles(room: Room, dice: Dice) -> Task | None:
    """Several events of one name, one in each stratum of the row, to be listed in order; others at near names."""
    entity = room.entity(dice)
    if entity is None:
        return None
    count = dice.between(3, 6)
    near = room.several(lambda: room.entity(dice, near=entity), 3)
    values = room.several(lambda: room.value(dice), count + 3)
    if near is None or values is None:
        return None
    own, wrong = values[:count], values[count:]
    plants = [
        Plant(room.statement(dice, "events", entity=entity, value=value), depth, True)
        for value, depth in zip(own, dice.strata(count), strict=True)
    ]
    plants += [
        Plant(room.statement(dice, "events", entity=name, value=value), dice.share(), False)
        for name, value in zip(near, wrong, strict=True)
    ]
    return Task("needles", room.ask(dice, "needles", entity=entity), ", ".join(own), tuple(plants))


def chain(room: Room, dice: Dice) -> Task | None:
    """A register that holds what another holds, three to five times over; a second chain leads elsewhere.

    The links stand in shuffled order, one in each stratum, so no walk through the row meets them in turn.
    """
    lengths = (dice.between(4, 6), dice.between(3, 4))
    registers = room.several(lambda: room.register(dice), sum(lengths))
    values = room.several(lambda: room.value(dice), 2)
    if registers is None or values is None:
        return None
    own, other = registers[: lengths[0]], registers[lengths[0] :]
    plants = []
    for names, value, evidence in ((own, values[0], True), (other, values[1], False)):
        texts = [room.statement(dice, "roots", register=names[0], value=value)]
        texts += [room.statement(dice, "links", register=name, source=source) for source, name in pairwise(names)]
        depths = dice.shuffled(dice.strata(len(texts)))
        plants += [Plant(text, depth, evidence) for text, depth in zip(texts, depths, strict=True)]
    return Task("chain", room.ask(dice, "chain", register=own[-1]), values[0], tuple(plants))
