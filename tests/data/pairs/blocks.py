"""A language small enough to know everything about: one rectangle a line ("red 10 20 30 40"), its engine and editor."""

import io
from collections.abc import Iterator, Mapping, Sequence

import msgspec
from PIL import Image, ImageDraw

from trivium.data.longcontext.dice import Dice
from trivium.data.pairs.editor import Edit
from trivium.data.pairs.engine import Drawing
from trivium.data.pairs.facts import Facts, Part
from trivium.errors import GuardError

HEX = {
    "red": "#ff0000",
    "blue": "#0000ff",
    "green": "#008000",
    "black": "#000000",
    "white": "#ffffff",
    "moving": "#804000",
}


class Settings(msgspec.Struct, frozen=True):
    side: int = 100


class BlocksEngine:
    """`drift` makes every picture another one; `frames` makes clips, in which what is `moving` moves.

    `files` may hold a paper: its first byte is the grey of it.
    """

    name = "blocks"

    def __init__(self, drift: bool = False, frames: int = 0) -> None:
        self.drift, self.frames, self.drawings = drift, frames, 0
        self.clips: list[bytes] = []

    def open(self) -> None:
        pass

    def close(self) -> None:
        pass

    def environment(self) -> str:
        return "blocks 1"

    def draw(self, code: str, files: Mapping[str, bytes], settings: str) -> Drawing:
        side = msgspec.json.decode(settings, type=Settings).side
        paper = files["paper.bin"][0] if files else 255
        pictures, parts = zip(*(self._picture(code, side, paper, at) for at in range(self.frames or 1)), strict=True)
        facts = Facts(what="a drawing of rectangles", parts=parts[0], sizes={"picture width px": side})
        self.drawings += 1
        if self.drift:
            pictures[0].putpixel((0, 0), (self.drawings, 0, 0))
        if self.frames:
            self.clips.append(film(pictures))
            return Drawing(payload=self.clips[-1], mime="video/mp4", width=side, height=side, facts=facts)
        target = io.BytesIO()
        pictures[0].save(target, "PNG")
        return Drawing(payload=target.getvalue(), mime="image/png", width=side, height=side, facts=facts)

    def _picture(self, code: str, side: int, paper: int, at: int) -> tuple[Image.Image, tuple[Part, ...]]:
        picture = Image.new("RGB", (side, side), (paper, paper, paper))
        parts = []
        for line in code.splitlines():
            color, *numbers = line.split()
            if color not in HEX:
                raise GuardError("refused", f"no colour {color}")
            left, top, width, height = map(int, numbers)
            left += 5 * at * (color == "moving")
            box = (left, top, left + width - 1, top + height - 1)
            ImageDraw.Draw(picture).rectangle(box, fill=HEX[color])
            parts.append(
                Part(
                    kind="rectangle",
                    name=f"block {len(parts) + 1}",
                    color=color,
                    box=(left, top, left + width, top + height),
                    sizes={"width px": width, "height px": height},
                )
            )
        return picture, tuple(parts)


def film(pictures: Sequence[Image.Image]) -> bytes:
    import av

    target = io.BytesIO()
    with av.open(target, "w", format="mp4", options={"fflags": "bitexact"}) as container:
        stream = container.add_stream("libx264", rate=25, options={"threads": "1"})
        stream.width, stream.height, stream.pix_fmt = *pictures[0].size, "yuv420p"
        for picture in pictures:
            container.mux(stream.encode(av.VideoFrame.from_image(picture)))
        container.mux(stream.encode())
    return target.getvalue()


class BlocksEditor:
    """Its first edits change nothing and hardly anything, the next does not draw; then colours change, for ever."""

    language = "blocks"

    def edits(self, code: str, facts: Facts, dice: Dice) -> Iterator[Edit]:
        yield Edit(instruction="Change nothing.", code=code + "\n")
        yield Edit(instruction="Change next to nothing.", code=code + "\nblack 50 50 2 2")
        yield Edit(instruction="Paint it mauve.", code=code.replace("red", "mauve"))
        while True:
            lines = code.splitlines()
            place, color = dice.below(len(lines)), dice.pick(sorted(HEX))
            lines[place] = " ".join([color, *lines[place].split()[1:]])
            yield Edit(instruction=f"Make rectangle {place + 1} {color}.", code="\n".join(lines))

    def bugs(self, code: str, facts: Facts, dice: Dice) -> Iterator[Edit]:
        for number, line in enumerate(code.splitlines()):
            color, left, top, width, height = line.split()
            wrong = f"{color} {left} {top} {height} {int(width) + 1}"
            yield Edit(instruction=f"Rectangle {number + 1} is too tall.", code=code.replace(line, wrong))
