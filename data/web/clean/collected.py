"""What the browser and the guarded cleaner say to each other."""

from __future__ import annotations

from typing import Annotated

import msgspec
from msgspec import Meta

from trivium.data.config import Strict

TASK = "trivium.data.web.clean.task:clean"
Count = Annotated[int, Meta(ge=1)]


class Rule(msgspec.Struct, frozen=True, kw_only=True):
    """A style rule that matches: `kind` is rule, nested, block (with `rules`), font, frames, property or statement."""

    kind: str
    head: str
    body: str
    rules: tuple[Rule, ...] = ()


class Collected(msgspec.Struct, frozen=True, kw_only=True):
    """What collect.js gives: the drawn part of a page, addresses whole.

    `classed` elements name classes, `styled` ones carry their style themselves; `unfilled` is a template's word that
    stands where the page should.
    """

    title: str
    quirks: bool
    html: str
    body: dict[str, str]
    root: dict[str, str]
    text: str
    elements: int
    rules: tuple[Rule, ...]
    classed: int = 0
    styled: int = 0
    unfilled: str = ""


class CleanRules(Strict, frozen=True, kw_only=True):
    """What a clean page may hold; sizes in bytes."""

    max_chars: Count = 60_000  # of code; longer pages are refused (too_long)
    max_elements: Count = 3000  # drawn; more are refused (too_many_elements)
    max_depth: Count = 256  # elements in elements; deeper pages are refused (too_deep). Chromium flattens below 512
    min_words: Annotated[int, Meta(ge=0)] = 5  # that can be seen; fewer are refused (no_text)
    max_picture: Count = 120_000  # a larger one is drawn anew, smaller
    max_font: Count = 160_000  # a larger one is left out
    max_files: Count = 1_000_000  # together; more are refused (too_large)


class Request(msgspec.Struct, frozen=True, kw_only=True):
    """`files` are the bundle's, by path; only those that the page names are looked at."""

    page: Collected
    files: dict[str, bytes]
    rules: CleanRules


class Clean(msgspec.Struct, frozen=True, kw_only=True):
    """A page that stands alone with `files`; or the `reason` and `detail` of a refusal. `dropped` counts by what."""

    code: str = ""
    files: dict[str, bytes] = {}
    dropped: dict[str, int] = {}
    reason: str = ""
    detail: str = ""
