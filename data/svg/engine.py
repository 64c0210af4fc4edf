"""SVG as an engine of pairs: cairosvg draws, resvg may have to agree, and the tree says what is in it."""

from collections.abc import Mapping
from dataclasses import dataclass
from importlib import metadata
from typing import Annotated

import msgspec
from msgspec import Meta

from trivium.data.config import Strict
from trivium.data.guard import Guard, Limits
from trivium.data.pairs.engine import Drawing
from trivium.data.pairs.facts import Facts
from trivium.data.svg import fonts, shapes
from trivium.data.svg.requests import TASK, Color, Picture, RenderRequest, Seen, size_for, unit_of
from trivium.errors import GuardError

Channel = Annotated[int, Meta(ge=0, le=255)]
_REMEMBERED = 64  # codes; a picture and its changes are fewer
_LEVEL = 1  # of the PNG that goes from child to child; who keeps pictures encodes them again


@dataclass(frozen=True, slots=True)
class _Known:
    difference: float
    facts: Facts


class SvgSettings(Strict, frozen=True, kw_only=True):
    """All that decides a drawing's pixels beside its code."""

    pixels: Annotated[int, Meta(ge=8, le=4096)]  # the longer side
    background: tuple[Channel, Channel, Channel] = (255, 255, 255)  # under what is transparent


def settings(pixels: int, background: Color = (255, 255, 255)) -> str:
    """Canonical JSON of the settings."""
    return msgspec.json.encode(SvgSettings(pixels=pixels, background=background), order="sorted").decode()


class SvgEngine:
    """Draws the sanitiser's canonical code. With `max_difference` (grey levels, 0 to 255) the second engine must agree
    with the first picture of a code; other sizes and papers of it are not checked again.
    """

    name = "svg"

    def __init__(self, limits: Limits | None = None, *, max_difference: float | None = None) -> None:
        self._guard = Guard(TASK, limits or Limits(), profile=fonts.profile())
        self._max_difference = max_difference
        self._known: dict[str, _Known] = {}  # the latest codes, oldest first

    def open(self) -> None:
        """Raises MissingDependencyError without the fonts or the renderers."""
        fonts.check()
        self._guard.start()

    def close(self) -> None:
        self._guard.close()

    def environment(self) -> str:
        import cairocffi

        versions = {name: metadata.version(name) for name in ("cairosvg", "cairocffi")}
        cairo = cairocffi.cairo_version_string()
        return ", ".join([*(f"{name} {version}" for name, version in versions.items()), f"cairo {cairo}", _fonts()])

    def draw(self, code: str, files: Mapping[str, bytes], settings: str) -> Drawing:
        """Raises GuardError with a guard's reasons, `engines_disagree`, `no_glyph`, `foreign_font` or `not_canonical`.

        `files` are none: canonical code names no file.
        """
        chosen = msgspec.json.decode(settings, type=SvgSettings)
        width, height = _size(code, chosen.pixels)
        foreign = fonts.foreign(code)
        if foreign:
            raise GuardError("foreign_font", f"words in {foreign[:40]!r}, which is none of {len(fonts.FAMILIES)} fonts")
        known = self._known.get(code)
        first = known is None
        root = shapes.read(code) if first else None
        found = shapes.parts_of(root) if root is not None else []
        request = RenderRequest(
            svg=code,
            width=width,
            height=height,
            background=chosen.background,
            check=first and self._max_difference is not None,
            font_files=fonts.files_for(code),
            level=_LEVEL,
            ink=False,
            marked=shapes.marked(root) if root is not None and found else "",
        )
        picture = self._guard.call(request, Picture)
        if known is None:
            self._judge(picture)
            known = _Known(picture.difference, _facts(found, picture, unit_of(code, chosen.pixels)))
            self._known[code] = known
            if len(self._known) > _REMEMBERED:
                del self._known[next(iter(self._known))]
        return Drawing(payload=picture.png, mime="image/png", width=width, height=height, facts=known.facts)

    def locate(self, code: str, settings: str) -> dict[int, Seen]:
        """Where each element that draws is seen in the picture, by its number in drawing order. Raises GuardError."""
        chosen = msgspec.json.decode(settings, type=SvgSettings)
        width, height = _size(code, chosen.pixels)
        marked = shapes.marked(shapes.read(code))
        request = RenderRequest(
            svg=code,
            width=width,
            height=height,
            check=False,
            font_files=fonts.files_for(code),
            level=0,
            marked=marked,
            ink=False,
        )
        return self._guard.call(request, Picture).seen

    def difference(self, code: str) -> float:
        """Mean grey levels by which the engines differed on code that was just drawn; -1: nobody asked the second."""
        known = self._known.get(code)
        return known.difference if known else -1.0

    def _judge(self, picture: Picture) -> None:
        if picture.unknown:
            raise GuardError("no_glyph", f"the fonts have no glyph for {picture.unknown[:40]!r}")
        if self._max_difference is not None and picture.difference > self._max_difference:
            what = f"the two engines differ by {picture.difference:.2f} grey levels"
            raise GuardError("engines_disagree", f"{what}, limit {self._max_difference:g}")


def _fonts() -> str:
    return f"fonts {fonts.digest()}"


def _size(code: str, pixels: int) -> tuple[int, int]:
    try:
        return size_for(code, pixels)
    except ValueError as error:
        raise GuardError("not_canonical", str(error)) from None


def _facts(found: list[shapes.Found], picture: Picture, unit: float) -> Facts:
    return Facts(what="a drawing", parts=shapes.visible(found, picture.seen, unit))
