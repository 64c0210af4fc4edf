"""Where things are: boxes and points of the first picture, in pixels or in thousandths of its sides."""

from trivium.data.longcontext.dice import Dice
from trivium.data.pairs.facts import Box, Facts
from trivium.data.pairs.naming import Names, inside, plural
from trivium.data.pairs.questions import Question
from trivium.data.pairs.wording import Wording, say

MOST_OF_A_KIND = 16  # parts whose boxes one answer lists
EVERYWHERE = 0.9  # of the picture
GRID = 1000


class Scale:
    """From pixels to what is written. Rounded to whole numbers, half up, so that a box stays in the picture."""

    def __init__(self, width: int, height: int, *, normalised: bool) -> None:
        self.width, self.height, self.normalised = width, height, normalised

    def x(self, pixels: float) -> int:
        return int(pixels * GRID / self.width + 0.5) if self.normalised else int(pixels + 0.5)

    def y(self, pixels: float) -> int:
        return int(pixels * GRID / self.height + 0.5) if self.normalised else int(pixels + 0.5)

    def box(self, box: Box) -> str:
        return f"[{self.x(box[0])}, {self.y(box[1])}, {self.x(box[2])}, {self.y(box[3])}]"

    def center(self, box: Box) -> str:
        return f"({self.x((box[0] + box[2]) / 2)}, {self.y((box[1] + box[3]) / 2)})"


def located(facts: Facts, scale: Scale, wording: Wording, dice: Dice, most: int) -> list[Question]:
    """At most `most` questions about places; parts that nothing tells apart, leave or fill the picture, have none."""
    words, names = wording.coordinates, Names(facts, wording)
    found = []
    boxes: dict[str, int] = {}
    for part in facts.parts:
        if part.box is not None:
            boxes[scale.box(part.box)] = boxes.get(scale.box(part.box), 0) + 1
    for part, phrase in names.named():
        if part.box is None or not inside(part.box, scale.width, scale.height) or _everywhere(part.box, scale):
            continue
        box = scale.box(part.box)
        kinds = ["box", "box", "center"] + (["named"] if boxes[box] == 1 else [])
        about = dice.pick(kinds)
        if about == "named":
            found.append(Question(about=about, text=say(dice, words.named, box=box), answer=phrase))
        else:
            answer = box if about == "box" else scale.center(part.box)
            text = say(dice, words.box if about == "box" else words.center, part=phrase)
            found.append(Question(about=about, text=text, answer=answer))
    chosen = dice.sample(found, most)
    together = _together(facts, scale, wording, dice)
    if together and most > 1:
        chosen = [dice.pick(together), *chosen[: most - 1]]
    return dice.shuffled(chosen)


def _everywhere(box: Box, scale: Scale) -> bool:
    """A floor or a page's body: as large as the picture, so no place in it."""
    return (box[2] - box[0]) * (box[3] - box[1]) >= EVERYWHERE * scale.width * scale.height


def _together(facts: Facts, scale: Scale, wording: Wording, dice: Dice) -> list[Question]:
    """One question for each kind of which several are there and all lie in the picture."""
    if facts.cut:
        return []
    found = []
    for kind, count in Names(facts, wording).kinds.items():
        boxes = [part.box for part in facts.parts if part.kind == kind and part.box is not None]
        if not 1 < count <= MOST_OF_A_KIND or len(boxes) < count:
            continue
        if all(inside(box, scale.width, scale.height) for box in boxes):
            answer = ", ".join(scale.box(box) for box in sorted(boxes, key=lambda box: (box[1], box[0], box)))
            text = say(dice, wording.coordinates.all, things=plural(kind, wording))
            found.append(Question(about="all", text=text, answer=answer))
    return found
