"""Where SVG comes from: folders of files, and the generator of drawings."""

from collections.abc import Iterator
from pathlib import Path
from typing import Annotated

import msgspec
from msgspec import Meta

from trivium.data.stage import Content, Drop, Raw
from trivium.data.svg.drawings import DrawingRules, draw
from trivium.pipelines.corpora.sources import Folder, Place, Source

_CHUNK = 256  # drawings that travel as one place


class SvgFolder(Folder, kw_only=True, tag="svg_folder"):
    """SVG files below a folder, gzipped ones too."""

    GIVES = Content.SVG

    suffixes: tuple[str, ...] = (".svg", ".svgz")
    mime: str = "image/svg+xml"


class SvgDrawings(Source, kw_only=True, tag="svg_drawings"):
    """`count` drawings that the generator makes from `seed`; no file is read."""

    GIVES = Content.SVG

    path: str = ""
    license: str = "CC0-1.0"
    count: Annotated[int, Meta(ge=1, le=100_000_000)]
    seed: int = 0
    drawings: DrawingRules = msgspec.field(default_factory=DrawingRules)

    def check(self, base: Path) -> None:
        pass

    def reads(self, base: Path) -> tuple[Path, ...]:
        return ()

    def places(self, base: Path) -> Iterator[Place]:
        for first in range(0, self.count, _CHUNK):
            yield Place(path="", address=f"drawing-{first:08d}", offset=first)

    def split(self, place: Place) -> Iterator[Place | Drop]:
        for index in range(place.offset, min(place.offset + _CHUNK, self.count)):
            yield Place(path="", address=f"drawing-{index:08d}", offset=index)

    def read(self, place: Place, corpus: str, domain: str) -> Iterator[Raw | Drop]:
        yield Raw(
            corpus=corpus,
            domain=domain,
            source=self.name,
            address=place.address,
            license=self.license,
            body=draw(self.seed, place.offset, self.drawings).encode(),
            mime="image/svg+xml",
            language=self.language,
            title="drawing",
        )
