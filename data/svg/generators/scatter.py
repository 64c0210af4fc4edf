"""Scatter plots of one or two groups, told apart by colour and shape."""

from dataclasses import dataclass, replace

from trivium.data.longcontext.dice import Dice
from trivium.data.pairs.editor import Edit
from trivium.data.pairs.facts import Part
from trivium.data.svg.generators import axes, words
from trivium.data.svg.generators.canvas import Canvas, Made, Point

_LABELS = (("Height cm", "Weight kg"), ("Age", "Score"), ("Price EUR", "Units sold"), ("Speed km/h", "Noise dB"))
_SHAPES = ("round", "square", "triangular")
_APART = 9.0  # user units between two points: none hides another


@dataclass(frozen=True, slots=True)
class Scatter:
    labels: tuple[str, str]
    groups: tuple[str, ...]
    points: tuple[tuple[Point, ...], ...]  # 0 to 100 on both axes
    colors: tuple[str, ...]
    shapes: tuple[str, ...]
    font: str


def make(dice: Dice) -> Made:
    groups = tuple(dice.sample(words.TEAMS, dice.between(1, 2)))
    scatter = Scatter(
        labels=dice.pick(_LABELS),
        groups=groups,
        points=_clouds(dice, len(groups)),
        colors=tuple(dice.sample(dice.pick(words.PALETTES), len(groups))),
        shapes=tuple(dice.sample(_SHAPES, len(groups))),
        font=dice.pick(words.FONTS),
    )
    return draw(scatter).with_changes(_edits(scatter, dice), _bugs(scatter, dice))


def _clouds(dice: Dice, groups: int) -> tuple[tuple[Point, ...], ...]:
    taken: list[Point] = []
    clouds = []
    for _ in range(groups):
        slope, base, cloud = dice.pick([-0.6, 0.0, 0.5, 0.8]), dice.between(20, 60), []
        for _ in range(dice.between(5, 16)):
            x = dice.between(3, 97)
            y = min(97.0, max(3.0, base + slope * (x - 50) + dice.between(-18, 18)))
            if all(abs(x - a) * 3 > _APART or abs(y - b) * 2 > _APART for a, b in taken):
                taken.append((x, y))
                cloud.append((float(x), round(y, 1)))
        clouds.append(tuple(cloud))
    return tuple(clouds)


def draw(scatter: Scatter) -> Made:
    canvas = Canvas(380, 280, font=scatter.font)
    plot = axes.Plot(48, 34, 362, 224)
    axes.upward(canvas, plot, 100)
    axes.rightward(canvas, plot, 100)
    canvas.text(plot.left - 30, 20, scatter.labels[1], 11)
    canvas.text(plot.right, plot.bottom + 28, scatter.labels[0], 11, "end")
    for cloud, color, shape in zip(scatter.points, scatter.colors, scatter.shapes, strict=True):
        for x, y in cloud:
            across, down = plot.left + plot.width * x / 100, plot.bottom - plot.height * y / 100
            canvas.part(Part(kind=f"{shape} point", color=color), _mark(canvas, across, down, color, shape))
    if len(scatter.groups) > 1:
        axes.legend(canvas, plot.left + 8, 268, list(zip(scatter.groups, scatter.colors, strict=True)))
    total = sum(map(len, scatter.points))
    return canvas.made("a scatter plot", "", {"points": total})


def _mark(canvas: Canvas, x: float, y: float, color: str, shape: str) -> int:
    if shape == "round":
        return canvas.add("circle", cx=x, cy=y, r=3.5, fill=color)
    if shape == "square":
        return canvas.add("rect", x=x - 3.0, y=y - 3.0, width=6, height=6, fill=color)
    return canvas.polygon([(x, y - 4), (x + 4, y + 3), (x - 4, y + 3)], color)


def _edits(scatter: Scatter, dice: Dice) -> list[Edit]:
    which = dice.below(len(scatter.groups))
    other = next(shape for shape in _SHAPES if shape not in scatter.shapes)
    shapes = tuple(other if n == which else shape for n, shape in enumerate(scatter.shapes))
    said = f"Draw the {scatter.shapes[which]} points as {other} ones."
    found = [Edit(instruction=said, code=_code(scatter, shapes=shapes))]
    cloud = scatter.points[which]
    top = max(range(len(cloud)), key=lambda n: cloud[n][1])
    less = tuple(tuple(p for n, p in enumerate(row) if g != which or n != top) for g, row in enumerate(scatter.points))
    said = f"Remove the highest of the {scatter.shapes[which]} points."
    if sum(point[1] == cloud[top][1] for point in cloud) == 1 and len(cloud) > 1:
        found.append(Edit(instruction=said, code=_code(scatter, points=less)))
    return found


def _bugs(scatter: Scatter, dice: Dice) -> list[Edit]:
    turned = tuple(tuple((x, round(100 - y, 1)) for x, y in cloud) for cloud in scatter.points)
    found = [Edit(instruction="The points are plotted upside down.", code=_code(scatter, points=turned))]
    swapped = tuple(tuple((y, x) for x, y in cloud) for cloud in scatter.points)
    found.append(
        Edit(instruction="The two coordinates of each point are exchanged.", code=_code(scatter, points=swapped))
    )
    return dice.shuffled(found)


def _code(scatter: Scatter, **changes: object) -> str:
    return draw(replace(scatter, **changes)).svg  # type: ignore[arg-type]
