"""The one record that every corpus yields: a `Document`, an ordered list of segments with metadata and lineage.

Odd: a document has two ids. `source_id` names the place it came from and survives a change of recipe; `id` names its
content. Media bytes are held beside the record, under the names that its segments give.
"""

import base64
import hashlib
from collections.abc import Mapping
from typing import Any

import msgspec

from trivium.errors import ShardError

FORMAT = "trivium.document"
VERSION = 1
ID_LENGTH = 26  # characters of lower-case base32: the first 130 bits of sha256


class Text(msgspec.Struct, frozen=True, kw_only=True, tag="text", omit_defaults=True):
    """UTF-8 text; `loss=False` marks text that is context only (no target)."""

    text: str
    loss: bool = True


class Image(msgspec.Struct, frozen=True, kw_only=True, tag="image"):
    """A picture: `media` is its member name (`i0.png`), `width` and `height` in pixels as stored."""

    media: str
    width: int
    height: int
    mime: str


class Video(msgspec.Struct, frozen=True, kw_only=True, tag="video"):
    """A clip: `frames` counted by decoding, `fps` frames a second, sizes in pixels."""

    media: str
    width: int
    height: int
    mime: str
    frames: int
    fps: float


Segment = Text | Image | Video


class Step(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One transformation that touched a document: its name, version, the digest of its parameters, and what it did to
    this document in numbers (`characters` removed, addresses masked), where it counts that.
    """

    name: str
    version: int
    parameters: str = ""
    seed: int | None = None
    counts: dict[str, int] = {}


class Lineage(msgspec.Struct, frozen=True, kw_only=True):
    """Where a document came from: recipe digest, sha256 of the source bytes, parents' ids, steps in order."""

    recipe: str = ""
    source_sha256: str = ""
    parents: tuple[str, ...] = ()
    steps: tuple[Step, ...] = ()


class Evidence(msgspec.Struct, frozen=True, kw_only=True):
    """One question inside a document: its kind, where its answer begins and where what it rests on begins (tokens).

    Positions are those of the build's meter: counted when it had a tokenizer, else estimated from bytes.
    """

    task: str
    answer: int
    at: tuple[int, ...]


class Drawn(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """How a picture or clip was drawn from a record's own code, so that it can be drawn again to the same pixels.

    `engine` is a name of `trivium.data.pairs.engine`, `settings` canonical JSON of all that decides the picture beside
    the code, `environment` the versions and fonts it was drawn with. `code` is the index of the text segment that holds
    the code; -1: the record does not hold it. `files` are the media that the code names, by the path that it gives.
    """

    media: str
    engine: str
    settings: str
    environment: str
    code: int = -1
    files: dict[str, str] = {}
    phash: str = ""  # perceptual hash, 16 hex digits


class Rewrite(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What a text is that was cut from, or rewritten after, characters `start` to `stop` of the record `source`.

    An excerpt has no `style` yet. `style` is id and version of the prompt, `backend` what kind of server ran `model`
    (`fake`: none, a test), `seed` that of its requests. `text` is the beginning of the excerpt, for eyes.
    """

    source: str  # source_id
    start: int
    stop: int
    excerpt: str = ""  # source_id of the excerpt; the rewrites of one share it
    style: str = ""
    model: str = ""
    backend: str = ""
    seed: int = 0
    text: str = ""


class Meta(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What is known about a document. `scores` hold what rules measured; decisions stand in the recipe's policy."""

    source_id: str
    corpus: str
    domain: str
    source: str  # the source's name in the recipe
    address: str  # place inside the source: URL, path, record offset
    license: str
    language: str = ""
    title: str = ""
    declared: dict[str, str] = {}  # what the source says of itself: author, date, site, address, license, language
    scores: dict[str, float] = {}
    cluster: str = ""  # near-duplicate cluster: the smallest member's source_id; held-out splits go by it
    duplicates: tuple[str, ...] = ()  # source ids of the exact and near duplicates that this one survived
    evidence: tuple[Evidence, ...] = ()  # synthetic long documents: what their questions rest on
    drawn: tuple[Drawn, ...] = ()  # programmatic corpora: the pictures that the code beside them draws
    family: str = ""  # the cluster of the text that this was made from; stays its cluster whatever dedup finds
    rewrite: Rewrite | None = None  # rephrased corpora: after which text, by which prompt and model
    lineage: Lineage = msgspec.field(default_factory=Lineage)


class Document(msgspec.Struct, frozen=True, kw_only=True):
    """An ordered list of segments and its metadata; `id` is derived (`finish`) and empty while a build works on it."""

    segments: tuple[Segment, ...]
    meta: Meta
    id: str = ""

    @property
    def text(self) -> str:
        """All text segments joined by nothing."""
        return "".join(s.text for s in self.segments if isinstance(s, Text))

    @property
    def media(self) -> tuple[str, ...]:
        """Names of the media members, in order of first use: those of segments, then files that drawn code names."""
        shown = (s.media for s in self.segments if not isinstance(s, Text))
        named = (name for drawn in self.meta.drawn for name in drawn.files.values())
        return tuple(dict.fromkeys((*shown, *named)))


def base32_id(payload: bytes) -> str:
    """26 lower-case base32 characters: the first 130 bits of sha256 over `payload`."""
    return base64.b32encode(hashlib.sha256(payload).digest())[:ID_LENGTH].decode().lower()


def source_id(source: str, place: str) -> str:
    """The id of a place in a named source; stable when the recipe changes."""
    return base32_id(msgspec.json.encode([source, place]))


def content_id(segments: tuple[Segment, ...], media: Mapping[str, bytes]) -> str:
    """The id of a content: canonical JSON of the segments, media replaced by the sha256 of their bytes."""
    return id_of_hashes(segments, {name: hashlib.sha256(payload).hexdigest() for name, payload in media.items()})


def id_of_hashes(segments: tuple[Segment, ...], hashes: Mapping[str, str]) -> str:
    """`content_id` from the sha256 of the media, in hex."""
    canonical: list[Any] = []
    for segment in segments:
        built = msgspec.to_builtins(segment)
        if not isinstance(segment, Text):
            built["media"] = hashes[segment.media]
        canonical.append(built)
    return base32_id(msgspec.json.encode(canonical, order="sorted"))


def finish(document: Document, media: Mapping[str, bytes]) -> Document:
    """The document with its content id filled in."""
    return msgspec.structs.replace(document, id=content_id(document.segments, media))


def encode(document: Document) -> bytes:
    """Canonical JSON (sorted keys, one line): equal documents give equal bytes."""
    built = msgspec.to_builtins(document)
    return msgspec.json.encode({"format": FORMAT, "version": VERSION, **built}, order="sorted")


class _Envelope(msgspec.Struct, frozen=True, kw_only=True):
    format: str = ""
    version: int = 0


def decode(payload: bytes) -> Document:
    """Raises ShardError when the JSON is not a document of a version this code knows."""
    try:
        head = msgspec.json.decode(payload, type=_Envelope)
        if head.format != FORMAT or head.version != VERSION:
            raise ShardError(
                f"a record of format {head.format!r} version {head.version}; this code reads {FORMAT!r} version "
                f"{VERSION}: read it with the Trivium release that wrote it"
            )
        return msgspec.json.decode(payload, type=Document)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise ShardError(f"a record's JSON can't be read: {error}") from None
