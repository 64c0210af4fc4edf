"""One way to write a ustar header and one way to read it: regular files, mode 0644, no owners, time zero.

Odd: the reader accepts nothing else. Links, directories, devices, pax and GNU extensions are refused by name, so a tar
that passes here holds exactly the members that its headers show, whichever program opens it.
"""

import tarfile
from dataclasses import dataclass

from trivium.errors import ShardError

BLOCK = 512
END = bytes(2 * BLOCK)
_KINDS = {
    b"\0": "an old-style file",
    b"1": "a hard link",
    b"2": "a symbolic link",
    b"3": "a character device",
    b"4": "a block device",
    b"5": "a directory",
    b"6": "a fifo",
    b"L": "a GNU long name",
    b"K": "a GNU long link",
    b"x": "a pax extension",
    b"g": "a pax global header",
    b"S": "a sparse file",
}


@dataclass(frozen=True, slots=True)
class Member:
    """A parsed header: `offset` of the payload in the tar and its `size`, both in bytes."""

    key: str
    field: str
    offset: int
    size: int

    @property
    def end(self) -> int:
        """Offset of the block after the payload."""
        return self.offset + padded(self.size)


def padded(size: int) -> int:
    """`size` rounded up to whole blocks."""
    return -(-size // BLOCK) * BLOCK


def header(name: str, size: int) -> bytes:
    """The 512 bytes before a payload of `size` bytes; the same for the same arguments, always."""
    info = tarfile.TarInfo(name)
    info.size, info.mode, info.mtime = size, 0o644, 0
    info.uid = info.gid = 0
    info.uname = info.gname = ""
    try:
        raw = info.tobuf(tarfile.USTAR_FORMAT, encoding="ascii", errors="strict")
    except ValueError as error:  # UnicodeEncodeError too
        raise ShardError(f"member {name!r} of {size} bytes does not fit a ustar header ({error})") from None
    if len(raw) != BLOCK:
        raise ShardError(f"member {name!r} needs {len(raw)} bytes of header; a name has at most 100 characters")
    return raw


def parse(raw: bytes, offset: int) -> Member:
    """Reads the header at `offset`. Raises ShardError unless it is byte for byte what `header` writes."""
    if raw[257:263] != b"ustar\0":
        what = "gzip data" if raw[:2] == b"\x1f\x8b" else "no ustar header"
        raise ShardError(f"{what} at byte {offset}; shards are plain ustar tars, never compressed")
    kind = raw[156:157]
    name = raw[:100].rstrip(b"\0").decode("ascii", "backslashreplace")
    if kind != b"0":
        raise ShardError(
            f"member {name!r} at byte {offset} is {_KINDS.get(kind, f'of type {kind!r}')}; only files belong here"
        )
    try:
        size = int(raw[124:136].rstrip(b"\0 "), 8)
    except ValueError:
        raise ShardError(f"member {name!r} at byte {offset} has the size field {raw[124:136]!r}") from None
    key, dot, field = name.partition(".")
    if not dot or not key or not field or "/" in name or "\\" in name:
        raise ShardError(f"member {name!r} at byte {offset} is not named <id>.<field> (no folders, no dots in the id)")
    if raw != header(name, size):
        raise ShardError(
            f"member {name!r} at byte {offset} has a header that our writer never makes "
            "(checksum, mode, owner, time or prefix differ)"
        )
    return Member(key, field, offset + BLOCK, size)
