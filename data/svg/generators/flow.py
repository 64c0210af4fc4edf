"""Flow charts: steps from top to bottom, now and then a question with two ways that meet again."""

from dataclasses import dataclass, replace

from trivium.data.longcontext.dice import Dice
from trivium.data.pairs.editor import Edit
from trivium.data.pairs.facts import Part
from trivium.data.svg.generators import words
from trivium.data.svg.generators.canvas import Canvas, Made, Point

_STEP, _HIGH, _WIDE = 56.0, 32.0, 108.0


@dataclass(frozen=True, slots=True)
class Flow:
    """`steps` in order; a step may be a question (ends with ?) whose "no" leads to `aside` and back below."""

    steps: tuple[str, ...]
    aside: tuple[str, ...]  # one for each question
    fill: str
    asked: str  # colour of questions
    font: str


def make(dice: Dice) -> Made:
    steps = dice.sample(words.STEPS, dice.between(2, 4))
    questions = dice.sample(words.QUESTIONS, dice.between(0, 2))
    free = [step for step in words.STEPS if step not in steps]
    for question in questions:  # never one right after the other: their ways round would meet
        free_places = [n for n in range(1, len(steps) + 1) if not any(s.endswith("?") for s in steps[n - 1 : n + 1])]
        if free_places:
            steps.insert(dice.pick(free_places), question)
    questions = [step for step in steps if step.endswith("?")]
    palette = dice.pick(words.PALETTES)
    fill, asked = dice.sample(palette, 2)
    flow = Flow(tuple(steps), tuple(dice.sample(free, len(questions))), fill, asked, "DejaVu Sans")
    return draw(flow).with_changes(_edits(flow, dice, free), _bugs(flow, dice))


def draw(flow: Flow) -> Made:
    shown = ("Start", *flow.steps, "End")
    canvas = Canvas(320, 30 + _STEP * len(shown), font=flow.font)
    middle = 100.0
    asides = iter(flow.aside)
    spots = [(middle, 30 + _STEP * number) for number in range(len(shown))]
    for number, (label, spot) in enumerate(zip(shown, spots, strict=True)):
        _node(canvas, label, spot, flow)
        if number + 1 == len(shown):
            break
        below = spots[number + 1]
        elements = canvas.arrow((spot[0], spot[1] + _half(label)), (below[0], below[1] - _half(shown[number + 1])))
        canvas.part(Part(kind="arrow", name=f"from {label} to {shown[number + 1]}"), *elements)
        if label.endswith("?"):
            _way_round(canvas, label, shown[number + 1], next(asides), spot, flow)
    return canvas.made("a flow chart")  # its questions are its diamonds, which are counted as parts


def _half(label: str) -> float:
    return 20.0 if label.endswith("?") else _HIGH / 2


def _node(canvas: Canvas, label: str, spot: Point, flow: Flow) -> None:
    x, y = spot
    if label.endswith("?"):
        kind, color = "diamond", flow.asked
        corners = [(x, y - 20), (x + 62, y), (x, y + 20), (x - 62, y)]
        element = canvas.polygon(corners, "#ffffff", stroke=color, stroke_width=2)
    else:
        ends = label in ("Start", "End")
        kind, color = ("rounded box" if ends else "box"), flow.fill
        box = {"x": x - _WIDE / 2, "y": y - _HIGH / 2, "width": _WIDE, "height": _HIGH}
        corner = {"rx": _HIGH / 2} if ends else {}
        element = canvas.add("rect", **box, **corner, fill="#ffffff", stroke=color, stroke_width=2)
    word = canvas.write(x, y + 4, label, 11, "middle")
    canvas.part(Part(kind=kind, text=label), element, word)


def _way_round(canvas: Canvas, question: str, after: str, aside: str, spot: Point, flow: Flow) -> None:
    x, y = spot
    right = 252.0
    canvas.text(x + 66, y - 5, "no", 10)
    canvas.text(x + 5, y + 31, "yes", 10)
    first = canvas.arrow((x + 62, y), (right - 50, y))
    canvas.part(Part(kind="arrow", name=f"from {question} to {aside}"), *first)
    box = canvas.add(
        "rect", x=right - 50, y=y - 16, width=100, height=_HIGH, fill="#ffffff", stroke=flow.fill, stroke_width=2
    )
    word = canvas.write(right, y + 4, aside, 11, "middle")
    canvas.part(Part(kind="box", text=aside), box, word)
    down = canvas.polyline([(right, y + 16), (right, y + _STEP)], words.INK, 1.5)
    edge = 62.0 if after.endswith("?") else _WIDE / 2
    back = canvas.arrow((right, y + _STEP), (x + edge, y + _STEP))
    canvas.part(Part(kind="arrow", name=f"from {aside} to {after}"), down, *back)


def _edits(flow: Flow, dice: Dice, free: list[str]) -> list[Edit]:
    plain = [n for n, step in enumerate(flow.steps) if not step.endswith("?")]
    at = dice.pick(plain)
    new = dice.pick([step for step in free if step not in flow.aside])
    before = flow.steps[at]
    renamed = tuple(new if n == at else step for n, step in enumerate(flow.steps))
    found = [Edit(instruction=f"Replace the step “{before}” by “{new}”.", code=_code(flow, steps=renamed))]
    more = (*flow.steps[: at + 1], new, *flow.steps[at + 1 :])
    found.append(Edit(instruction=f"Put a step “{new}” right after “{before}”.", code=_code(flow, steps=more)))
    if len(plain) > 1 and not (at > 0 and flow.steps[at - 1].endswith("?")):
        less = tuple(step for n, step in enumerate(flow.steps) if n != at)
        found.append(Edit(instruction=f"Take the step “{before}” out.", code=_code(flow, steps=less)))
    return found


def _bugs(flow: Flow, dice: Dice) -> list[Edit]:
    found = []
    plain = [n for n, step in enumerate(flow.steps) if not step.endswith("?")]
    if len(plain) > 1:
        one, two = sorted(dice.sample(plain, 2))
        steps = list(flow.steps)
        steps[one], steps[two] = steps[two], steps[one]
        said = f"“{flow.steps[one]}” and “{flow.steps[two]}” stand in each other's place."
        found.append(Edit(instruction=said, code=_code(flow, steps=tuple(steps))))
    if len(flow.steps) > len(plain):
        code = draw(flow).svg.replace(">no<", ">?<").replace(">yes<", ">no<").replace(">?<", ">yes<")
        found.append(Edit(instruction="“yes” and “no” stand at each other's arrow.", code=code))
    return found


def _code(flow: Flow, **changes: object) -> str:
    return draw(replace(flow, **changes)).svg  # type: ignore[arg-type]
