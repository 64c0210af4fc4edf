"""Where pages that move come from: examples and games in folders of packages, and the generator."""

import os
from collections.abc import Iterator
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Annotated

from msgspec import Meta

from trivium.data.config import nearest
from trivium.data.pairs import bundle
from trivium.data.stage import Content, Outcome
from trivium.data.web.games.closure import named_by
from trivium.data.web.games.kinds import kinds, variant
from trivium.errors import InputError
from trivium.pipelines.corpora.sources import Counted, Place, Source, files
from trivium.pipelines.corpora.sources.base import RefusedError

_FILES = 400  # of one page


class GamePages(Source, kw_only=True, tag="game_pages"):
    """Pages below a local folder, each with the files of the folder that it names."""

    GIVES = Content.GAMES

    pages: tuple[str, ...] = ("*.html",)  # patterns of their paths below `path`; `*` goes through folders too
    but: tuple[str, ...] = ()  # patterns of pages that are left out
    max_bytes: Annotated[int, Meta(ge=1)] = 8 << 20  # of a page and its files

    def places(self, base: Path) -> Iterator[Place]:
        where = self.where(base)
        if "://" in where:
            raise InputError(f"source {self.name!r}: game_pages reads local folders; bring {where} here first")
        found = sorted(name for name in files.files_below(where) if self._wanted(name))
        if not found:
            raise InputError(f"{where} holds no page that fits {', '.join(self.pages)}; mend `path` or `pages`")
        for name, wrong in files.readable(found):
            yield Place(path="" if wrong else files.joined(where, name), address=name, root=where)

    def read(self, place: Place, corpus: str, domain: str) -> Iterator[Outcome]:
        try:
            found = self._closure(place)
        except RefusedError as why:
            yield self.refused(place.address, why)
            return
        body = bundle.pack(place.address, found)
        yield self.raw(corpus, domain, address=place.address, body=body, mime=bundle.MIME)

    def _wanted(self, name: str) -> bool:
        return any(fnmatchcase(name, one) for one in self.pages) and not any(fnmatchcase(name, one) for one in self.but)

    def _closure(self, place: Place) -> dict[str, bytes]:
        """The page and all that it names, directly or by a style sheet or script, as far as it is there."""
        found: dict[str, bytes] = {}
        left, total = [place.address], 0
        while left:
            name = left.pop(0)
            path = os.path.join(place.root, name)
            if name in found or (name != place.address and not os.path.isfile(path)):
                continue
            body = files.read_whole(path, self.max_bytes, place.root) if os.path.getsize(path) else b""
            found[name] = body
            total += len(body)
            if total > self.max_bytes or len(found) > _FILES:
                raise RefusedError(
                    "too_large", f"with its files it has more than {self.max_bytes} bytes or {_FILES} files"
                )
            left += named_by(name, body, place.address)
        return found


class GameVariants(Counted, kw_only=True, tag="game_variants"):
    """`count` games and animations that the generator writes from `seed`, of all its kinds in turn; no file is read."""

    GIVES = Content.GAMES
    CHUNK = 16

    kinds: tuple[str, ...] = ()  # of these kinds alone (bounce, breakout, …)

    def __post_init__(self) -> None:
        for name in self.kinds:
            if name not in kinds():
                raise ValueError(f"the generator has no kind {name!r}{nearest(name, list(kinds()))}")

    def address(self, number: int) -> str:
        return f"game-{number:06d}"

    def read(self, place: Place, corpus: str, domain: str) -> Iterator[Outcome]:
        body = variant(self.seed, place.offset, self.kinds).encode()
        yield self.raw(corpus, domain, address=place.address, body=body, mime="text/html")
