"""C4's rule on words that nobody wants, with lists by path: one file, or a folder with a file for each language.

Odd: the published way is one expression of all entries, tried at every character. Here the text's words are a set that
is met with the list's; only entries of several words, all of which occur, are searched for.
"""

import re
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Self

import msgspec

from trivium.data.frames import DocumentStage
from trivium.data.policy import Limit, decide
from trivium.data.stage import Draft, Outcome, StageConfig
from trivium.data.text.lists import entries, list_digest

SCORES = ("bad_words",)
_UNSPACED = frozenset({"ja", "th", "zh"})  # entries count inside words: these languages write no blanks
_WORD = re.compile(r"\w+")


class Lexicon:
    """One list; `found(text)` are the entries that stand in a text, between characters that belong to no word."""

    def __init__(self, listed: Iterable[str], *, spaced: bool) -> None:
        self._spaced = spaced
        lowered = dict.fromkeys(entry.lower() for entry in listed)
        self._single = frozenset(entry for entry in lowered if _WORD.fullmatch(entry))
        self._phrases = {
            entry: (frozenset(_WORD.findall(entry)), re.compile(rf"(?<!\w){re.escape(entry)}(?!\w)"))
            for entry in lowered
            if entry not in self._single
        }
        self._all = tuple(lowered)

    def found(self, text: str) -> list[str]:
        lowered = text.lower()
        if not self._spaced:
            return sorted(entry for entry in self._all if entry in lowered)
        words = frozenset(_WORD.findall(lowered))
        phrases = [
            entry
            for entry, (parts, form) in self._phrases.items()
            if parts <= words and form.search(lowered) is not None
        ]
        return sorted((*(words & self._single), *phrases))


class BadWordsRule(Limit, kw_only=True):
    KNOWN = SCORES


class BadWords(DocumentStage["BadWords.Config"]):
    """Counts how many different entries of the document's language stand in it."""

    name = "bad_words"
    version = 1

    class Config(StageConfig, kw_only=True, tag="bad_words"):
        """`path`: a list, or a folder whose files are named by ISO 639 codes; a language without a file passes."""

        SCORES = SCORES

        path: str
        # limits on how many are found
        policy: tuple[BadWordsRule, ...] = (BadWordsRule(score="bad_words", max=0, reason="bad_words"),)

        def build(self) -> "BadWords":
            return BadWords(self)

        def paths(self) -> dict[tuple[str | int, ...], str]:
            return {("path",): self.path}

        def with_paths(self, paths: Mapping[tuple[str | int, ...], str]) -> Self:
            return msgspec.structs.replace(self, path=paths.get(("path",), self.path))

    def __init__(self, config: Config) -> None:
        super().__init__(config, known=config.with_paths({("path",): list_digest(Path(config.path))}))
        self._lexicons: dict[str, Lexicon | None] = {}

    def open(self) -> None:
        pass

    def close(self) -> None:
        self._lexicons.clear()

    def outcome(self, draft: Draft) -> Outcome:
        lexicon = self._lexicon(draft.document.meta.language or "en")
        found = lexicon.found(draft.document.text) if lexicon else []
        return decide(draft, {"bad_words": float(len(found))}, self.config.policy, self.step)

    def _lexicon(self, language: str) -> Lexicon | None:
        if language not in self._lexicons:
            path = Path(self.config.path)
            file = (
                path
                if path.is_file()
                else next((p for p in sorted(path.glob(f"{language}*")) if _is(p, language)), None)
            )
            spaced = language not in _UNSPACED
            self._lexicons[language] = Lexicon(entries(file), spaced=spaced) if file else None
        return self._lexicons[language]


def _is(file: Path, language: str) -> bool:
    return file.is_file() and file.name in (language, f"{language}.txt")
