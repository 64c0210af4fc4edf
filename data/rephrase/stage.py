"""Documents of text to the excerpts that a model is given to rewrite, each with its place in the document.

Odd: an excerpt is a document of its own until it is rewritten, and remembers where it was cut: `Meta.rewrite` holds the
places, `Meta.family` keeps everything made of one text on one side of a held-out split.
"""

import hashlib
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Annotated, Self

import msgspec
from msgspec import Meta as Within

from trivium.data.frames import Frame
from trivium.data.records import Document, Meta, Rewrite, Text, content_id, source_id
from trivium.data.rephrase.excerpts import EXCERPT, Measure, Stretch, excerpts
from trivium.data.stage import EXCERPT as SHOWN
from trivium.data.stage import Content, Draft, Drop, Item, Outcome, ShuffleConfig, StageConfig, refuse, touched

VERSION = 1


class Lengths(StageConfig, kw_only=True):
    """How texts are measured: with the `tokenizer` at a path, or UTF-8 bytes by `bytes_per_token`."""

    tokenizer: str = ""
    bytes_per_token: Annotated[float, Within(ge=0.5, le=16)] = 4.0

    def paths(self) -> dict[tuple[str | int, ...], str]:
        return {("tokenizer",): self.tokenizer} if self.tokenizer else {}

    def with_paths(self, paths: Mapping[tuple[str | int, ...], str]) -> Self:
        return msgspec.structs.replace(self, tokenizer=paths.get(("tokenizer",), self.tokenizer))

    def measure(self) -> Measure:
        """Tokens of a text. Raises InputError when the tokenizer can't be read."""
        if self.tokenizer:
            from trivium.data.tokenizers import Tokenizer

            engine = Tokenizer.load(Path(self.tokenizer))
            return lambda text: len(engine.encode(text))
        return lambda text: int(-(-len(text.encode("utf-8", "surrogatepass")) // self.bytes_per_token))


class Excerpts(Frame["Excerpts.Config"]):
    """Cuts a document into excerpts at paragraphs; code, tables and displayed formulas stay whole."""

    name = "excerpts"
    version = VERSION

    class Config(Lengths, kw_only=True, tag="excerpts"):
        """`tokens` an excerpt at most. Left out, each with its reason: excerpts under `min_tokens` of prose, and those
        of which less than `min_prose` is prose. `share` of the rest is taken, drawn by hash.
        """

        GIVES = Content.EXCERPTS

        tokens: Annotated[int, Within(ge=16)] = EXCERPT
        min_tokens: Annotated[int, Within(ge=1)] = 32
        min_prose: Annotated[float, Within(ge=0.0, le=1.0)] = 0.5
        share: Annotated[float, Within(gt=0.0, le=1.0)] = 1.0
        seed: int = 0  # of the draw

        def build(self) -> "Excerpts":
            return Excerpts(self)

    def open(self) -> None:
        self._measure = self.config.measure()

    def process(self, item: Item) -> Iterator[Outcome]:
        if not isinstance(item, Draft):
            raise TypeError("excerpts takes documents; put an extracting stage before it")
        document = item.document
        if any(not isinstance(segment, Text) for segment in document.segments) or document.meta.drawn:
            yield refuse(item, self.name, "not_text", "it holds pictures; only text is rewritten")
            return
        if document.meta.rewrite is not None or document.meta.evidence:
            yield refuse(item, self.name, "made", "it is made of other texts already; rewrite those")
            return
        found = excerpts(document.text, self.config.tokens, self._measure)
        if not found:
            yield refuse(item, self.name, "empty", "it holds no text")
        whole = content_id(document.segments, item.media)
        for number, stretch in enumerate(found):
            made = self._excerpt(item, whole, number, stretch)
            why = self._fault(made, stretch)
            yield touched(made, self.step) if why is None else _left(made, *why)

    def _excerpt(self, item: Draft, whole: str, number: int, stretch: Stretch) -> Draft:
        meta = item.document.meta
        text = item.document.text[stretch.start : stretch.stop]
        address = f"{meta.address}#excerpt-{number:04d}"
        made = Meta(
            source_id=source_id(meta.source, address),
            corpus=meta.corpus,
            domain=meta.domain,
            source=meta.source,
            address=address,
            license=meta.license,
            language=meta.language,
            title=meta.title,
            declared=meta.declared,
            family=meta.family or meta.cluster or meta.source_id,
            cluster=meta.cluster,
            rewrite=Rewrite(source=meta.source_id, start=stretch.start, stop=stretch.stop),
            lineage=msgspec.structs.replace(meta.lineage, parents=(whole,)),
        )
        return Draft(document=Document(segments=(Text(text=text),), meta=made))

    def _fault(self, made: Draft, stretch: Stretch) -> tuple[str, str] | None:
        config = self.config
        if stretch.tokens > config.tokens:
            return "too_long", f"one block of {stretch.tokens:,} tokens, at most {config.tokens:,} wanted"
        if stretch.prose < config.min_prose * stretch.tokens:
            return "little_prose", f"{stretch.prose:,} of {stretch.tokens:,} tokens are prose"
        if stretch.prose < config.min_tokens:
            return "too_short", f"{stretch.prose:,} tokens of prose, at least {config.min_tokens:,} wanted"
        if config.share < 1.0 and not drawn(made.document.meta.source_id, config.share, config.seed):
            return "not_drawn", f"share {config.share:g} of the excerpts is taken"
        return None


class RewriteCap(ShuffleConfig, kw_only=True, tag="rewrite_cap"):
    """Keeps at most `most` rewrites of one excerpt, where sets of several recipes come together; other records stay.

    Those with the best score `quality` stay (none: by hash).
    """

    most: Annotated[int, Within(ge=1)] = 2
    quality: str = ""

    @property
    def compared(self) -> tuple[str, ...]:
        return (self.quality,) if self.quality else ()


def drawn(key: str, share: float, seed: int) -> bool:
    """Whether `key` is in the share that is taken; a larger share takes the same ones and more."""
    value = int.from_bytes(hashlib.sha256(f"{seed} {key}".encode()).digest()[:8], "big")
    return value < share * 2.0**64


def _left(made: Draft, reason: str, detail: str) -> Drop:
    return refuse(made, Excerpts.name, reason, detail, excerpt=made.document.text[:SHOWN])
