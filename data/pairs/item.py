"""A drawn item on its way through a build: code, pictures, facts and changed versions, before it becomes documents.

Odd: it travels as a `Draft` whose media hold more than its segments name: the sheet, pictures of changes, files that
the code names. `Meta.drawn` holds the item's own pictures only, in order; those of changes stand in the sheet.
`pair_tasks` takes them away or gives them a segment; a set never holds a sheet.
"""

from collections.abc import Mapping, Sequence

import msgspec

from trivium.data.pairs.facts import Facts
from trivium.data.records import Document, Drawn, Image, Meta, Text, Video
from trivium.data.stage import Draft

SHEET = "sheet.json"


class Change(msgspec.Struct, frozen=True, kw_only=True):
    """The same item changed on purpose. `role`: `edit` (the instruction asks for it) or `bug` (it is to be mended).

    `instruction` is one imperative sentence (edit) or says what is wrong as a person sees it (bug); `pictures` are
    those of the changed code, drawn by the same settings as the item's own, in the same order.
    """

    role: str
    instruction: str
    code: str
    pictures: tuple[Image | Video, ...]
    drawn: tuple[Drawn, ...]  # of `pictures`, without the place of the code
    enough: bool = True  # whether the instruction of a bug suffices to mend it


class Sheet(msgspec.Struct, frozen=True, kw_only=True):
    """`language` names the code ("SVG", "HTML", "build123d", "POV-Ray", …); "" when there are pictures only."""

    language: str
    facts: Facts
    views: dict[str, str] = {}  # what each picture shows, by media: {"i0.png": "front view"}
    changes: tuple[Change, ...] = ()
    files: dict[str, str] = {}  # media that the code names, by the path that it gives


def drawn_item(
    *,
    meta: Meta,
    code: str,
    pictures: Sequence[Image | Video],
    drawn: Sequence[Drawn],
    sheet: Sheet,
    media: Mapping[str, bytes],
) -> Draft:
    """The draft that render stages give. `media` hold all pictures, those of changes and files too.

    What it shows enters `declared` as `shows`, so that its documents can be counted by it.
    """
    shown: list[Text | Image | Video] = [Text(text=code)] if code else []
    declared = {**meta.declared, "shows": sheet.facts.what}
    made = msgspec.structs.replace(meta, drawn=tuple(drawn), declared=declared)
    document = Document(segments=(*shown, *pictures), meta=made)
    return Draft(document=document, media={**media, SHEET: msgspec.json.encode(sheet, order="sorted")})


def sheet_of(draft: Draft) -> Sheet:
    """The item's sheet. Raises TypeError for a draft that no render stage made."""
    payload = draft.media.get(SHEET)
    if payload is None:
        raise TypeError("this stage takes drawn items; put a stage that draws before it")
    return msgspec.json.decode(payload, type=Sheet)
