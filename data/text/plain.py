"""Plain text files as documents: the encoding found, line ends and control characters mended, nothing else changed."""

import hashlib
import re
from typing import Annotated

import msgspec
from msgspec import Meta

from trivium.data.records import Document, Step, Text
from trivium.data.stage import Content, Draft, Drop, Raw, StageConfig, refuse
from trivium.data.text.charset import decode, junk
from trivium.data.text.extractor import Extractor

MAX_JUNK = 0.01  # share of characters, as for pages (decision 092)
_BLANKS = re.compile(r"\n{4,}")
_CONTROL = re.compile(r"[\x00-\x08\x0e-\x1f\x7f-\x84\x86-\x9f\u200b\ufeff]")


def tidy(text: str, *, trailing: bool = False) -> str:
    """One kind of line end, no control characters, at most two blank lines; `trailing` keeps spaces at line ends."""
    for end in ("\r\n", "\r", "\x85", "\u2028", "\f\n"):  # much faster than one regular expression
        text = text.replace(end, "\n\n" if end == "\f\n" else "\n")
    for end in ("\f", "\x0b", "\u2029"):
        text = text.replace(end, "\n\n")
    if _CONTROL.search(text):
        text = _CONTROL.sub("", text)
    if not trailing and any(f"{space}\n" in text for space in " \t\xa0"):
        # no regular expression: on a long run of spaces it would take quadratic time
        text = "\n".join(line.rstrip(" \t\xa0") for line in text.split("\n"))
    text = _BLANKS.sub("\n\n\n", text) if "\n\n\n\n" in text else text
    return text.strip("\n") if trailing else text.lstrip("\n").rstrip()


def document(
    raw: Raw,
    text: str,
    step: Step,
    *,
    title: str = "",
    language: str = "",
    license: str = "",
    scores: dict[str, float] | None = None,
) -> Draft:
    """A document of one text segment; what is empty stays as the reader knew it."""
    meta = raw.meta(source_sha256=hashlib.sha256(raw.body).hexdigest(), steps=(step,))
    meta = msgspec.structs.replace(
        meta,
        title=" ".join(title.split())[:300] or meta.title,
        language=language or meta.language,
        license=license or meta.license,
        scores=scores or {},
    )
    return Draft(document=Document(segments=(Text(text=text + "\n"),), meta=meta))


def decoded(raw: Raw, stage: str, reason: str, declared: tuple[str, ...] = ()) -> str | Drop:
    """The body as text, or a drop with `reason` when it is no text in any encoding."""
    text, encoding = decode(raw.body, declared)
    share = junk(text.replace("\f", "\n"))
    if share > MAX_JUNK:
        return refuse(raw, stage, reason, f"{share:.1%} are control characters or undecodable when read as {encoding}")
    return text


class ExtractText(Extractor["ExtractText.Config"]):
    """Raw plain text → a document of one text segment."""

    name = "extract_text"
    version = 1
    takes = "raw texts"

    class Config(StageConfig, kw_only=True, tag="extract_text"):
        """`encodings` are tried, in order, on what is not plainly UTF-8 or UTF-16; then comes detection."""

        TAKES = frozenset({Content.PLAIN})
        GIVES = Content.TEXT

        max_bytes: Annotated[int, Meta(ge=1)] = 16 << 20  # of one item
        encodings: tuple[str, ...] = ()

        def build(self) -> "ExtractText":
            return ExtractText(self)

    def extract(self, raw: Raw) -> Draft | Drop:
        text = decoded(raw, self.name, "not_text", self.config.encodings)
        if isinstance(text, Drop):
            return text
        text = tidy(text)
        if not text.strip():
            return refuse(raw, self.name, "no_text", "nothing but white space")
        return document(raw, text, self.step, title=raw.title)
