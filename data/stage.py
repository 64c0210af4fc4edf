"""What a build's stages take and give: `Raw` bytes from a reader, a `Draft` document, a `Drop` with its reason.

A stage is a plain object without Beam: `open` once a worker, then `process` for each item, then `close`. It must be a
pure function of the item and its configuration, so that any runner and any order of arrival give the same records.
"""

import enum
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import ClassVar, Protocol, Self, runtime_checkable

import msgspec

from trivium.data.config import Strict
from trivium.data.records import Document, Lineage, Meta, Step
from trivium.data.records import source_id as make_source_id

EXCERPT = 400  # characters of a refused item that its reject shows


class Raw(msgspec.Struct, frozen=True, kw_only=True):
    """One item as a reader found it: `body` bytes at `address` inside the named `source`."""

    corpus: str
    domain: str
    source: str
    address: str
    license: str
    body: bytes
    mime: str
    language: str = ""
    title: str = ""

    @property
    def source_id(self) -> str:
        return make_source_id(self.source, self.address)

    def meta(self, *, source_sha256: str, steps: tuple[Step, ...] = ()) -> Meta:
        """The metadata of a document made from this item; the driver fills in the recipe digest."""
        return Meta(
            source_id=self.source_id,
            corpus=self.corpus,
            domain=self.domain,
            source=self.source,
            address=self.address,
            license=self.license,
            language=self.language,
            title=self.title,
            lineage=Lineage(source_sha256=source_sha256, steps=steps),
        )


class Draft(msgspec.Struct, frozen=True, kw_only=True):
    """A document under construction with its media bytes by member name."""

    document: Document
    media: dict[str, bytes] = {}


class Drop(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A refused item: `reason` is a short code for counters (`too_short`), `detail` one line for people.

    `error=True` says that a stage crashed; such drops count against the recipe's error budget. `excerpt` holds up to
    400 characters of what was refused (1200 of a rewrite, and of its source in `against`), `scores` what the refusing
    stage measured, `language` what it is in when known.
    """

    source_id: str
    source: str
    address: str
    stage: str
    reason: str
    detail: str = ""
    excerpt: str = ""
    begins: int = 0  # characters of the text before the excerpt: near duplicates show where they part from the survivor
    error: bool = False
    survivor: str = ""  # dedup: source_id of the record that stays
    similarity: float | None = None  # dedup: verified Jaccard with the survivor
    cluster: str = ""  # near_dedup: the smallest source_id of its cluster
    band: int | None = None  # near_dedup: the band that brought it together with `beside`
    beside: str = ""  # near_dedup: the most similar record that it was verified with
    scores: dict[str, float] = {}
    language: str = ""
    against: str = ""  # what the refused text was compared with: the source of a rewrite


Item = Raw | Draft
Outcome = Raw | Draft | Drop


@runtime_checkable
class Stage(Protocol):
    """One transformation of single items; `name` and `version` stand in the lineage of what it touched."""

    name: str
    version: int

    def open(self) -> None: ...

    def close(self) -> None: ...

    def process(self, item: Item) -> Iterator[Outcome]: ...


class Content(enum.StrEnum):
    """What an item holds, as far as the order of stages depends on it; the value is what messages call it."""

    HTML = "HTML pages"
    SVG = "SVG files"
    PLAIN = "plain text files"
    MARKDOWN = "Markdown files"
    LATEX = "LaTeX files"
    PDF = "PDF files"
    CODE = "source files"
    ROFF = "manual pages"
    TEXT = "text documents"
    SVG_CODE = "documents of SVG code"
    SVG_PAIRS = "documents of a picture and its code"
    PAGES = "pages with their files"
    GAMES = "pages that move"
    PAGE_CODE = "documents of page code"
    CAD_CODE = "CAD scripts"
    STEP = "STEP files"
    SCENES = "scene files"
    CAD_SCRIPTS = "documents of CAD code"
    DRAWN = "drawn items"  # code with what it draws and what is in it, not yet a document to learn from
    PAIRS = "documents of pictures and code"
    LONG_ROWS = "rows of long_context"
    EXCERPTS = "excerpts of texts"  # what a model is given to rewrite
    RECORDS = "records of a shard set"  # whatever they hold


RAW = frozenset(
    {Content.HTML, Content.SVG, Content.PLAIN, Content.MARKDOWN, Content.LATEX, Content.PDF, Content.CODE, Content.ROFF}
    | {Content.PAGES, Content.GAMES, Content.CAD_CODE, Content.STEP, Content.SCENES}
)
DOCUMENTS = frozenset(Content) - RAW


class StageConfig(Strict, kw_only=True, tag_field="kind"):
    """Base of the stages' parameters in a recipe; a stage's own `Config` adds `tag=` and its fields.

    `TAKES` and `GIVES` (None: what it took) let a recipe's order be judged before anything runs, `SCORES` are those
    that the stage writes.
    """

    TAKES: ClassVar[frozenset[Content]] = DOCUMENTS
    GIVES: ClassVar[Content | None] = None
    SCORES: ClassVar[tuple[str, ...]] = ()
    EXECUTES: ClassVar[bool] = False  # runs code of strangers: refused where the guard has no namespaces

    def build(self) -> Stage:
        """The stage that these parameters make, not yet opened."""
        raise NotImplementedError

    def paths(self) -> dict[tuple[str | int, ...], str]:
        """The files and folders that the stage reads (lists, models), by the keys that lead to them.

        Absolute when a worker builds the stage; what enters its lineage is their content, never where they lie.
        """
        return {}

    def with_paths(self, paths: Mapping[tuple[str | int, ...], str]) -> Self:
        """The same parameters with some of `paths()` replaced."""
        return self

    def located(self, base: Path) -> Self:
        """The same parameters with absolute paths; `base` is the folder of the relative ones."""
        return self.with_paths({keys: str((base / path).absolute()) for keys, path in self.paths().items()})

    def check(self, name: str, base: Path) -> None:
        """Looks at what the stage `name` reads beside records, before any work. Raises when it can't be used."""


class ShuffleConfig(StageConfig, kw_only=True):
    """Base of stages that look at the whole corpus at once; pipelines/corpora/shuffles/ runs each kind as Beam jobs.

    A kind may drop records or write them anew; it can't come first, since it works on documents in the spool.
    """

    @property
    def compared(self) -> tuple[str, ...]:
        """Names of scores that the shuffle looks at; stages before it must write them."""
        return ()

    @property
    def cuts(self) -> bool:
        """Whether it takes parts out of texts, which can make two records equal: exact_dedup must follow."""
        return False

    def build(self) -> Stage:
        raise TypeError(f"{self.__struct_config__.tag} is a shuffle; the build driver runs it")


def size_of(item: Item) -> int:
    """Bytes of an item's text and media."""
    if not isinstance(item, Draft):
        return len(item.body)
    return len(item.document.text.encode("utf-8", "surrogatepass")) + sum(map(len, item.media.values()))


def refuse(item: Item, stage: str, reason: str, detail: str = "", *, excerpt: str = "", error: bool = False) -> Drop:
    """A drop of `item`; `excerpt` defaults to the beginning of its text, or of its bytes where they are text."""
    if isinstance(item, Raw):
        key, source, address = item.source_id, item.source, item.address
        shown = excerpt or _text(item.body[:EXCERPT])
    else:
        meta = item.document.meta
        key, source, address = meta.source_id, meta.source, meta.address
        shown = excerpt or item.document.text
    return Drop(
        source_id=key,
        source=source,
        address=address,
        stage=stage,
        reason=reason,
        detail=detail,
        excerpt=shown[:EXCERPT],
        error=error,
    )


def _text(body: bytes) -> str:
    """Bytes as text; nothing of those that are none, which tell a person nothing."""
    text = body.decode("utf-8", "replace")
    foreign = sum(sign == "\ufffd" or (sign < " " and sign not in "\t\n\r\f") for sign in text)
    return text if foreign <= len(text) // 10 else ""


def touched(draft: Draft, step: Step) -> Draft:
    """The draft with `step` added to its lineage."""
    meta = draft.document.meta
    lineage = msgspec.structs.replace(meta.lineage, steps=(*meta.lineage.steps, step))
    document = msgspec.structs.replace(draft.document, meta=msgspec.structs.replace(meta, lineage=lineage))
    return msgspec.structs.replace(draft, document=document)
