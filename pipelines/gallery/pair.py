"""A record of code and what it draws, as the page shows it: each code beside its pictures, coloured, with boxes.

Odd: code is foreign text. It is cut into runs with one letter for their kind, which the page writes as text; no markup
is made here.
"""

import difflib
import re
from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import Any

from trivium.data.records import Document, Image, Text, Video

THUMBNAIL, DRAWN, PAGE = 256, 560, 800  # pixels a side of a picture, at most; of a web page, whose words are small
LINES = 400  # of one code
BOXES = 40  # of one picture
LABEL = 120  # characters of a box's words
WORDS = 500  # of what is asked and said around code
TASKS = "pair_tasks"  # the stage that makes documents of drawn items

Runs = list[tuple[str, str]]  # (kind, text): k word of the language, n number, s string, c comment, t name, a attribute

_LEXERS = {
    "svg": "xml",
    "page": "html",
    "game": "html",
    "build123d": "python",
    "povray": "pov",
    "openscad": "openscad",
}
_KINDS = (
    ("Token.Comment", "c"),
    ("Token.Literal.String", "s"),
    ("Token.Literal.Number", "n"),
    ("Token.Keyword", "k"),
    ("Token.Name.Attribute", "a"),
    ("Token.Name.Tag", "t"),
    ("Token.Name.Builtin", "t"),
    ("Token.Name.Function", "t"),
    ("Token.Name.Class", "t"),
)
_BOX = re.compile(r"\[(\d+), (\d+), (\d+), (\d+)\]")
_POINT = re.compile(r"\((\d+), (\d+)\)")


def pair(document: Document, shown: Sequence[Mapping[str, Any]]) -> dict[str, Any] | None:
    """What a drawn record's card and view need beside its `shown` segments; None for other records.

    `groups`: each code (`code` is a segment's number, or None where the record does not hold it) with the numbers of
    the segments that it draws; `codes`: coloured lines by segment; `boxes`: places over pictures, by question.
    """
    meta = document.meta
    if not meta.drawn:
        return None
    places = {segment.media: at for at, segment in enumerate(document.segments) if not isinstance(segment, Text)}
    groups: dict[int, list[int]] = {}
    for drawn in meta.drawn:
        at = places.get(drawn.media, len(shown))
        if at < len(shown):
            groups.setdefault(drawn.code if drawn.code < len(shown) else -1, []).append(at)
    codes = [at for at in groups if at >= 0 and "text" in shown[at]]
    language = _LEXERS.get(meta.drawn[0].engine, "")
    before = shown[codes[0]]["text"] if len(codes) > 1 else None
    return {
        "engine": meta.drawn[0].engine[:LABEL],
        "shows": meta.declared.get("shows", "")[:LABEL],
        "groups": [{"code": at if at in codes else None, "media": media} for at, media in groups.items()],
        "codes": {
            str(at): coloured(shown[at]["text"], language, before, last=shown[codes[-1]]["text"], first=at == codes[0])
            for at in codes
        },
        "boxes": boxes(document),
        "words": words(document, {drawn.code for drawn in meta.drawn}) if len(codes) > 1 else [],
    }


def task(document: Document) -> str:
    """What a document of a drawn item teaches; "" for all others."""
    meta = document.meta
    if all(step.name != TASKS for step in meta.lineage.steps):
        return ""
    return meta.address.rpartition("#")[2].partition("-")[0][:LABEL]


def words(document: Document, codes: set[int]) -> list[tuple[str, bool]]:
    """What is asked and answered around code, without its fences: (text, whether it is learnt), WORDS characters of it.

    A stretch that leads to a picture says so, since the pictures stand elsewhere on the page.
    """
    said: list[tuple[str, bool]] = []
    left = WORDS
    for at, segment in enumerate(document.segments):
        if not isinstance(segment, Text) or at in codes:
            continue
        lines = [line.strip() for line in segment.text.split("\n")]
        text = " ".join(line for line in lines if line and not line.startswith("```"))[:left]
        left -= len(text)
        shows = at + 1 < len(document.segments) and not isinstance(document.segments[at + 1], Text)
        if text:
            said.append((f"{text} (a picture)" if shows and text.endswith(":") else text, segment.loss))
    return said


def coloured(text: str, language: str, before: str | None, *, last: str, first: bool) -> list[tuple[str, Runs]]:
    """(mark, runs) of each line. `before`: the record's first code, when it holds several; a line of it that the last
    one lacks is marked `-`, a line of another that it lacks `+`.
    """
    lines = [_merged(line) for line in _lines(text, language)][:LINES]
    marks = [""] * len(lines)
    if before is not None:
        one, other, mark = (text, last, "-") if first else (text, before, "+")
        unlike = difflib.SequenceMatcher(a=one.split("\n")[:LINES], b=other.split("\n")[:LINES], autojunk=False)
        for kind, start, stop, _, _ in unlike.get_opcodes():
            if kind != "equal":
                marks[start:stop] = [mark] * (stop - start)
    return list(zip(marks, lines, strict=False))


def _lines(text: str, language: str) -> list[Runs]:
    """Runs of each line; plain where nothing knows the language or pygments is absent."""
    try:
        from pygments.lexers import get_lexer_by_name
    except ImportError:
        return [[("", line)] for line in text.split("\n")]
    if not language:
        return [[("", line)] for line in text.split("\n")]
    lexer = get_lexer_by_name(language, stripnl=False, ensurenl=False)
    found: list[Runs] = [[]]
    for token, value in lexer.get_tokens(text):
        name = str(token)
        kind = next((letter for prefix, letter in _KINDS if name.startswith(prefix)), "")
        for number, part in enumerate(value.split("\n")):
            if number:
                found.append([])
            if part:
                found[-1].append((kind, part))
    return found


def _merged(runs: Runs) -> Runs:
    found: Runs = []
    for kind, text in runs:
        if found and found[-1][0] == kind:
            found[-1] = (kind, found[-1][1] + text)
        else:
            found.append((kind, text))
    return found


def boxes(document: Document) -> list[dict[str, Any]]:
    """What a document of coordinates says of places, one entry a question: what is asked and answered, its label, the
    picture's segment, and boxes of left, top, width and height as shares of the picture (a point has no size).

    Read off the questions and answers themselves, so that a wrong one is seen.
    """
    if not document.meta.address.endswith("#coordinates"):
        return []
    at, picture = next(((n, s) for n, s in enumerate(document.segments) if not isinstance(s, Text)), (0, None))
    texts = [segment for segment in document.segments if isinstance(segment, Text)]
    if picture is None or not texts:
        return []
    absolute = f"{picture.width} × {picture.height}" in texts[0].text
    width, height = (picture.width, picture.height) if absolute else (1000, 1000)
    found: list[dict[str, Any]] = []
    left = BOXES
    for asked, answered in pairwise(texts):
        if asked.loss or not answered.loss:
            continue
        question, answer = _question(asked.text), answered.text.strip()
        label = answer if _BOX.search(question) else question
        places = [(*map(int, numbers),) for numbers in _BOX.findall(question) or _BOX.findall(answer)]
        places += [(int(x), int(y), int(x), int(y)) for x, y in _POINT.findall(answer)]
        sizes = [(x / width, y / height, (right - x) / width, (low - y) / height) for x, y, right, low in places[:left]]
        left -= len(sizes)
        if sizes:
            shares = [[round(size, 4) for size in one] for one in sizes]
            told = {"label": label[:LABEL], "asked": question[:LABEL], "answer": answer[:LABEL]}
            found.append({"media": at, **told, "boxes": shares})
    return found


def _question(text: str) -> str:
    """The last question of a stretch of words, without what stands around it."""
    lines = [line for line in text.split("\n") if line.strip()]
    if lines and lines[-1].rstrip().endswith(":") and len(lines) > 1:
        lines.pop()  # Answer:
    return re.sub(r"^(Question|Q): ", "", lines[-1]) if lines else ""


def sides(segment: Image | Video, engine: str) -> tuple[int, int]:
    """(pixels a side at most, frames) of a picture or clip on the page: larger where an `engine` drew it."""
    if isinstance(segment, Video):
        return (288, 12) if engine else (160, 8)
    return (PAGE if engine == "page" else DRAWN if engine else THUMBNAIL), 0
