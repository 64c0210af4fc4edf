"""Whether a document was cut off: in the middle of a sentence, or of markup or code.

Odd: a missing full stop says little by itself, since lists, tables and licences end without one. What counts is whether
the document's own paragraphs end with one.
"""

import re

_ENDS = re.compile(r"[.!?…:;。！？][\"'”’»)\]]*\s*\Z")
_WORD = re.compile(r"\w+")
_OPEN_TAG = re.compile(r"<[A-Za-z/!][^<>]{0,400}\Z")
_MARKER = re.compile(
    r"(\[(truncated|cut|snip)[^\]]*\]|\(truncated\)|<truncated>|message clipped|read more|\[\.\.\.\])\W*\Z", re.I
)
_FENCE = re.compile(r"^\s*(```|~~~)", re.MULTILINE)
_ROOT = re.compile(r"<(html|svg|body|table|pre|article|xml|math)\b[^<>]*(?<!/)>", re.I)
_LEAST_WORDS = 8  # of a last line, to be taken for prose


def cut_sentence(text: str) -> float:
    """Share of the paragraphs that end with punctuation, when the last one is prose and doesn't; else 0."""
    paragraphs = [part.strip() for part in re.split(r"\n\s*\n", text) if part.strip()]
    if not paragraphs:
        return 0.0
    last = paragraphs[-1].splitlines()[-1]
    if _MARKER.search(text):
        return 1.0
    if _ENDS.search(last) or len(_WORD.findall(last)) < _LEAST_WORDS:
        return 0.0
    prose = [part for part in paragraphs[:-1] if len(_WORD.findall(part)) >= _LEAST_WORDS]
    if not prose:
        return 0.0
    return sum(bool(_ENDS.search(part)) for part in prose) / len(prose)


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
