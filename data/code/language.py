"""Source files → documents of their text with the programming language; what is no text or no known language goes."""

import hashlib
from typing import Annotated

import msgspec
from msgspec import Meta

from trivium.data.code.paths import is_license, is_manifest, is_readme, name_of, stem_of
from trivium.data.code.source_text import decode_source
from trivium.data.code.table import known, language_of
from trivium.data.frames import RawStage
from trivium.data.records import Document, Text
from trivium.data.stage import Content, Draft, Drop, Raw, StageConfig, refuse


class CodeLanguage(RawStage["CodeLanguage.Config"]):
    """Decodes a file and names its language in `meta.language`, by Pygments' short names (`python`, `cpp`, `bash`)."""

    name = "code_language"
    version = 1
    takes = "raw source files"

    class Config(StageConfig, kw_only=True, tag="code_language"):
        """`keep` empty keeps every language but those of `skip`.

        Plain text is kept when it is a licence, a README, or its name without extension is one of `texts`
        (StarCoder 2, section 2.1); a package's manifest is kept whatever its language, since it may name the licence.
        """

        TAKES = frozenset({Content.CODE})
        GIVES = Content.TEXT

        keep: tuple[str, ...] = ()
        skip: tuple[str, ...] = ("csv", "svg", "source-map", "gettext", "log", "output", "ignore", "html", "jupyter")
        texts: tuple[str, ...] = ("readme", "notes", "todo", "description", "requirements")
        max_bytes: Annotated[int, Meta(ge=1)] = 1 << 20  # of one file

        def build(self) -> "CodeLanguage":
            return CodeLanguage(self)

    def open(self) -> None:
        known()

    def outcome(self, raw: Raw) -> Draft | Drop:
        if len(raw.body) > self.config.max_bytes:
            return refuse(raw, self.name, "too_large", f"{len(raw.body):,} bytes, limit {self.config.max_bytes:,}")
        text, encoding, fault = decode_source(raw.body)
        if fault:
            return refuse(raw, self.name, fault, f"read as {encoding}" if encoding else "it holds zero bytes")
        if not text.strip():
            return refuse(raw, self.name, "blank", "nothing but spaces")
        language = language_of(raw.address, text)
        reason = self._refused(raw.address, language)
        if reason:
            return refuse(raw, self.name, reason, language or f"nothing tells the language of {name_of(raw.address)}")
        meta = raw.meta(source_sha256=hashlib.sha256(raw.body).hexdigest(), steps=(self.step,))
        meta = msgspec.structs.replace(meta, language=language)
        return Draft(document=Document(segments=(Text(text=text.rstrip() + "\n"),), meta=meta))

    def _refused(self, path: str, language: str) -> str:
        if is_license(path) or is_manifest(path):
            return ""
        if not language:
            return "unknown_language"
        if language in self.config.skip or (self.config.keep and language not in self.config.keep):
            return "other_language"
        if language == "text" and not is_readme(path) and stem_of(path).lower() not in self.config.texts:
            return "plain_text"
        return ""
