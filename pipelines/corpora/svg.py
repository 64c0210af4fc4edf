"""Where SVG comes from: folders of files, the generator of simple drawings, and those of drawings of data."""

from collections.abc import Iterator
from typing import Annotated

import msgspec
from msgspec import Meta

from trivium.data.config import nearest
from trivium.data.pairs import bundle
from trivium.data.stage import Content, Outcome
from trivium.data.svg import plan
from trivium.data.svg.drawings import DrawingRules, draw
from trivium.data.svg.generators import KINDS, chosen
from trivium.pipelines.corpora.sources import Counted, Folder, Place


class SvgFolder(Folder, kw_only=True, tag="svg_folder"):
    """SVG files below a folder, gzipped ones too."""

    GIVES = Content.SVG

    suffixes: tuple[str, ...] = (".svg", ".svgz")
    mime: str = "image/svg+xml"


class SvgDrawings(Counted, kw_only=True, tag="svg_drawings"):
    """`count` drawings that the generator makes from `seed`; no file is read."""

    GIVES = Content.SVG
    CHUNK = 256
    WORD = "drawing"

    drawings: DrawingRules = msgspec.field(default_factory=DrawingRules)  # what is drawn

    def read(self, place: Place, corpus: str, domain: str) -> Iterator[Outcome]:
        body = draw(self.seed, place.offset, self.drawings).encode()
        yield self.raw(corpus, domain, address=place.address, body=body, mime="image/svg+xml", title="drawing")


def _every() -> dict[str, float]:
    return dict.fromkeys(KINDS, 1.0)


class SvgGenerated(Counted, kw_only=True, tag="svg_generated"):
    """`count` drawings of data made by lot (charts, maps, molecules, circuits, …) from `seed`, with what is known of
    them; no file is read.
    """

    GIVES = Content.SVG
    CHUNK = 256
    WORD = "drawing"

    kinds: dict[str, Annotated[float, Meta(ge=0)]] = msgspec.field(default_factory=_every)  # how often each is drawn

    def __post_init__(self) -> None:
        for kind in self.kinds:
            if kind not in KINDS:
                raise ValueError(f"kinds: {kind!r} is no kind of drawing{nearest(kind, KINDS)}")
        if not sum(self.kinds.values()):
            raise ValueError("kinds: all weights are 0; give at least one kind a weight above 0")

    def read(self, place: Place, corpus: str, domain: str) -> Iterator[Outcome]:
        kind, made = chosen(self.seed, place.offset, self.kinds)
        files = {plan.DRAWING: made.svg.encode(), plan.PLAN: plan.encode(made.plan())}
        address, body = f"{kind}-{place.offset:08d}", bundle.pack(plan.DRAWING, files)
        title = made.facts.title or made.facts.what
        yield self.raw(corpus, domain, address=address, body=body, mime=bundle.MIME, title=title)
