"""A parent document as a row shows it: titled, measured, cut into blocks between which statements may be planted.

Odd: a document of one picture and its code may show only one of the two, so that a question about it needs eyes or a
reading of code. What is left out is kept beside the page, for questions and for nothing else.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

from trivium.data.longcontext.meter import Meter
from trivium.data.longcontext.wording import Frame, fill, line_start
from trivium.data.records import Document, Image, Text
from trivium.errors import InputError

PICTURE_MARK = "\ufffc"  # stands for a picture where a row is read as one text
Show = Literal["all", "picture", "code"]
_TITLE = 120  # characters


@dataclass(frozen=True, slots=True)
class Picture:
    payload: bytes
    width: int
    height: int
    mime: str
    suffix: str  # of its member name, such as `png`


Block = str | Picture


@dataclass(frozen=True, slots=True)
class Page:
    """`blocks` joined are what is shown, `sizes` their tokens; `bytes` is the size of the parent's text.

    `code` and `picture` are set for a pair, whatever of it is shown. `key` is the parent's source id.
    """

    key: str
    cluster: str
    title: str
    license: str
    language: str
    bytes: int
    shows: Show
    blocks: tuple[Block, ...]
    sizes: tuple[int, ...]
    patches: int
    code: str = ""
    picture: Picture | None = None

    @property
    def text(self) -> str:
        return "".join(block if isinstance(block, str) else PICTURE_MARK for block in self.blocks)

    @property
    def tokens(self) -> int:
        return sum(self.sizes)

    @property
    def is_pair(self) -> bool:
        return self.picture is not None


def paragraphs(text: str) -> tuple[str, ...]:
    """The text cut after its blank lines; joined again it is the same text."""
    parts = []
    start = 0
    while (end := text.find("\n\n", start)) >= 0:
        while text[end : end + 1] == "\n":
            end += 1
        parts.append(text[start:end])
        start = end
    return (*parts, text[start:]) if start < len(text) else tuple(parts)


def pair_of(document: Document, media: Mapping[str, bytes]) -> tuple[Picture, str] | None:
    """The picture and the code of a document that is a prompt, one picture and its code; None for any other."""
    pictures = [segment for segment in document.segments if isinstance(segment, Image)]
    last = document.segments[-1] if document.segments else None
    if len(pictures) != 1 or not isinstance(last, Text) or document.segments[-2] is not pictures[0]:
        return None
    before = document.segments[:-2]
    if any(not isinstance(segment, Text) or segment.loss for segment in before):
        return None
    return _picture(pictures[0], media), last.text.strip("\n")


def _picture(image: Image, media: Mapping[str, bytes]) -> Picture:
    return Picture(media[image.media], image.width, image.height, image.mime, image.media.rpartition(".")[2])


def page_of(document: Document, media: Mapping[str, bytes], show: Show, meter: Meter) -> Page:
    """The page of a document; `show` counts for pairs only. Raises InputError for a video."""
    blocks: list[Block] = []
    pair = pair_of(document, media)
    if pair is not None and show != "all":
        blocks = [pair[0]] if show == "picture" else [pair[1]]
    else:
        show = "all"
        for segment in document.segments:
            if isinstance(segment, Text):
                blocks += paragraphs(segment.text)
            elif isinstance(segment, Image):
                blocks.append(_picture(segment, media))
            else:
                raise InputError(f"segment {segment.media} is a video; pages hold text and pictures: leave it out")
    meta = document.meta
    title = " ".join((meta.title or meta.address.rpartition("/")[2]).split())[:_TITLE]
    sizes = tuple(size_of(block, meter) for block in blocks)
    return Page(
        key=meta.source_id,
        cluster=meta.cluster or meta.source_id,
        title=title,
        license=meta.license,
        language=meta.language,
        bytes=len((pair[1] if pair else document.text).encode()),
        shows=show,
        blocks=tuple(blocks),
        sizes=sizes,
        patches=sum(patches_of(block, meter) for block in blocks),
        code=pair[1] if pair else "",
        picture=pair[0] if pair else None,
    )


def size_of(block: Block, meter: Meter) -> int:
    """Tokens of a block."""
    return meter.text(block) if isinstance(block, str) else meter.picture(block.width, block.height)


def patches_of(block: Block, meter: Meter) -> int:
    return 0 if isinstance(block, str) else meter.fit(block.width, block.height).patches


def heading(page: Page, number: int, frame: Frame) -> str:
    return fill(frame.document, number=number, title=page.title, licence=page.license, bytes=page.bytes)


def unfit(page: Page, frame: Frame) -> str:
    """Why a page can't stand in a row of this frame: it is empty, or could be taken for a part of the row. Or ''."""
    text = "".join(block for block in page.blocks if isinstance(block, str))
    if not page.blocks or not page.title or not (text.strip() or page.shows == "picture"):
        return "empty"
    if PICTURE_MARK in text or PICTURE_MARK in page.title:
        return "picture_mark"
    marks = (frame.document, frame.edit, frame.note, frame.questions, frame.question, frame.answer)
    return "frame_inside" if any(line_start(mark).search(text) for mark in marks) else ""
