"""The contract of sources: what lists places, splits them into items, and reads an item's bytes.

A source lists its places in the driver (names only), splits a place into items inside a worker, and reads an item's
bytes inside a worker. Only places travel through Beam's shuffle, never bytes. A place that can't be split (a compressed
file) may give many records when it is read.
"""

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import ClassVar, Self

import msgspec

from trivium.data.config import Strict
from trivium.data.records import source_id
from trivium.data.stage import Content, Drop, Outcome, Raw
from trivium.errors import InputError
from trivium.pipelines.inputs import default_list, load_inputs

READ = "read"  # the stage name of drops that a reader makes


class Place(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One item to read: a file (`path` absolute, or an address), or a part of it; `address` is its lasting name.

    `offset` and `length` are bytes (rows, row groups, numbers: as the kind says), `member` a name inside an archive,
    `root` the folder that a link must not leave.
    """

    path: str
    address: str
    offset: int = -1  # -1: the whole file
    length: int = -1
    member: str = ""
    root: str = ""


class AbsentError(InputError):
    """An input is not there; `keys` lead from the source to the path that names it.

    `what` is its message without what to do, `bring` the names that `trivium inputs fetch` would bring it by.
    """

    def __init__(
        self, message: str, keys: tuple[str | int, ...], *, what: str = "", bring: tuple[str, ...] = ()
    ) -> None:
        super().__init__(message)
        self.keys, self.what, self.bring = keys, what or message, bring


def known_input(name: str) -> bool:
    """Whether `trivium inputs fetch` brings an input of this name; without a checkout, and so a list, any may be."""
    try:
        return bool(name) and name in load_inputs(default_list())
    except InputError:
        return True


class RefusedError(Exception):
    """What is wrong with an item or the rest of a file: a drop's `reason` and `detail`."""

    def __init__(self, reason: str, detail: str, *, error: bool = False) -> None:
        super().__init__(detail)
        self.reason, self.detail, self.error = reason, detail, error


class Source(Strict, kw_only=True, tag_field="kind"):
    """Fields and behaviour that every source has; a kind adds its own fields, `GIVES`, `places` and `read`.

    `path` is relative to the recipe's folder, or an address (s3://, gs://, http(s)://, memory://); `inputs` names the
    entry of examples/inputs.yaml that brings it.
    """

    GIVES: ClassVar[Content]
    EXECUTES: ClassVar[bool] = False  # runs code of strangers: refused where the guard has no namespaces

    name: str  # lower case, unique; ids are made from it
    path: str
    license: str  # of its records (SPDX), where they name none
    language: str = ""  # ISO 639 code, where it is known; empty: not known
    inputs: str = ""

    def paths(self) -> dict[tuple[str | int, ...], str]:
        """Every path or address that the source names, by the keys that lead to it."""
        return {("path",): self.path}

    def with_paths(self, paths: Mapping[tuple[str | int, ...], str]) -> Self:
        """The same source with some of `paths()` replaced."""
        return msgspec.structs.replace(self, path=paths.get(("path",), self.path))

    def root(self, base: Path) -> Path:
        """The local folder or file."""
        return (base / Path(self.path).expanduser()).absolute()

    def where(self, base: Path) -> str:
        """The local path as text, or an address as it is."""
        return self.path if "://" in self.path else str(self.root(base))

    def reads(self, base: Path) -> tuple[Path, ...]:
        """The local files and folders that the source reads: no place for what a build writes."""
        return () if "://" in self.path else (self.root(base),)

    def check(self, base: Path) -> None:
        """Raises AbsentError before any work when the input is not there; an address is asked when it is listed."""
        if "://" in self.path or (root := self.root(base)).exists():
            return
        relative = "" if Path(self.path).expanduser().is_absolute() else f" (path {self.path}, relative to the recipe)"
        bring = (self.inputs,) if known_input(self.inputs) and self.inputs in root.parts else ()
        what = f"source {self.name!r}: {root.resolve()} does not exist{relative}"
        cure = f"bring it with `trivium inputs fetch {self.inputs}` or mend" if bring else "mend"
        raise AbsentError(f"{what}; {cure} `path` in the recipe", ("path",), what=what, bring=bring)

    def places(self, base: Path) -> Iterator[Place]:
        """The files to read, sorted, names only; runs in the driver."""
        raise NotImplementedError

    def split(self, place: Place) -> Iterator[Place | Drop]:
        """The records of one place; runs in a worker, before a reshuffle. A whole file stays one item."""
        yield place

    def read(self, place: Place, corpus: str, domain: str) -> Iterator[Outcome]:
        """The records of one item; runs in a worker."""
        raise NotImplementedError

    def raw(
        self, corpus: str, domain: str, *, address: str, body: bytes, mime: str, language: str = "", title: str = ""
    ) -> Raw:
        return Raw(
            corpus=corpus,
            domain=domain,
            source=self.name,
            address=address,
            license=self.license,
            body=body,
            mime=mime,
            language=language or self.language,
            title=title,
        )

    def drop(self, address: str, reason: str, detail: str = "", *, error: bool = False, excerpt: str = "") -> Drop:
        return Drop(
            source_id=source_id(self.name, address),
            source=self.name,
            address=address,
            stage=READ,
            reason=reason,
            detail=detail,
            excerpt=excerpt,
            error=error,
        )

    def refused(self, address: str, why: RefusedError) -> Drop:
        return self.drop(address, why.reason, why.detail, error=why.error)
