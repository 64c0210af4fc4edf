"""Documents from addresses that lists block: domains with all below them, URL prefixes, words in the address.

Odd: entries are kept as sorted 64-bit hashes, eight bytes each where Python's set takes a hundred: the four and a half
million domains of the UT1 list fit in every worker. A wrong match is as likely as one in 10^12 addresses.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Annotated, Literal, Self
from urllib.parse import unquote, urlsplit

import msgspec
import numpy as np
import numpy.typing as npt

from trivium.data.config import Strict, digest
from trivium.data.records import Step
from trivium.data.stage import Content, Draft, Item, Outcome, StageConfig, refuse, touched
from trivium.data.text.lists import entries, list_digest

Kind = Literal["domains", "urls", "words", "subwords", "ut1"]
_NAME = re.compile(r"[a-z][a-z0-9_]*")
_PARTS = re.compile(r"[^a-z0-9]+")
_MOST_PREFIXES = 16  # of a path; entries are never deeper


class UrlList(Strict, kw_only=True):
    """One list. `ut1`: a folder with files `domains` and `urls`, or of such folders. `at_least`: words that must occur.

    A page goes with the reason `blocked_NAME`, so the funnel counts by list. `except_domains` always pass.
    """

    name: str  # of the list, in the reason
    path: str  # relative to the recipe
    kind: Kind  # what its lines are; `subwords` count inside words too
    at_least: Annotated[int, msgspec.Meta(ge=1)] = 1
    except_domains: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        if not _NAME.fullmatch(self.name):
            raise ValueError(f"name {self.name!r}: use lower-case letters, digits and _; it is part of the reason")
        if self.at_least > 1 and self.kind not in ("words", "subwords"):
            raise ValueError(f"at_least is for words and subwords; list {self.name!r} is of kind {self.kind}")


class Hashes:
    """A set of strings as sorted hashes."""

    def __init__(self, values: Iterator[str]) -> None:
        import xxhash

        hashed: Iterator[int] = (xxhash.xxh3_64_intdigest(value.encode()) for value in values)
        self._sorted: npt.NDArray[np.uint64] = np.unique(np.fromiter(hashed, dtype=np.uint64))

    def __len__(self) -> int:
        return len(self._sorted)

    def first(self, values: Sequence[str]) -> str:
        """The first of `values` that is in the set, or an empty string."""
        import xxhash

        if not len(self._sorted) or not values:
            return ""
        wanted = np.array([xxhash.xxh3_64_intdigest(value.encode()) for value in values], dtype=np.uint64)
        places = np.searchsorted(self._sorted, wanted).clip(max=len(self._sorted) - 1)
        hits = np.flatnonzero(self._sorted[places] == wanted)
        return values[int(hits[0])] if len(hits) else ""


class Address(msgspec.Struct, frozen=True):
    """An address as lists are looked up: its domain and those above it, its prefixes, its words, its letters."""

    domains: tuple[str, ...]
    prefixes: tuple[str, ...]
    words: frozenset[str]
    letters: str


def read_address(address: str) -> Address | None:
    """The parts of a URL; None for what is none (a path in a folder)."""
    try:
        parts = urlsplit(address)
        host = _host(parts.hostname or "")
    except ValueError:
        return None
    if not parts.scheme or not host:
        return None
    labels = host.split(".")
    domains = tuple(".".join(labels[place:]) for place in range(len(labels)))
    path = parts.path.rstrip("/")
    steps = path.split("/")[1 : _MOST_PREFIXES + 1]
    prefixes = [host, *(f"{host}/{'/'.join(steps[: count + 1])}" for count in range(len(steps)))]
    if parts.query:
        prefixes.append(f"{host}{parts.path}?{parts.query}")
    lowered = unquote(address).lower()
    return Address(domains, tuple(prefixes), frozenset(_PARTS.split(lowered)), _PARTS.sub("", lowered))


def _host(host: str) -> str:
    """Lower case, without `www.` and a last dot, in ASCII form."""
    host = host.lower().rstrip(".").removeprefix("www.")
    if host.isascii():
        return host
    try:
        return host.encode("idna").decode("ascii")
    except UnicodeError:
        return host


def _domain_entry(entry: str) -> str:
    return _host(entry.removeprefix("*.").removeprefix("."))


def _url_entry(entry: str) -> str:
    """`http://www.host/path/` as `host/path`."""
    bare = entry.partition("://")[2] or entry
    host, slash, path = bare.partition("/")
    return _host(host) + slash + path if path else _host(host)


class Matcher:
    """One list ready for look-ups; `hit` names the entry that an address meets."""

    def __init__(self, config: UrlList) -> None:
        self.config = config
        path = Path(config.path)
        domains, urls = self._files(path)
        self._domains = Hashes(_domain_entry(entry) for file in domains for entry in entries(file))
        self._urls = Hashes(_url_entry(entry.rstrip("/")) for file in urls for entry in entries(file))
        words = entries(path) if config.kind in ("words", "subwords") else []
        self._words = frozenset(_PARTS.sub("", word.lower()) for word in words) - {""}
        self._free = frozenset(map(_domain_entry, config.except_domains))

    def _files(self, path: Path) -> tuple[list[Path], list[Path]]:
        match self.config.kind:
            case "domains":
                return [path], []
            case "urls":
                return [], [path]
            case "ut1":
                found = {name: sorted(f for f in path.rglob(name) if f.is_file()) for name in ("domains", "urls")}
                if not any(found.values()):
                    raise _no_lists(path)
                return found["domains"], found["urls"]
            case _:
                return [], []

    def hit(self, address: Address) -> str:
        if self._free and not self._free.isdisjoint(address.domains):
            return ""
        if self.config.kind == "words":
            found = sorted(self._words & address.words)
        elif self.config.kind == "subwords":
            found = sorted(word for word in self._words if word in address.letters)
        else:
            return self._domains.first(address.domains) or self._urls.first(address.prefixes)
        return ", ".join(found) if len(found) >= self.config.at_least else ""


def _no_lists(path: Path) -> Exception:
    from trivium.errors import InputError

    return InputError(
        f"{path} holds no file named `domains` or `urls`; give a UT1 folder, or kind: domains for one file"
    )


class Urls:
    """Refuses documents whose address a list blocks; the first list that does names the reason."""

    name = "urls"
    version = 1

    class Config(StageConfig, kw_only=True, tag="urls"):
        """Takes pages before extraction too, which saves that work."""

        TAKES = frozenset(Content)

        lists: tuple[UrlList, ...]  # looked up in order

        def __post_init__(self) -> None:
            names = [each.name for each in self.lists]
            if not names:
                raise ValueError("lists is empty; name at least one")
            if len(set(names)) < len(names):
                raise ValueError(f"two lists have one name ({', '.join(names)}); the funnel counts by name")

        def build(self) -> "Urls":
            return Urls(self)

        def paths(self) -> dict[tuple[str | int, ...], str]:
            return {("lists", place, "path"): each.path for place, each in enumerate(self.lists)}

        def with_paths(self, paths: Mapping[tuple[str | int, ...], str]) -> Self:
            lists = tuple(
                msgspec.structs.replace(each, path=paths.get(("lists", place, "path"), each.path))
                for place, each in enumerate(self.lists)
            )
            return msgspec.structs.replace(self, lists=lists)

    def __init__(self, config: Config) -> None:
        self.config = config
        known = config.with_paths({keys: list_digest(Path(path)) for keys, path in config.paths().items()})
        self.step = Step(name=self.name, version=self.version, parameters=digest(known))
        self._matchers: list[Matcher] = []

    def open(self) -> None:
        self._matchers = [Matcher(each) for each in self.config.lists]

    def close(self) -> None:
        self._matchers = []

    def process(self, item: Item) -> Iterator[Outcome]:
        meta = item.document.meta if isinstance(item, Draft) else item
        address = read_address(meta.address.partition(" ")[0])  # a reader may add the file and the offset
        if address is not None:
            for matcher in self._matchers:
                entry = matcher.hit(address)
                if entry:
                    yield refuse(
                        item, self.name, f"blocked_{matcher.config.name}", f"{meta.address} meets {entry!r}"[:300]
                    )
                    return
        yield touched(item, self.step) if isinstance(item, Draft) else item
