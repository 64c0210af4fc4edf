"""Answers the questions of a finished row by reading it; knows nothing of how the row was made.

Each solver finds what its question names and insists that it is found once: two facts of one name, two documents that
fit, a register that is set twice are an `AmbiguousError`, even where the answers would agree.
"""

import re
from collections.abc import Callable, Iterable, Mapping
from typing import TypeVar

from trivium.data.longcontext.drawings import Drawing, read_code, read_picture
from trivium.data.longcontext.line_edits import apply
from trivium.data.longcontext.scene import Asked, Scene, Shown, read_scene
from trivium.data.longcontext.wording import Wording, pattern
from trivium.data.records import Document

T = TypeVar("T")
Match = re.Match[str]


class AmbiguousError(ValueError):
    """A question with no answer in the row, or with more than one."""


def answers(document: Document, media: Mapping[str, bytes], wording: Wording) -> list[tuple[Asked, str]]:
    """Each question with the answer that reading gives. Raises UnreadableError or AmbiguousError."""
    scene = read_scene(document, media, wording)
    return [(asked, solve(scene, asked, wording)) for asked in scene.asked]


def solve(scene: Scene, asked: Asked, wording: Wording) -> str:
    """Raises AmbiguousError when no kind of question, or more than one, has these words."""
    found = [
        (kind, match)
        for kind, templates in wording.questions.items()
        for template in templates
        if (match := pattern(template).fullmatch(asked.text)) is not None
    ]
    kind, match = one(found, f"ways to read question {asked.number}")
    return _SOLVERS[kind](scene, match, asked, wording)


def one(items: Iterable[T], what: str) -> T:
    found = list(items)
    if len(found) != 1:
        raise AmbiguousError(f"{len(found)} {what}, one wanted")
    return found[0]


def _said(scene: Scene, templates: tuple[str, ...], wording: Wording) -> list[Match]:
    """All statements of these templates, in the order of the row."""
    found = [match for template in templates for match in pattern(template).finditer(scene.statements)]
    return sorted(found, key=lambda match: match.start())


def _needle(scene: Scene, match: Match, asked: Asked, wording: Wording) -> str:
    wanted = (match["attribute"], match["entity"])
    facts = _said(scene, wording.statements["facts"], wording)
    return one((f["value"] for f in facts if (f["attribute"], f["entity"]) == wanted), f"facts about {wanted}")


def _needles(scene: Scene, match: Match, asked: Asked, wording: Wording) -> str:
    events = _said(scene, wording.statements["events"], wording)
    found = [event["value"] for event in events if event["entity"] == match["entity"]]
    if not found or len(set(found)) != len(found):
        raise AmbiguousError(f"{len(found)} parcels of {match['entity']}, each once wanted")
    return ", ".join(found)


def _chain(scene: Scene, match: Match, asked: Asked, wording: Wording) -> str:
    roots = _said(scene, wording.statements["roots"], wording)
    links = _said(scene, wording.statements["links"], wording)
    register = match["register"]
    for _ in range(len(links) + 1):
        values = [root["value"] for root in roots if root["register"] == register]
        sources = [link["source"] for link in links if link["register"] == register]
        if values and not sources:
            return one(values, f"numbers in {register}")
        if values:
            raise AmbiguousError(f"{register} has a number and a source")
        register = one(sources, f"sources of {register}")
    raise AmbiguousError(f"the registers of {match['register']} go in a circle")


def _edits(scene: Scene, match: Match, asked: Asked, wording: Wording) -> str:
    number = int(match["number"])
    edits = [edit for edit in scene.edits if edit.document == number]
    if [edit.step for edit in edits] != list(range(1, int(match["count"]) + 1)):
        raise AmbiguousError(f"the edits of document {number} are {[edit.step for edit in edits]}")
    text = _document(scene, number).text
    for edit in edits:
        try:
            text = apply(text, edit.text, wording.edits)
        except ValueError as error:
            raise AmbiguousError(f"edit {edit.step} of document {number}: {error}") from None
    return text


def _document(scene: Scene, number: int) -> Shown:
    if number not in scene.documents:
        raise AmbiguousError(f"no document {number}")
    return scene.documents[number]


def drawing_of(shown: Shown) -> Drawing | None:
    """What a document draws, from its picture, else from its code; both must agree where both are shown."""
    seen = read_picture(shown.pictures[0]) if len(shown.pictures) == 1 else None
    code = shown.text[shown.text.find("<svg") :] if "<svg" in shown.text else ""
    told = read_code(code) if code else None
    if seen is not None and told is not None and not seen.like(told):
        raise AmbiguousError(f"document {shown.number}: its picture and its code differ")
    return told if code else seen


def _hits(scene: Scene, match: Match, *also: tuple[str, str]) -> list[int]:
    """Documents of the title that show the shape asked for, and the others too."""
    hits = []
    for shown in scene.documents.values():
        if shown.title != match["title"]:
            continue
        drawing = drawing_of(shown)
        if drawing is None or any(edit.document == shown.number for edit in scene.edits):
            raise AmbiguousError(f"document {shown.number} is no simple drawing, or is edited")
        if all(drawing.holds(*thing) for thing in ((match["color"], match["shape"]), *also)):
            hits.append(shown.number)
    return hits


def _find(scene: Scene, match: Match, asked: Asked, wording: Wording) -> str:
    return _numbers(_hits(scene, match))


def _find_two(scene: Scene, match: Match, asked: Asked, wording: Wording) -> str:
    return _numbers(_hits(scene, match, (match["other_color"], match["other_shape"])))


def _count(scene: Scene, match: Match, asked: Asked, wording: Wording) -> str:
    return str(len(_hits(scene, match)))


def _count_licence(scene: Scene, match: Match, asked: Asked, wording: Wording) -> str:
    return str(sum(shown.licence == match["licence"] for shown in scene.documents.values()))


def _order(scene: Scene, match: Match, asked: Asked, wording: Wording) -> str:
    titles = match["text"].split("\n")
    places = {
        title: one((s.number for s in scene.documents.values() if s.title == title), f"documents titled {title!r}")
        for title in titles
    }
    return "\n".join(sorted(titles, key=lambda title: places[title]))


def _most(scene: Scene, match: Match, asked: Asked, wording: Wording) -> str:
    return _extreme(scene, match, largest=True)


def _least(scene: Scene, match: Match, asked: Asked, wording: Wording) -> str:
    return _extreme(scene, match, largest=False)


def _extreme(scene: Scene, match: Match, *, largest: bool) -> str:
    sizes = {number: _document(scene, number).size for number in map(int, match["numbers"].split(", "))}
    best = max(sizes.values()) if largest else min(sizes.values())
    return str(one((number for number, size in sizes.items() if size == best), "documents of that size"))


def _quote(scene: Scene, match: Match, asked: Asked, wording: Wording) -> str:
    sentence = match["sentence"]
    if scene.statements.count(sentence) != 1:
        raise AmbiguousError(f"{scene.statements.count(sentence)} places say {sentence[:60]!r}")
    shown = one((s for s in scene.documents.values() if sentence in s.text), "documents that say it")
    rest = shown.text[shown.text.index(sentence) + len(sentence) :].split("\n", 1)[0].lstrip(" ")
    end = re.search(r"[.!?](?= +[A-Z]|$)", rest)
    if end is None:
        raise AmbiguousError("no sentence follows")
    return f"{shown.number}: {rest[: end.end()]}"


def _copy(scene: Scene, match: Match, asked: Asked, wording: Wording) -> str:
    shown = _document(scene, int(match["number"]))
    begin = match["sentence"]
    if shown.text.count(begin) != 1:
        raise AmbiguousError(f"{shown.text.count(begin)} places in document {shown.number} begin like that")
    return one((line for line in shown.text.split("\n") if line.startswith(begin)), "paragraphs")


def _code_of_picture(scene: Scene, match: Match, asked: Asked, wording: Wording) -> str:
    drawing = read_picture(asked.picture) if asked.picture is not None else None
    if drawing is None:
        raise AmbiguousError("the question has no picture of a simple drawing")
    codes = {s.number: read_code(s.text) for s in scene.documents.values() if not s.pictures and "<svg" in s.text}
    found = [number for number, told in codes.items() if told is not None and told.like(drawing)]
    number = one(found, "documents with that code")
    return f"{number}\n{scene.documents[number].text}"


def _picture_of_code(scene: Scene, match: Match, asked: Asked, wording: Wording) -> str:
    drawing = read_code(match["text"])
    if drawing is None:
        raise AmbiguousError("the question's code is no simple drawing")
    only = [s for s in scene.documents.values() if len(s.pictures) == 1 and len(s.text) == 1]
    seen = {s.number: read_picture(s.pictures[0]) for s in only}
    return str(one((n for n, d in seen.items() if d is not None and d.like(drawing)), "pictures of that code"))


def _numbers(found: list[int]) -> str:
    return ", ".join(str(number) for number in found)


_SOLVERS: dict[str, Callable[[Scene, Match, Asked, Wording], str]] = {
    "needle": _needle,
    "needles": _needles,
    "chain": _chain,
    "edits": _edits,
    "find": _find,
    "find_two": _find_two,
    "count": _count,
    "count_licence": _count_licence,
    "order": _order,
    "most": _most,
    "least": _least,
    "quote": _quote,
    "copy": _copy,
    "code_of_picture": _code_of_picture,
    "picture_of_code": _picture_of_code,
}
