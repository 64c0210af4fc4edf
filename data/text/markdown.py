"""Markdown files as documents: kept as Markdown, without front matter (which becomes metadata) and comments."""

import re
import tomllib
from typing import Annotated, Any

import yaml
from msgspec import Meta

from trivium.data.stage import Content, Draft, Drop, Raw, StageConfig, refuse
from trivium.data.text.extractor import Extractor
from trivium.data.text.plain import decoded, document, tidy

_YAML = re.compile(r"\A---[ \t]*\n(.*?)^(?:---|\.\.\.)[ \t]*\n", re.DOTALL | re.MULTILINE)
_TOML = re.compile(r"\A\+\+\+[ \t]*\n(.*?)^\+\+\+[ \t]*\n", re.DOTALL | re.MULTILINE)
_MAX_FRONT = 1 << 16  # characters
_MERGE = re.compile(r"^\s*<<\s*:", re.MULTILINE)  # merged keys can grow beyond all bounds
_HEADING = re.compile(r"^#[ \t]+(\S.*)$|^(\S.*)\n=+$", re.MULTILINE)
_FENCE = re.compile(r"^ {0,3}(`{3,}|~{3,})", re.MULTILINE)


class ExtractMarkdown(Extractor["ExtractMarkdown.Config"]):
    """Raw Markdown → a document of one text segment of Markdown; title, language and licence of its front matter."""

    name = "extract_markdown"
    version = 1
    takes = "raw Markdown"

    class Config(StageConfig, kw_only=True, tag="extract_markdown"):
        TAKES = frozenset({Content.MARKDOWN})
        GIVES = Content.TEXT

        max_bytes: Annotated[int, Meta(ge=1)] = 4 << 20  # of one item

        def build(self) -> "ExtractMarkdown":
            return ExtractMarkdown(self)

    def extract(self, raw: Raw) -> Draft | Drop:
        text = decoded(raw, self.name, "not_text")
        if isinstance(text, Drop):
            return text
        front, body = front_matter(tidy(text, trailing=True) + "\n")
        body = tidy(without_comments(body), trailing=True)
        if not body.strip():
            return refuse(raw, self.name, "no_text", "nothing but front matter and comments")
        heading = _HEADING.search(body)
        found = (heading[1] or heading[2]).strip(" \t#") if heading else ""
        title = _word(front, "title") or raw.title or found
        return document(
            raw,
            body,
            self.step,
            title=title,
            language=_word(front, "lang") or _word(front, "language"),
            license=_word(front, "license") or _word(front, "licence"),
        )


def front_matter(text: str) -> tuple[dict[str, Any], str]:
    """(YAML or TOML before the text, the text); what is no mapping stays in the text."""
    for pattern, parse in ((_YAML, yaml.safe_load), (_TOML, tomllib.loads)):
        match = pattern.match(text)
        if match and len(match[1]) <= _MAX_FRONT and not _MERGE.search(match[1]):
            try:
                front = parse(match[1])
            except (yaml.YAMLError, tomllib.TOMLDecodeError, RecursionError, ValueError):
                continue
            if isinstance(front, dict):
                return front, text[match.end() :]
    return {}, text


def without_comments(text: str) -> str:
    """Markdown without HTML comments, those inside fenced code kept."""
    kept, at = [], 0
    while fence := _FENCE.search(text, at):
        mark = rf"^ {{0,3}}{fence[1][0]}{{{len(fence[1])},}}[ \t]*$"
        close = re.compile(mark, re.MULTILINE).search(text, fence.end())
        end = close.end() if close else len(text)
        kept += [_uncommented(text[at : fence.start()]), text[fence.start() : end]]
        at = end
    return "".join([*kept, _uncommented(text[at:])])


def _uncommented(text: str) -> str:
    kept, at = [], 0
    while (start := text.find("<!--", at)) >= 0 and (end := text.find("-->", start)) >= 0:
        kept.append(text[at:start])
        at = end + 3
    return "".join([*kept, text[at:]])


def _word(front: dict[str, Any], key: str) -> str:
    """A front matter's value when it is a short text."""
    value = front.get(key)
    return value.strip() if isinstance(value, str) and len(value) <= 300 else ""
