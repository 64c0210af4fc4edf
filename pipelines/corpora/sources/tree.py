"""Trees of source code without their version control: every text file of every repository below a folder.

    path/<repository>/src/main.c     address <repository>/src/main.c
    path/<name>.tar.gz               address <name>.tar.gz/src/main.c

So the first part of an address is the repository, whatever it came in.
"""

from collections.abc import Iterator
from pathlib import Path, PurePosixPath

from trivium.data.stage import Content, Outcome
from trivium.pipelines.corpora.sources.base import Place, RefusedError
from trivium.pipelines.corpora.sources.packed import Packed

HEAD = 8000  # bytes in which git, too, looks for a NUL
_BOMS = (b"\xff\xfe", b"\xfe\xff", b"\xef\xbb\xbf")
VERSION_CONTROL = frozenset({".git", ".hg", ".svn", ".bzr", "CVS", "_darcs"})


def repository_of(address: str) -> str:
    """The repository that a file of a source tree belongs to."""
    return address.partition("/")[0]


def path_of(address: str) -> str:
    """The path of a file inside its repository."""
    return address.partition("/")[2]


class SourceTree(Packed, kw_only=True, tag="source_tree"):
    """Files of code trees; `suffixes` empty takes all. Each folder or archive directly below `path` is a repository.

    With `whole` the folder itself is one, named as the source is. What version control keeps is passed over; a binary
    file, a link and a file that is no file become rejects.
    """

    GIVES = Content.CODE
    UNPACKS = False

    suffixes: tuple[str, ...] = ("",)
    max_bytes: int = 1 << 20
    mime: str = "text/plain"
    whole: bool = False

    def places(self, base: Path) -> Iterator[Place]:
        for place in super().places(base):
            if not _versioned(place.address):
                address = f"{self.name}/{place.address}" if self.whole else place.address
                yield Place(path=place.path, address=address, root=place.root)

    def wants(self, name: str) -> bool:
        return super().wants(name) and not _versioned(name)

    def records(self, address: str, body: bytes, corpus: str, domain: str) -> Iterator[Outcome]:
        if b"\0" in body[:HEAD] and not body.startswith(_BOMS):
            yield self.refused(address, RefusedError("binary", f"a NUL among the first {HEAD:,} bytes"))
            return
        yield from super().records(address, body, corpus, domain)


def _versioned(name: str) -> bool:
    return not VERSION_CONTROL.isdisjoint(PurePosixPath(name).parts[:-1])
