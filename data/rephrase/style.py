"""Styles: prompts as data, each with an id, a version and its reason, for chat models and for base models.

    styles/<id>.yaml → Style;  styles/frame.yaml → what all of them say

Odd: a template's text is a version's for good. Whoever changes a word of a style or of the frame gives the style a new
version, since records name `textbook@1` and the cache's answers are its; tests hold the digest of every version.
"""

import hashlib
import string
from collections.abc import Sequence
from functools import lru_cache
from pathlib import Path
from typing import Annotated

from msgspec import Meta

from trivium.data.config import Strict, digest, load_yaml, nearest

FOLDER = Path(__file__).with_name("styles")
FRAME = "frame"

# Of ISO 639-1; what a prompt calls them. A language without a name here is called by its code.
NAMES = {
    "ar": "Arabic", "bg": "Bulgarian", "cs": "Czech", "da": "Danish", "de": "German", "el": "Greek", "en": "English",
    "es": "Spanish", "et": "Estonian", "fa": "Persian", "fi": "Finnish", "fr": "French", "he": "Hebrew", "hi": "Hindi",
    "hu": "Hungarian", "id": "Indonesian", "it": "Italian", "ja": "Japanese", "ko": "Korean", "lt": "Lithuanian",
    "lv": "Latvian", "nl": "Dutch", "no": "Norwegian", "pl": "Polish", "pt": "Portuguese", "ro": "Romanian",
    "ru": "Russian", "sk": "Slovak", "sl": "Slovenian", "sr": "Serbian", "sv": "Swedish", "th": "Thai", "tr": "Turkish",
    "uk": "Ukrainian", "vi": "Vietnamese", "zh": "Chinese",
}  # fmt: skip
UNKNOWN = "the language of the source"


class Shot(Strict, kw_only=True):
    """One worked example for a base model; English, true to its source."""

    source: str
    rewrite: str


class Chat(Strict, kw_only=True):
    """What a chat model is told: fields {task} {target}, and of the turns {source} {written} {chunk}."""

    system: str
    only: str
    first: str
    next: str


class Base(Strict, kw_only=True):
    """What a base model goes on from: fields {source} {label} {rewrite}, and {source} {label} {written}."""

    shot: str
    go: str
    stop: tuple[str, ...]


class Frame(Strict, kw_only=True):
    """What all styles say."""

    chat: Chat
    base: Base

    def __post_init__(self) -> None:
        wanted = {
            "chat.system": ({"task", "target"}, self.chat.system),
            "chat.only": ({"chunk"}, self.chat.only),
            "chat.first": ({"source", "chunk"}, self.chat.first),
            "chat.next": ({"source", "written", "chunk"}, self.chat.next),
            "base.shot": ({"source", "label", "rewrite"}, self.base.shot),
            "base.go": ({"source", "label", "written"}, self.base.go),
        }
        for key, (fields, template) in wanted.items():
            found = {name for _, name, _, _ in string.Formatter().parse(template) if name is not None}
            if found != fields:
                raise ValueError(f"{key}: its fields are {sorted(found)}; it needs {sorted(fields)}")


class Style(Strict, kw_only=True):
    """One way to tell a text anew.

    `languages` are those of sources that it takes (none: all); `target` the language that it writes (none: the
    source's). `task` says it to a chat model, `label` stands before the rewrite for a base model, `shots` lead it.
    `growth`: tokens that a rewrite may have for each of its source.
    """

    id: str
    version: Annotated[int, Meta(ge=1)]
    reason: str  # why there is this style
    domains: tuple[str, ...] = ("knowledge",)  # what it suits, for people
    languages: tuple[str, ...] = ()
    target: str = ""
    task: str
    label: str
    shots: tuple[Shot, ...]
    growth: Annotated[float, Meta(ge=0.5, le=8.0)] = 2.0

    @property
    def name(self) -> str:
        """What records and requests call it: `textbook@1`."""
        return f"{self.id}@{self.version}"

    def takes(self, language: str) -> bool:
        """Whether texts of that language (ISO 639-1; "" is unknown) may be rewritten so."""
        if self.target and language == self.target:
            return False  # nothing to translate
        return language in self.languages if self.languages else True

    def writes(self, language: str) -> str:
        """The language of a rewrite of a text in `language`."""
        return self.target or language

    @property
    def digest(self) -> str:
        """Of all that decides the prompt: the style without its reason, and the frame."""
        said = {key: getattr(self, key) for key in ("id", "languages", "target", "task", "label", "shots", "growth")}
        return digest([said, load_frame()])


@lru_cache(maxsize=1)
def load_frame() -> Frame:
    return load_yaml(FOLDER / f"{FRAME}.yaml", Frame)


def known() -> tuple[str, ...]:
    """The ids of the styles that come with Trivium."""
    return tuple(sorted(path.stem for path in FOLDER.glob("*.yaml") if path.stem != FRAME))


@lru_cache(maxsize=64)
def load_style(name: str) -> Style:
    """A style by its id. Raises ValueError when there is none."""
    if name not in known():
        raise ValueError(f"no style {name!r}{nearest(name, known())}")
    return load_yaml(FOLDER / f"{name}.yaml", Style)


def chosen(styles: Sequence[Style], excerpt: str, language: str, most: int, seed: int) -> list[Style]:
    """At most `most` of the styles for an excerpt (its source_id), those with the lowest hash first.

    A pure function of seed, excerpt and ids: a style's new version, or its place in the recipe, changes no choice.
    """
    fitting = [style for style in styles if style.takes(language)]
    fitting.sort(key=lambda style: hashlib.sha256(f"{seed} {style.id} {excerpt}".encode()).digest())
    return fitting[:most]


def language_name(code: str) -> str:
    return NAMES.get(code, code) if code else UNKNOWN
