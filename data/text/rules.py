"""What is measured about a text: the rules of Gopher, C4 and FineWeb as plain scores. No rule decides anything here.

Each rule is one small function of a `View`; its docstring names the source and the published threshold, which stands in
the recipe's policy. Sources: Gopher, arXiv 2112.11446, table A1; C4, arXiv 1910.10683, section 2.2, and mC4, arXiv
2010.11934, section 3.1; FineWeb, arXiv 2406.17557, section 3.6. docs/corpora/filters.md compares them with datatrove's.
"""

from collections.abc import Callable

from trivium.data.text.repetition import DUPLICATE_NGRAMS, TOP_NGRAMS, shares
from trivium.data.text.stop_words import stop_words_of
from trivium.data.text.view import View

_BULLETS = ("•", "-", "*", "‣", "◦", "–", "·", "●", "▪")
# Unicode's Sentence_Terminal of scripts in use today; closing quotes and brackets may stand behind one.
_TERMINAL = frozenset("!.?։؝؞؟۔।॥၊။።፧፨។៕᠃᠉‼‽⁇⁈⁉。﹒﹖﹗！．？｡")
_CLOSING = "\"'”’»›)]}」』）】 \t\r"
_SHORT_LINE = 30  # characters, FineWeb
_LONG_LINE = 200  # characters, mC4


def words(view: View) -> float:
    """Words that are more than symbols. Gopher: 50 … 100,000."""
    return view.content[0]


def mean_word_length(view: View) -> float:
    """Characters a word, symbols left out. Gopher: 3 … 10."""
    count, characters = view.content
    return characters / count if count else 0.0


def symbols_per_word(view: View) -> float:
    """Hash signs or ellipses a word, whichever are more. Gopher: at most 0.1 for either."""
    hashes = view.text.count("#")
    ellipses = view.text.count("...") + view.text.count("…")
    return max(hashes, ellipses) / len(view.words)


def bullet_lines(view: View) -> float:
    """Share of lines that begin with a bullet. Gopher: at most 0.9."""
    return sum(line.lstrip().startswith(_BULLETS) for line in view.lines) / len(view.lines)


def ellipsis_lines(view: View) -> float:
    """Share of lines that end with an ellipsis. Gopher: at most 0.3."""
    return sum(line.rstrip().endswith(("...", "…")) for line in view.lines) / len(view.lines)


def alphabetic_words(view: View) -> float:
    """Share of words with a letter. Gopher: at least 0.8."""
    return view.with_letters / len(view.words)


def duplicate_lines(view: View) -> float:
    """Share of lines that stood before. Gopher: at most 0.3."""
    return view.repeated_lines[0] / len(view.lines)


def duplicate_line_characters(view: View) -> float:
    """Share of characters in them, line breaks not counted. Gopher: at most 0.2; FineWeb: 0.1."""
    return view.repeated_lines[1] / (len(view.text) - view.text.count("\n"))


def duplicate_paragraphs(view: View) -> float:
    """Share of paragraphs that stood before. Gopher: at most 0.3."""
    return view.repeated_paragraphs[0] / len(view.paragraphs)


def duplicate_paragraph_characters(view: View) -> float:
    """Share of characters in them. Gopher: at most 0.2."""
    return view.repeated_paragraphs[1] / len(view.text)


def punctuated_lines(view: View) -> float:
    """Share of lines that end a sentence. FineWeb: at least 0.12."""
    return sum(line.rstrip(_CLOSING)[-1:] in _TERMINAL for line in view.lines) / len(view.lines)


def short_lines(view: View) -> float:
    """Share of lines of at most 30 characters. FineWeb: at most 0.67."""
    return sum(len(line) <= _SHORT_LINE for line in view.lines) / len(view.lines)


def lines_per_word(view: View) -> float:
    """Line breaks a word, empty lines not counted. FineWeb: at most 0.3."""
    return (len(view.lines) - 1) / len(view.words)


def long_lines(view: View) -> float:
    """How many lines have 200 characters or more. mC4: at least 3."""
    return sum(len(line) >= _LONG_LINE for line in view.lines)


def curly_brackets(view: View) -> float:
    """How many curly brackets. C4: none (which drops every page of code)."""
    return view.text.count("{") + view.text.count("}")


def placeholder(view: View) -> float:
    """1 for a page of filler or one that asks for JavaScript. C4: 0."""
    text = view.text
    # Lower case is costly beyond ASCII, so the rarest letters are looked for first.
    if not any(part in text for part in ("psum", "PSUM", "cript is dis", "CRIPT IS DIS")):
        return 0.0
    lowered = text.lower()
    return float("lorem ipsum" in lowered or "javascript is disabled" in lowered)


def stop_words(view: View, chosen: frozenset[str]) -> int:
    """How many of the language's stop words stand in the text, alone, in lower case or capitalised. Gopher: 2 of 8."""
    table, _ = view.numbered
    return sum(word in table or word.capitalize() in table for word in chosen)


RULES: tuple[Callable[[View], float], ...] = (
    words,
    mean_word_length,
    symbols_per_word,
    bullet_lines,
    ellipsis_lines,
    alphabetic_words,
    duplicate_lines,
    duplicate_line_characters,
    duplicate_paragraphs,
    duplicate_paragraph_characters,
    punctuated_lines,
    short_lines,
    lines_per_word,
    long_lines,
    curly_brackets,
    placeholder,
)
REPETITION = (*(f"top_{n}gram" for n in TOP_NGRAMS), *(f"duplicate_{n}grams" for n in DUPLICATE_NGRAMS))
STOP_WORDS = "stop_words"
SCORES = (*(rule.__name__ for rule in RULES), *REPETITION, STOP_WORDS)


def measure(text: str, language: str = "en") -> dict[str, float]:
    """All scores of one text; counts are counts, everything else is a share between 0 and 1 or a mean.

    Two are absent where they say nothing: `stop_words` of a language without a list, `mean_word_length` where at least
    half of the words are single characters of a script without blanks.
    """
    view = View(text)
    known = stop_words_of(language or "en")
    if not view.words:
        return {name: 0.0 for name in SCORES if name != STOP_WORDS or known is not None}
    scores = {rule.__name__: rule(view) for rule in RULES} | shares(view)
    if known is not None:
        scores[STOP_WORDS] = stop_words(view, known)
    if 2 * view.alone > len(view.words):
        del scores[mean_word_length.__name__]
    return {name: round(float(value), 4) for name, value in scores.items()}
