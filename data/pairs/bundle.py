"""Several files that make one item (a page with its pictures, a scene with its includes) as the body of one `Raw`."""

from collections.abc import Mapping

import msgspec

MIME = "application/vnd.trivium.bundle"


class Bundle(msgspec.Struct, frozen=True, kw_only=True):
    """`main` is the path of the file that is opened, `files` all content by relative path, `main` among them."""

    main: str
    files: dict[str, bytes]


def pack(main: str, files: Mapping[str, bytes]) -> bytes:
    """Equal files give equal bytes."""
    return msgspec.msgpack.encode(Bundle(main=main, files=dict(sorted(files.items()))))


def unpack(body: bytes) -> Bundle:
    """Raises ValueError for bytes that `pack` did not write."""
    try:
        bundle = msgspec.msgpack.decode(body, type=Bundle)
    except msgspec.DecodeError as error:
        raise ValueError(f"not a bundle of files: {error}") from None
    if bundle.main not in bundle.files:
        raise ValueError(f"a bundle of {len(bundle.files)} files without its main file {bundle.main!r}")
    return bundle
