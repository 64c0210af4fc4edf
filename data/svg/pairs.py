"""The two stages of an SVG corpus: `svg_sanitize` makes code of a file, `svg_render` adds the picture before it.

A document is: a short prompt without loss (or none), the picture, a line break and the canonical code. The prompt is
drawn by a hash of the seed and the source id.
"""

import hashlib
import re
import unicodedata
from collections.abc import Iterator
from pathlib import PurePosixPath
from typing import Annotated

import msgspec
from msgspec import Meta

from trivium.data.config import digest
from trivium.data.frames import RawStage
from trivium.data.guard import Guard, Limits
from trivium.data.pairs import bundle
from trivium.data.records import Document, Image, Segment, Step, Text
from trivium.data.stage import Content, Draft, Drop, Item, Outcome, Raw, StageConfig, refuse, touched
from trivium.data.svg.plan import PLAN
from trivium.data.svg.policy import SvgPolicy, SvgRefusedError
from trivium.data.svg.requests import TASK, Picture, request_for
from trivium.data.svg.sanitise import sanitise
from trivium.errors import GuardError

PICTURE = "i0.png"
PROMPTS = ("", "Picture to SVG:\n", "Draw this picture as SVG.\n", "SVG code of the picture:\n")
_CODE_POINTS = re.compile(r"[0-9A-F]{4,5}(-[0-9A-F]{4,5})*\Z")


class SvgSanitize(RawStage["SvgSanitize.Config"]):
    """Raw SVG bytes → a document of one text segment, the canonical code."""

    name = "svg_sanitize"
    version = 1
    takes = "raw SVG"

    class Config(StageConfig, kw_only=True, tag="svg_sanitize"):
        TAKES = frozenset({Content.SVG})
        GIVES = Content.SVG_CODE
        SCORES = ("elements",)

        policy: SvgPolicy = SvgPolicy()  # what is let through
        max_chars: Annotated[int, Meta(ge=1)] = 1 << 20  # of canonical code

        def build(self) -> "SvgSanitize":
            return SvgSanitize(self)

    def outcome(self, raw: Raw) -> Draft | Drop:
        """A bundle is a generator's: its plan travels on beside the code."""
        held = bundle.unpack(raw.body) if raw.mime == bundle.MIME else None
        body = held.files[held.main] if held else raw.body
        try:
            clean = sanitise(body, self.config.policy)
        except SvgRefusedError as error:
            excerpt = body[:400].decode("utf-8", "replace")
            return refuse(raw, self.name, error.reason, error.detail, excerpt=excerpt)
        if len(clean.text) > self.config.max_chars:
            detail = f"{len(clean.text):,} characters of code, limit {self.config.max_chars:,}"
            return refuse(raw, self.name, "too_long", detail)
        meta = raw.meta(source_sha256=hashlib.sha256(raw.body).hexdigest(), steps=(self.step,))
        title = raw.title or clean.title or title_of(raw.address)
        meta = msgspec.structs.replace(meta, title=title, scores={"elements": float(clean.elements)})
        media = {PLAN: held.files[PLAN]} if held and PLAN in held.files else {}
        return Draft(document=Document(segments=(Text(text=clean.text),), meta=meta), media=media)


class SvgRender:
    """Canonical code → prompt, picture, code. Drawn by cairosvg, agreed to by resvg, both in a guarded child."""

    name = "svg_render"
    version = 1

    class Config(StageConfig, kw_only=True, tag="svg_render"):
        """`pixels`: the longer side. `max_difference`: mean grey levels (0 to 255) by which the engines may differ."""

        TAKES = frozenset({Content.SVG_CODE, Content.RECORDS})
        GIVES = Content.SVG_PAIRS
        SCORES = ("ink", "difference")

        pixels: Annotated[int, Meta(ge=14, le=4096)] = 224
        background: tuple[int, int, int] = (255, 255, 255)  # red, green, blue under what is transparent
        cross_check: bool = True  # whether a second engine must agree
        max_difference: Annotated[float, Meta(ge=0, le=255)] = 5.0
        min_ink: Annotated[float, Meta(ge=0, le=1)] = 0.002  # share of pixels that differ from the background
        prompts: Annotated[tuple[str, ...], Meta(min_length=1)] = PROMPTS  # one stands between picture and code
        seed: int = 0  # which prompt a record gets
        limits: Limits = Limits()  # of the child that draws

        def build(self) -> "SvgRender":
            return SvgRender(self)

    def __init__(self, config: Config) -> None:
        self.config = config
        self.step = Step(name=self.name, version=self.version, parameters=digest(config), seed=config.seed)
        self._guard = Guard(TASK, config.limits)

    def open(self) -> None:
        self._guard.start()

    def close(self) -> None:
        self._guard.close()

    def process(self, item: Item) -> Iterator[Outcome]:
        """A GuardError becomes a drop with its reason: a file that kills a renderer is a reject, not an error."""
        if not isinstance(item, Draft) or item.media or len(item.document.segments) != 1:
            raise TypeError("svg_render takes documents of one code segment; put it after svg_sanitize")
        yield self._render(item, item.document.text)

    def _render(self, draft: Draft, code: str) -> Draft | Drop:
        config = self.config
        request = request_for(code, config.pixels, config.background, check=config.cross_check)
        try:
            picture = self._guard.call(request, Picture)
        except GuardError as error:
            return refuse(draft, self.name, error.reason, str(error), excerpt=code[:400])
        if picture.ink < config.min_ink or not picture.varied:
            return refuse(
                draft, self.name, "blank", f"{picture.ink:.2%} of the picture is drawn on", excerpt=code[:400]
            )
        if picture.difference > config.max_difference:
            detail = f"the two engines differ by {picture.difference:.2f} grey levels, limit {config.max_difference:g}"
            return refuse(draft, self.name, "engines_disagree", detail, excerpt=code[:400])
        meta = draft.document.meta
        scores = {**meta.scores, "ink": round(picture.ink, 4), "difference": picture.difference}
        image = Image(media=PICTURE, width=picture.width, height=picture.height, mime="image/png")
        prompt = self._prompt(meta.source_id)
        opening: tuple[Segment, ...] = (Text(text=prompt, loss=False),) if prompt else ()
        document = Document(
            segments=(*opening, image, Text(text=f"\n{code}\n")),
            meta=msgspec.structs.replace(meta, scores=scores),
        )
        return touched(Draft(document=document, media={PICTURE: picture.png}), self.step)

    def _prompt(self, source_id: str) -> str:
        key = hashlib.sha256(f"{self.config.seed}/{source_id}".encode()).digest()
        return self.config.prompts[int.from_bytes(key[:8], "big") % len(self.config.prompts)]


def title_of(address: str) -> str:
    """Words of a file's name: `arrow-left.svg` is "arrow left", `1F34E.svg` the character's name."""
    stem = PurePosixPath(address).name.split(".")[0]
    if _CODE_POINTS.match(stem):
        points = [int(part, 16) for part in stem.split("-")]
        names = [unicodedata.name(chr(point), "").lower() for point in points if point <= 0x10FFFF]
        return ", ".join(name for name in names if name) or stem
    return " ".join(re.split(r"[-_\s]+", stem)).strip()
