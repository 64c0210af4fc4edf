"""C4's line rules (arXiv 1910.10683, section 2.2): lines that are no sentences go, and a page without sentences goes.

Odd: this stage edits text. Numbers are the paper's, at least five words a line and three sentences a page; its released
code, and datatrove after it, use three and five (`min_words: 3`, `c4_sentences` at least 5).
"""

import re
from collections import Counter
from collections.abc import Iterator
from typing import Annotated

import msgspec

from trivium.data.config import digest
from trivium.data.policy import Limit, decide
from trivium.data.records import Segment, Step, Text
from trivium.data.stage import Draft, Item, Outcome, StageConfig

SCORES = ("c4_sentences", "c4_kept_lines", "c4_removed_lines", "c4_curly_brackets", "c4_placeholder")
ENDS = (".", "?", "!", '"', "'", "”", "’", "。", "？", "！", "।", "؟", "۔")
NOTICES = ("terms of use", "privacy policy", "cookie policy", "uses cookies", "use of cookies", "use cookies")
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


class C4Lines:
    """Takes out lines, notes how many went for which reason, and lets the policy decide on what is left."""

    name = "c4_lines"
    version = 1

    class Config(StageConfig, kw_only=True, tag="c4_lines"):
        """`ends`: what a line must end with (none: any); `notices`: phrases in lower case whose lines go."""

        SCORES = SCORES

        ends: tuple[str, ...] = ENDS
        min_words: Annotated[int, msgspec.Meta(ge=0)] = 5
        max_word_length: Annotated[int, msgspec.Meta(ge=1)] = 1000
        javascript: bool = True
        citations: bool = True
        notices: tuple[str, ...] = NOTICES
        policy: tuple[C4Rule, ...] = POLICY

        def __post_init__(self) -> None:
            wrong = [phrase for phrase in self.notices if phrase != phrase.lower() or not phrase.strip()]
            if wrong:
                raise ValueError(f"the notice {wrong[0]!r} is not in lower case; lines are compared in lower case")

        def build(self) -> "C4Lines":
            return C4Lines(self)

    def __init__(self, config: Config) -> None:
        self.config = config
        self.step = Step(name=self.name, version=self.version, parameters=digest(config))

    def open(self) -> None:
        pass

    def close(self) -> None:
        pass

    def process(self, item: Item) -> Iterator[Outcome]:
        if not isinstance(item, Draft):
            raise TypeError("c4_lines takes documents; put an extracting stage before it")
        gone: Counter[str] = Counter()
        kept: list[str] = []
        segments: list[Segment] = []
        for segment in item.document.segments:
            if isinstance(segment, Text):
                lines = list(self._lines(segment.text, gone))
                kept += lines
                segment = msgspec.structs.replace(segment, text="".join(f"{line}\n" for line in lines))
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
        document = msgspec.structs.replace(item.document, segments=tuple(segments))
        step = msgspec.structs.replace(self.step, counts=dict(sorted(gone.items())))
        yield decide(msgspec.structs.replace(item, document=document), scores, self.config.policy, step)

    def _lines(self, text: str, gone: Counter[str]) -> Iterator[str]:
        for whole in text.split("\n"):
            line = whole.strip()
            if not line:
                continue
            reason = self._wrong(line)
            if reason:
                gone[reason] += 1
            else:
                yield _CITATION.sub("", line).strip() if self.config.citations else line

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
