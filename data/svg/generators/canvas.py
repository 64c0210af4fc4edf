"""A sheet on which generators draw: it writes SVG and remembers which element shows which part."""

from collections.abc import Sequence

import msgspec

from trivium.data.pairs.editor import Edit
from trivium.data.pairs.facts import Facts, Part
from trivium.data.svg.generators.words import INK
from trivium.data.svg.plan import Plan

Point = tuple[float, float]


class Made(msgspec.Struct, frozen=True, kw_only=True):
    """A drawing and what its generator knows of it; `marks` are the elements (in drawing order) of each part."""

    svg: str
    facts: Facts
    marks: tuple[tuple[int, ...], ...]
    edits: tuple[Edit, ...] = ()
    bugs: tuple[Edit, ...] = ()

    def with_changes(self, edits: Sequence[Edit], bugs: Sequence[Edit]) -> "Made":
        return msgspec.structs.replace(self, edits=tuple(edits), bugs=tuple(bugs))

    def plan(self) -> Plan:
        return Plan(facts=self.facts, marks=self.marks, edits=self.edits, bugs=self.bugs)


class Canvas:
    """Elements are numbered from 0 as they are added; every method gives the number of its element."""

    def __init__(self, width: float, height: float, *, paper: str = "#ffffff", font: str = "DejaVu Sans") -> None:
        self.width, self.height, self.font = width, height, font
        self._lines: list[str] = []
        self._parts: list[Part] = []
        self._marks: list[tuple[int, ...]] = []
        if paper:
            self.add("rect", width=width, height=height, fill=paper)

    def add(self, tag: str, words: str = "", /, **attributes: object) -> int:
        """An element; names of attributes are written with - for _, numbers with two decimals at most."""
        given = "".join(f' {name.strip("_").replace("_", "-")}="{_show(value)}"' for name, value in attributes.items())
        inner = f">{_escape(words)}</{tag}>" if words else "/>"
        self._lines.append(f"<{tag}{given}{inner}")
        return len(self._lines) - 1

    def text(self, x: float, y: float, words: str, size: float, anchor: str = "start", **attributes: object) -> int:
        """Words on the base line y; a part of their own."""
        number = self.write(x, y, words, size, anchor, **attributes)
        return self.part(Part(kind="text", text=words), number)

    def write(self, x: float, y: float, words: str, size: float, anchor: str = "start", **attributes: object) -> int:
        """Words that belong to another part."""
        fill = attributes.pop("fill", INK)
        aligned = {"text_anchor": anchor} if anchor != "start" else {}
        given = {"fill": fill, "font_family": self.font, "font_size": size, **aligned, **attributes}
        return self.add("text", words, x=x, y=y, **given)

    def line(self, start: Point, end: Point, color: str = INK, width: float = 1, **attributes: object) -> int:
        (x1, y1), (x2, y2) = start, end
        return self.add("line", x1=x1, y1=y1, x2=x2, y2=y2, stroke=color, stroke_width=width, **attributes)

    def polygon(self, points: Sequence[Point], fill: str, **attributes: object) -> int:
        return self.add("polygon", points=_points(points), fill=fill, **attributes)

    def polyline(self, points: Sequence[Point], color: str = INK, width: float = 2, **attributes: object) -> int:
        return self.add("polyline", points=_points(points), fill="none", stroke=color, stroke_width=width, **attributes)

    def arrow(self, start: Point, end: Point, color: str = INK, width: float = 1.5, head: float = 7) -> tuple[int, int]:
        """A line with a filled head at its end."""
        (x1, y1), (x2, y2) = start, end
        length = ((x2 - x1) ** 2 + (y2 - y1) ** 2) ** 0.5 or 1.0
        right, down = (x2 - x1) / length, (y2 - y1) / length
        base = (x2 - right * head, y2 - down * head)
        half = head * 0.45
        corners = [
            end,
            (base[0] - down * half, base[1] + right * half),
            (base[0] + down * half, base[1] - right * half),
        ]
        return self.line(start, base, color, width), self.polygon(corners, color)

    def part(self, part: Part, *elements: int) -> int:
        """Says that these elements together show `part`; gives the first of them."""
        self._parts.append(part)
        self._marks.append(elements)
        return elements[0] if elements else -1

    def made(
        self,
        what: str,
        title: str = "",
        sizes: dict[str, float] | None = None,
        legible: Sequence[str] = (),
    ) -> Made:
        """The drawing; `legible` are the keys of sizes that stand written in it."""
        box = f"0 0 {_show(self.width)} {_show(self.height)}"
        head = f'<svg xmlns="http://www.w3.org/2000/svg" width="{_show(self.width)}" height="{_show(self.height)}" '
        svg = "\n".join([f'{head}viewBox="{box}">', *self._lines, "</svg>"])
        facts = Facts(what=what, title=title, parts=tuple(self._parts), sizes=sizes or {}, legible=tuple(legible))
        return Made(svg=svg, facts=facts, marks=tuple(self._marks))


def _show(value: object) -> str:
    if isinstance(value, float):
        text = f"{value:.2f}".rstrip("0").rstrip(".")
        return "0" if text == "-0" else text
    return _escape(str(value))


def _points(points: Sequence[Point]) -> str:
    return " ".join(f"{_show(float(x))},{_show(float(y))}" for x, y in points)


def _escape(text: str) -> str:
    return text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;").replace('"', "&quot;")
