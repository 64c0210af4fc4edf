"""One way to write a ustar header and one way to read it: regular files, mode 0644, no owners, time zero.

Odd: the reader accepts nothing else. Links, directories, devices, pax and GNU extensions are refused by name, so a tar
that passes here holds exactly the members that its headers show, whichever program opens it.
"""

from dataclasses import dataclass

from trivium.errors import ShardError

BLOCK = 512
END = bytes(2 * BLOCK)
_LONGEST = 100  # characters of a name
_OWNER = b"0000644\x000000000\x000000000\x00"  # mode, user, group
_TIME = b"\x0000000000000\x00"
_REST = b"\0 0" + bytes(100) + b"ustar\x0000" + bytes(247)  # an ordinary file
_SUM = sum(_OWNER + _TIME + b" " * 8 + _REST[2:])  # of a header without name and size
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
    """The 512 bytes before a payload of `size` bytes: what `tarfile` makes of it, and the tests hold it to that."""
    try:
        text = name.encode("ascii")
    except UnicodeEncodeError as error:
        raise ShardError(f"member {name!r} of {size} bytes does not fit a ustar header ({error})") from None
    if not 0 < len(text) <= _LONGEST or b"\0" in text:
        raise ShardError(f"member {name!r} has {len(text)} characters; a name has 1 to {_LONGEST}")
    if not 0 <= size < 8**11:
        raise ShardError(f"member {name!r} of {size} bytes does not fit a ustar header; the limit is 8 GiB")
    digits = b"%011o" % size
    total = _SUM + sum(text) + sum(digits)
    return b"".join((text.ljust(100, b"\0"), _OWNER, digits, _TIME, b"%06o" % total, _REST))


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
