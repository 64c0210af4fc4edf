"""Where shard sets lie: a local folder as a `Path`, anything else as an `Address` that fsspec opens.

Odd: only the schemes listed here are opened, so no address can run a program (`pipe:`) or chain into another; and
`pathlib` folds `s3://` to `s3:/`, so a path that went through it is unfolded again.
"""

import posixpath
from dataclasses import dataclass, field, replace
from pathlib import Path
from urllib.parse import urlsplit, urlunsplit

from trivium.errors import UsageError

SCHEMES = ("s3", "gs", "gcs", "http", "https", "memory")


@dataclass(frozen=True, slots=True)
class Patience:
    """How long remote reads are tried: `seconds` a try, `attempts` tries, waits from `pause` doubling to `longest`."""

    seconds: float = 60.0
    attempts: int = 5
    pause: float = 0.5
    longest: float = 8.0


@dataclass(frozen=True, slots=True)
class Address:
    """A folder or file behind a URL, with as much of `Path`'s manners as shard sets need."""

    url: str
    patience: Patience = field(default=Patience(), compare=False)

    def __str__(self) -> str:
        return self.url

    def __truediv__(self, name: str) -> "Address":
        """The place below; a query (`?token=…`) stays at the end."""
        parts = urlsplit(self.url)
        whole = parts._replace(path=posixpath.join(parts.path or "/", str(name)))
        return replace(self, url=urlunsplit(whole) if parts.query else f"{self.url.rstrip('/')}/{name}")

    @property
    def scheme(self) -> str:
        return self.url.partition(":")[0]

    @property
    def name(self) -> str:
        return posixpath.basename(urlsplit(self.url).path.rstrip("/"))

    @property
    def parent(self) -> "Address":
        parts = urlsplit(self.url)
        return replace(self, url=urlunsplit(parts._replace(path=posixpath.dirname(parts.path.rstrip("/")))))

    def resolve(self) -> "Address":
        return self

    def absolute(self) -> "Address":
        return self


Place = Path | Address


def place(where: "str | Path | Address", patience: Patience | None = None) -> Place:
    """A local path, or the address that the text is. Raises UsageError for a scheme that is not read."""
    if isinstance(where, Address):
        return where if patience is None else replace(where, patience=patience)
    text = str(where)
    scheme, _, rest = text.partition(":")
    known = scheme in (*SCHEMES, "file")
    if isinstance(where, Path) and not (known and rest.startswith("/")):
        return where
    if isinstance(where, str) and "://" not in text:
        return Path(text)
    if not known or "::" in text:
        raise UsageError(f"{text}: addresses of kind {scheme!r} are not read; there are {', '.join(SCHEMES)} and file")
    if scheme == "file":
        return Path("/" + rest.lstrip("/"))
    return Address(f"{scheme}://{rest.strip('/')}", patience or Patience())
