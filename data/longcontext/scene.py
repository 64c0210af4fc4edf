"""A finished row read back: its documents, edits, notes, questions and answers, from the segments alone.

Odd: this knows the frames of the wording and nothing of how rows are made. Whatever a row claims is found here again
or it is not in the row.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field

from trivium.data.longcontext.pages import PICTURE_MARK
from trivium.data.longcontext.wording import Frame, Wording, line_start, pattern
from trivium.data.records import Document, Text


class UnreadableError(ValueError):
    """A document that is no row of this wording, or one that two readings fit."""


@dataclass(frozen=True, slots=True)
class Shown:
    """One document of a row: the fields of its heading (`size` in bytes), its text, its pictures."""

    number: int
    title: str
    licence: str
    size: int
    text: str
    pictures: tuple[bytes, ...]


@dataclass(frozen=True, slots=True)
class Edit:
    step: int
    document: int
    text: str


@dataclass(frozen=True, slots=True)
class Asked:
    """`answer` is what stands between this question's mark and the next question."""

    number: int
    text: str
    answer: str
    picture: bytes | None


@dataclass
class Scene:
    """`statements` is the text before the questions: everything in which something may have been planted."""

    statements: str
    documents: dict[int, Shown] = field(default_factory=dict)
    edits: list[Edit] = field(default_factory=list)
    asked: list[Asked] = field(default_factory=list)


def read_scene(document: Document, media: Mapping[str, bytes], wording: Wording) -> Scene:
    """Raises UnreadableError."""
    text = "".join(s.text if isinstance(s, Text) else PICTURE_MARK for s in document.segments)
    pictures = [media[s.media] for s in document.segments if not isinstance(s, Text)]
    if text.count(PICTURE_MARK) != len(pictures):
        raise UnreadableError("a text holds the mark of a picture")
    fitting = [frame for frame in wording.frames if len(_starts(frame.questions, text)) == 1]
    fitting = [frame for frame in fitting if _starts(frame.document, text)]
    if len(fitting) != 1:
        raise UnreadableError(f"{len(fitting)} frames of the wording fit, one must")
    frame = fitting[0]
    cut = _starts(frame.questions, text)[0]
    scene = Scene(text[:cut])
    _read_parts(scene, frame, pictures)
    _read_questions(scene, frame, text[cut:], pictures[text.count(PICTURE_MARK, 0, cut) :])
    return scene


def _starts(template: str, text: str) -> list[int]:
    return [match.start() for match in line_start(template).finditer(text)]


def _read_parts(scene: Scene, frame: Frame, pictures: list[bytes]) -> None:
    text = scene.statements
    marks = sorted(
        (start, kind) for kind in ("document", "edit", "note") for start in _starts(getattr(frame, kind), text)
    )
    ends = [start for start, _ in marks[1:]] + [len(text)]
    for (start, kind), end in zip(marks, ends, strict=True):
        if kind == "note":
            continue
        template = getattr(frame, kind).lstrip("\n")
        match = pattern(template).match(text, start, end)
        if match is None:
            raise UnreadableError(f"the {kind} at character {start} has a broken heading")
        body = text[match.end() : end].rstrip("\n")
        if kind == "edit":
            scene.edits.append(Edit(int(match["step"]), int(match["number"]), body))
            continue
        number = int(match["number"])
        if number != len(scene.documents) + 1:
            raise UnreadableError(f"document {number} comes after {len(scene.documents)}")
        first = text.count(PICTURE_MARK, 0, match.end())
        shown = tuple(pictures[first : first + body.count(PICTURE_MARK)])
        scene.documents[number] = Shown(number, match["title"], match["licence"], int(match["bytes"]), body, shown)


def _read_questions(scene: Scene, frame: Frame, text: str, pictures: list[bytes]) -> None:
    begin, _, end = frame.question.lstrip("\n").partition("{text}")
    at = used = 0
    while True:
        number = len(scene.asked) + 1
        here = re.compile("^" + re.escape(begin.format(number=number)), re.MULTILINE).search(text, at)
        if here is None:
            return
        mark = end + frame.answer.format(number=number)
        answer_at = text.find(mark, here.end())
        if answer_at < 0:
            raise UnreadableError(f"question {number} has no answer")
        following = re.compile("^" + re.escape(begin.format(number=number + 1)), re.MULTILINE)
        after = following.search(text, answer_at)
        stop = after.start() if after else len(text)
        before = text.count(PICTURE_MARK, at, here.start())
        used += before
        answer = text[answer_at + len(mark) : stop].rstrip("\n" + PICTURE_MARK)
        picture = pictures[used - 1] if before else None
        scene.asked.append(Asked(number, text[here.end() : answer_at], answer, picture))
        at = answer_at + len(mark)
