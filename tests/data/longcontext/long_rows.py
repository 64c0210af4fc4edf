"""Rows made of Python's documentation and of drawings, for the tests of long-context synthesis.

A character is a token here, so a token position is a place in the row's text.
"""

from collections.abc import Sequence
from pathlib import Path

import msgspec

from trivium.data.longcontext.dice import Dice
from trivium.data.longcontext.meter import Meter
from trivium.data.longcontext.pages import PICTURE_MARK
from trivium.data.longcontext.row import Pool, Row, RowRules, compose
from trivium.data.longcontext.wording import load_wording
from trivium.data.patches import PictureRules
from trivium.data.records import Document, Image, Meta, Text, source_id
from trivium.data.stage import Draft, Raw
from trivium.data.svg.drawings import DrawingRules, draw
from trivium.data.svg.policy import SvgPolicy
from trivium.data.svg.render import render
from trivium.data.svg.requests import request_for
from trivium.data.svg.sanitise import sanitise
from trivium.data.text.extract import ExtractHtml

EXAMPLES = Path(__file__).parents[3] / "examples/web/python"
METER = Meter(1.0, PictureRules(), len)
Record = tuple[Document, dict[str, bytes]]


def meta(source: str, address: str, license_: str, title: str) -> Meta:
    return Meta(
        source_id=source_id(source, address),
        corpus=source,
        domain="test",
        source=source,
        address=address,
        license=license_,
        title=title,
    )


def read_pages() -> list[Record]:
    """The Python tutorial and FAQ as the extractor leaves them, under three licences."""
    stage = ExtractHtml.Config(skip=("a.headerlink",)).build()
    stage.open()
    found: list[Record] = []
    for number, path in enumerate(sorted(EXAMPLES.rglob("*.html"))):
        name = path.relative_to(EXAMPLES).as_posix()
        raw = Raw(
            corpus="t", domain="t", source="docs", address=name, license="", body=path.read_bytes(), mime="text/html"
        )
        for outcome in stage.process(raw):
            if isinstance(outcome, Draft):
                licence = ("PSF-2.0", "MIT", "0BSD OR Zlib")[number % 3]
                about = meta("docs", name, licence, outcome.document.meta.title)
                found.append((Document(segments=outcome.document.segments, meta=about), {}))
    stage.close()
    return found


def drawing(number: int) -> Record:
    """A drawing as the SVG corpus holds it: prompt, picture, code."""
    code = sanitise(draw(3, number, DrawingRules(most=2)).encode(), SvgPolicy()).text
    picture = render(request_for(code, 112, (255, 255, 255), check=False))
    segments = (
        Text(text="Draw this picture as SVG.\n", loss=False),
        Image(media="i0.png", width=112, height=112, mime="image/png"),
        Text(text=f"\n{code}\n"),
    )
    document = Document(segments=segments, meta=meta("drawings", str(number), "CC0-1.0", "drawing"))
    return document, {"i0.png": picture.png}


def make(pages: Sequence[Record], drawings: Sequence[Record], seed: int, rules: RowRules) -> Row:
    dice = Dice("test", seed)
    pools = [Pool("docs", 0.7, iter(dice.shuffled(pages))), Pool("drawings", 0.3, iter(dice.shuffled(drawings)))]
    return compose(pools, rules, load_wording(), METER, dice)


def draft_of(row: Row) -> Draft:
    about = msgspec.structs.replace(meta("rows", "0", "", "row"), evidence=row.evidence)
    return Draft(document=Document(segments=tuple(row.layout.segments), meta=about), media=row.layout.media)


def flat(row: Row) -> str:
    """The row with one character a token: [BOS], text, a picture as as many marks as it has tokens, [EOS]."""
    parts = ["\x02"]
    for segment in row.layout.segments:
        if isinstance(segment, Text):
            parts.append(segment.text)
        elif isinstance(segment, Image):
            parts.append(PICTURE_MARK * METER.picture(segment.width, segment.height))
    return "".join([*parts, "\x03"])
