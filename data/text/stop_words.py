"""Stop words by language, for Gopher's rule that prose holds some of them.

English has Gopher's eight. The others follow FineWeb-2's method (arXiv 2506.20920): the most frequent words of the
language, those above 0.8 % of all words and at least eight; frequencies are wordfreq's.
"""

from functools import cache
from importlib import resources

import yaml


def stop_words_of(language: str) -> frozenset[str] | None:
    """The language's list by its ISO 639 code, or None when there is none."""
    return _lists().get(language)


@cache
def _lists() -> dict[str, frozenset[str]]:
    raw = yaml.safe_load(resources.files(__package__).joinpath("stop_words.yaml").read_text(encoding="utf-8"))
    return {language: frozenset(words.split()) for language, words in raw.items()}
