"""One document of pictures and code as it is written: words, code in a segment of its own, pictures that know their
code.

Odd: media are named anew in order (i0.png, v1.mp4, f0.bin), so that a document is the same whatever else was drawn.
"""

from collections.abc import Mapping

import msgspec

from trivium.data.records import Document, Drawn, Image, Meta, Segment, Text, Video, source_id
from trivium.data.stage import Draft


class Page:
    """`item`: the media of the drawn item; `files`: media that its code reads, by path. Made by one thread of calls."""

    def __init__(self, item: Mapping[str, bytes], files: Mapping[str, str]) -> None:
        self._item, self._files = item, files
        self._segments: list[Segment] = []
        self._codes: dict[str, int] = {}
        self._drawn: list[tuple[Drawn, str]] = []
        self._media: dict[str, bytes] = {}
        self._open = False  # whether the last segment may grow

    def say(self, text: str, *, loss: bool = False) -> None:
        """Words: context, or what is learnt."""
        last = self._segments[-1] if self._segments else None
        if not text:
            return
        if self._open and isinstance(last, Text) and last.loss == loss:
            self._segments[-1] = Text(text=last.text + text, loss=loss)
        else:
            self._segments.append(Text(text=text, loss=loss))
        self._open = True

    def code(self, code: str, *, loss: bool) -> None:
        """Code, in a text segment that holds nothing else; it belongs to pictures shown of the same code."""
        self._codes.setdefault(code, len(self._segments))
        self._segments.append(Text(text=code, loss=loss))
        self._open = False

    def picture(self, picture: Image | Video, drawn: Drawn, code: str) -> None:
        """A picture or clip that `code` draws, wherever in the document that code stands, if it does."""
        letter = "i" if isinstance(picture, Image) else "v"
        name = f"{letter}{len(self._drawn)}.{picture.media.rpartition('.')[2]}"
        self._media[name] = self._item[picture.media]
        self._segments.append(msgspec.structs.replace(picture, media=name))
        self._drawn.append((msgspec.structs.replace(drawn, media=name), code))
        self._open = False

    @property
    def segments(self) -> tuple[Segment, ...]:
        return tuple(self._segments)

    def draft(self, meta: Meta, task: str) -> Draft:
        """The document of a task: its own address and id, the item's among its parents, and the item's cluster.

        Documents of one item must stand on one side of a held-out split, so they share its cluster.
        """
        media, drawn = dict(self._media), []
        files: dict[str, str] = {}
        for one, code in self._drawn:
            at = self._codes.get(code, -1)
            held: dict[str, str] = {}
            for path, name in self._files.items() if at >= 0 else ():
                files.setdefault(path, f"f{len(files)}.{name.rpartition('.')[2]}")
                held[path], media[files[path]] = files[path], self._item[name]
            drawn.append(msgspec.structs.replace(one, code=at, files=held))
        address = f"{meta.address}#{task}"
        lineage = msgspec.structs.replace(meta.lineage, parents=(*meta.lineage.parents, meta.source_id))
        made = msgspec.structs.replace(
            meta,
            source_id=source_id(meta.source, address),
            address=address,
            cluster=meta.cluster or meta.source_id,
            drawn=tuple(drawn),
            lineage=lineage,
        )
        return Draft(document=Document(segments=self.segments, meta=made), media=media)
