"""C4's line rules (arXiv 1910.10683, section 2.2): lines that are no sentences go, and a page without sentences goes.

Odd: this stage edits text, and a line of a web page is a whole paragraph. Where files keep the lines that their
authors wrapped (plain text, Markdown), nearly every line ends amid a sentence; `wrapped` judges paragraphs there.

Numbers are the paper's, at least five words a line and three sentences a page; its released
code, and datatrove after it, use three and five (`min_words: 3`, `c4_sentences` at least 5).
"""

import re
from collections import Counter
from collections.abc import Iterator
from typing import Annotated

import msgspec
from msgspec import UNSET, UnsetType

from trivium.data.frames import DocumentStage
from trivium.data.policy import Limit, decide
from trivium.data.records import Segment, Text
from trivium.data.stage import Draft, Outcome, StageConfig

SCORES = ("c4_sentences", "c4_kept_lines", "c4_removed_lines", "c4_curly_brackets", "c4_placeholder")
ENDS = (".", "?", "!", '"', "'", "”", "’", "。", "？", "！", "।", "؟", "۔")
NOTICES = ("terms of use", "privacy policy", "cookie policy", "uses cookies", "use of cookies", "use cookies")
_ALONE = re.compile(r"#{1,6}\s.*|\|.*|([^\w\s])\1{2,}")  # a heading, a row of a table, a rule or an underline
_ITEM = re.compile(r"(?:[-*+•]|\d{1,3}[.)])\s")
_CITATION = re.compile(r"\[\d*\]|\[edit\]|\[citation needed\]")
_SENTENCE = re.compile(r"""[.!?…]+["'”’)\]]*(?=\s|\Z)|[。！？।؟۔]|(?<=[^\s.!?…])["'”’](?=\Z)""")


class C4Rule(Limit, kw_only=True):
    """A limit on one of the scores, which count in what is left of the page."""

    KNOWN = SCORES


POLICY = (
    C4Rule(score="c4_placeholder", max=0, reason="placeholder"),
    C4Rule(score="c4_curly_brackets", max=0, reason="curly_brackets"),
    C4Rule(score="c4_sentences", min=3, reason="too_few_sentences"),
)


class C4Lines(DocumentStage["C4Lines.Config"]):
    """Takes out lines, notes how many went for which reason, and lets the policy decide on what is left."""

    name = "c4_lines"
    version = 1

    class Config(StageConfig, kw_only=True, tag="c4_lines"):
        """`ends`: what a line must end with (none: any); `notices`: phrases in lower case whose lines go.

        `wrapped: true` judges, counts and keeps paragraphs instead of lines, for files with wrapped lines; left out, a
        line is a line, as C4 has it for web pages.
        """

        SCORES = SCORES

        ends: tuple[str, ...] = ENDS
        min_words: Annotated[int, msgspec.Meta(ge=0)] = 5  # of a line
        max_word_length: Annotated[int, msgspec.Meta(ge=1)] = 1000  # characters
        javascript: bool = True  # whether lines that speak of JavaScript go
        citations: bool = True  # whether [1] and [edit] are taken out
        notices: tuple[str, ...] = NOTICES
        policy: tuple[C4Rule, ...] = POLICY  # limits on what is left
        wrapped: bool | UnsetType = UNSET

        def __post_init__(self) -> None:
            if self.wrapped is False:  # the same as left out, so that digests of recipes without it stay
                msgspec.structs.force_setattr(self, "wrapped", UNSET)
            wrong = [phrase for phrase in self.notices if phrase != phrase.lower() or not phrase.strip()]
            if wrong:
                raise ValueError(f"the notice {wrong[0]!r} is not in lower case; lines are compared in lower case")

        def build(self) -> "C4Lines":
            return C4Lines(self)

    def outcome(self, draft: Draft) -> Outcome:
        gone: Counter[str] = Counter()
        between = "\n\n" if self.config.wrapped is True else "\n"
        kept: list[str] = []
        segments: list[Segment] = []
        for segment in draft.document.segments:
            if isinstance(segment, Text):
                lines = list(self._lines(segment.text, gone))
                kept += lines
                segment = msgspec.structs.replace(segment, text=between.join(lines) + "\n" * bool(lines))
            if not isinstance(segment, Text) or segment.text:
                segments.append(segment)
        text = "\n".join(kept)
        scores = {
            "c4_sentences": float(sum(len(_SENTENCE.findall(line)) for line in kept)),
            "c4_kept_lines": float(len(kept)),
            "c4_removed_lines": float(gone.total()),
            "c4_curly_brackets": float(text.count("{") + text.count("}")),
            "c4_placeholder": float("lorem ipsum" in text.lower()),
        }
        document = msgspec.structs.replace(draft.document, segments=tuple(segments))
        step = msgspec.structs.replace(self.step, counts=dict(sorted(gone.items())))
        return decide(msgspec.structs.replace(draft, document=document), scores, self.config.policy, step)

    def _lines(self, text: str, gone: Counter[str]) -> Iterator[str]:
        units = paragraphs(text) if self.config.wrapped is True else ([line.strip()] for line in text.split("\n"))
        for lines in units:
            line = " ".join(lines)
            if not line:
                continue
            reason = self._wrong(line)
            if reason:
                gone[reason] += 1
            else:
                yield "\n".join(_CITATION.sub("", one).strip() if self.config.citations else one for one in lines)

    def _wrong(self, line: str) -> str:
        """Why the line goes, or nothing."""
        config = self.config
        bare = _CITATION.sub("", line).rstrip() if config.citations and line.endswith("]") else line
        if config.ends and (not bare.endswith(config.ends) or bare.endswith(("...", "…"))):
            return "no_sentence_end"
        words = line.split()
        if len(words) < config.min_words:
            return "few_words"
        if len(line) > config.max_word_length and any(len(word) > config.max_word_length for word in words):
            return "long_word"
        lowered = line.lower()
        if config.javascript and "javascript" in lowered:
            return "javascript"
        if any(phrase in lowered for phrase in config.notices):
            return "notice"
        return ""


def paragraphs(text: str) -> Iterator[list[str]]:
    """The lines of each paragraph or list item, stripped; headings, rules, table rows and fenced code line by line."""
    held: list[str] = []
    fence = ""
    for whole in text.split("\n"):
        line = whole.strip()
        mark = line[:3] if line.startswith(("```", "~~~")) else ""
        alone = bool(fence or mark or _ALONE.fullmatch(line))
        if mark:
            fence = "" if fence == mark else fence or mark
        if held and (not line or alone or _ITEM.match(line)):
            yield held
            held = []
        if alone:
            yield [line]
        elif line:
            held.append(line)
    if held:
        yield held
