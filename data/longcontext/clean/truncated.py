"""Whether a document was cut off: in the middle of a sentence, or of markup or code.

Odd: a missing full stop says little by itself, since lists, tables and licences end without one. What counts is whether
the document's own paragraphs end with one.
"""

import re

_ENDS = re.compile(r"[.!?…:;。！？][\"'”’»)\]]*\s*\Z")
_PLAIN = re.compile(r"[\"'“‘(]*[^\W\d_]+(?:['’-][^\W\d_]+)*[.,;:!?\"'”’)]*")  # a word of prose
_OPEN_TAG = re.compile(r"<[A-Za-z/!][^<>]{0,400}\Z")
_MARKER = re.compile(
    r"(\[(truncated|cut|snip)[^\]]*\]|\(truncated\)|<truncated>|message clipped|read more|\[\.\.\.\])\W*\Z", re.I
)
_FENCE = re.compile(r"^\s*```[\w+-]*\s*$", re.MULTILINE)
_ROOT = re.compile(r"<(html|svg|body|table|pre|article|xml|math)\b[^<>]*(?<!/)>", re.I)
_WRAPPED = 120  # characters; longer lines were not broken to a page's width
_LEAST_WORDS, _PLAIN_SHARE = 8, 0.7  # of a text that is taken for prose


def cut_sentence(text: str) -> float:
    """Share of the paragraphs that end with punctuation, when the last one is prose and doesn't; else 0.

    Where lines are longer than any page is wide, each line is a paragraph.
    """
    lines = [line for line in text.splitlines() if line.strip()]
    unwrapped = sum(len(line) for line in lines if len(line) > _WRAPPED) > sum(map(len, lines)) / 2
    paragraphs = lines if unwrapped else [part.strip() for part in re.split(r"\n\s*\n", text) if part.strip()]
    if not paragraphs:
        return 0.0
    last = paragraphs[-1].splitlines()[-1]
    if _MARKER.search(text):
        return 1.0
    if _ENDS.search(last) or not _is_prose(last):
        return 0.0
    prose = [part for part in paragraphs[:-1] if _is_prose(part)]
    if not prose:
        return 0.0
    return sum(bool(_ENDS.search(part)) for part in prose) / len(prose)


def _is_prose(text: str) -> bool:
    words = text.split()
    plain = sum(bool(_PLAIN.fullmatch(word)) for word in words)
    return len(words) >= _LEAST_WORDS and plain >= _PLAIN_SHARE * len(words)


def cut_markup(text: str) -> float:
    """1 when a tag, a fence or a root element is open at the end, or a character is half there; else 0."""
    end = text.rstrip()
    if not end:
        return 0.0
    if end.endswith("\ufffd") or _OPEN_TAG.search(end[-420:]) or len(_FENCE.findall(text)) % 2:
        return 1.0
    lowered = text.lower()
    for name in {match[1].lower() for match in _ROOT.finditer(text)}:
        opened = len(re.findall(rf"<{name}\b[^<>]*(?<!/)>", lowered))
        if opened > lowered.count(f"</{name}>") and lowered.count(f"</{name}>") * 2 >= opened - 1:
            return 1.0
    return 0.0
