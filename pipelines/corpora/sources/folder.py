"""Folders whose matching files are one item each."""

import os
from collections import Counter
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Annotated

import msgspec

from trivium.data.stage import Content, Outcome
from trivium.errors import InputError
from trivium.pipelines.corpora.sources import files, lines
from trivium.pipelines.corpora.sources.base import Place, RefusedError, Source

NAMED = 6  # endings of files that are there, where none is of the kind


class Folder(Source, kw_only=True):
    """Base of sources that read each matching file below a folder as one item."""

    suffixes: tuple[str, ...]  # ends of the names of files that are read
    max_bytes: Annotated[int, msgspec.Meta(ge=1)] = 8 << 20  # of one file; a larger one is a reject
    mime: str = "application/octet-stream"  # what the files are taken for

    def places(self, base: Path) -> Iterator[Place]:
        yield from file_places(self.where(base), self.suffixes)

    def read(self, place: Place, corpus: str, domain: str) -> Iterator[Outcome]:
        try:
            body = files.read_whole(readable_path(place), self.max_bytes, place.root)
        except RefusedError as why:
            yield self.refused(place.address, why)
            return
        yield self.raw(corpus, domain, address=place.address, body=body, mime=self.mime)


def readable_path(place: Place) -> str:
    """The place's file. Raises RefusedError when its name could not travel (see `files.readable`)."""
    if not place.path:
        raise RefusedError("bad_name", "its name is no UTF-8; rename it")
    return place.path


def file_places(where: str, suffixes: tuple[str, ...], *, one: bool = False) -> Iterator[Place]:
    """A place for each matching file below `where`, sorted by name; `one`: `where` may be such a file itself."""
    name = where.rpartition("/")[2]
    told = tuple(suffix for suffix in suffixes if suffix)  # an address is taken for a file by its ending alone
    if one and (name.lower().endswith(told) if "://" in where else os.path.isfile(where)):
        if not name.lower().endswith(suffixes):
            raise InputError(f"{where} is no file of this kind by its name ({', '.join(suffixes)}); mend `suffixes`")
        yield Place(path=where, address=name)
        return
    root = "" if "://" in where else where
    for name, wrong in files.readable(_listed(where, suffixes)):
        yield Place(path="" if wrong else files.joined(where, name), address=name, root=root)


def _listed(where: str, suffixes: tuple[str, ...]) -> list[str]:
    if os.path.isfile(where):
        raise InputError(f"{os.path.realpath(where)} is a file; this kind of source reads a folder")
    found = [name for name in files.files_below(where) if name.lower().endswith(suffixes)]
    if not found:
        there = where if "://" in where else os.path.realpath(where)
        raise InputError(
            f"{there} holds no file ending in {', '.join(suffixes)}; there {_endings(files.files_below(where))}: mend "
            "`path` or `suffixes`, or leave this source out of the recipe"
        )
    return sorted(found)


def _endings(names: Iterable[str]) -> str:
    """`are .jsonl (12), .csv (3)`: the commonest endings of the files that are there."""
    ends = (os.path.splitext(name)[1].lower() for name in names)
    counts = Counter(end if end[1:].isalnum() and end.isascii() else "others" for end in ends)
    listed = ", ".join(f"{end} ({count:,})" for end, count in counts.most_common(NAMED))
    return f"are {listed}" if listed else "is no file at all"


class HtmlFolder(Folder, kw_only=True, tag="html_folder"):
    """HTML pages below a folder, as a website's mirror or a documentation package lays them."""

    GIVES = Content.HTML

    suffixes: tuple[str, ...] = (".html", ".htm", ".xhtml")
    mime: str = "text/html"


def line_blocks(place: Place) -> Iterator[Place]:
    """A file of lines as ranges of bytes that workers share. Raises RefusedError when it can't be looked at."""
    for offset, length in lines.blocks(files.size_of(readable_path(place), place.root)):
        yield Place(path=place.path, address=place.address, offset=offset, length=length, root=place.root)
