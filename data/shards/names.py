"""The grammar of every name in a shard set; what does not match is refused, never guessed at.

Odd: WebDataset splits a member's name at the first dot and merges what then looks alike, so keys hold no dots, and only
the extensions listed here are stored: nothing that a careless reader would run (pickles) or unpack.
"""

import re

from trivium.errors import ShardError

ID = re.compile(r"[0-9a-z]{26}")
PICTURES = ("png", "jpg", "jpeg", "webp", "gif", "bmp")
CLIPS = ("mp4", "webm", "mkv", "mov")
DATA = ("bin",)  # what drawn code reads beside pictures: opaque bytes, which no reader of WebDatasets decodes
MEDIA = re.compile(rf"[a-z]+[0-9]*\.(?:{'|'.join((*PICTURES, *CLIPS, *DATA))})")
JSON = "json"
TOKENS = "tokens"
_WORD = r"[0-9a-z]+(?:_[0-9a-z]+)*"
CORPUS = re.compile(rf"{_WORD}(?:-{_WORD})*")
BUCKET = re.compile(r"[0-9a-z]+")
SHARD = re.compile(rf"(?P<corpus>{CORPUS.pattern})-(?P<bucket>[0-9a-z]+)-(?P<number>[0-9]{{5}})\.tar")
REJECT = re.compile(r"[0-9a-z]+(?:[-_][0-9a-z]+)*\.jsonl")

MANIFEST = "manifest.json"
SHARDS = "shards"
REJECTS = "rejects"


def shard_name(corpus: str, bucket: str, number: int) -> str:
    """`<corpus>-<bucket>-00000.tar`. Raises ShardError when corpus or bucket break the grammar."""
    name = f"{corpus}-{bucket}-{number:05d}.tar"
    match = SHARD.fullmatch(name)
    if not match or match["corpus"] != corpus or match["bucket"] != bucket:
        raise ShardError(
            f"corpus {corpus!r}, bucket {bucket!r}, number {number} make no shard name; use lower-case letters, digits "
            f"(and _ or - inside a corpus), and at most 99 999 shards"
        )
    return name


def bucket_of_name(name: str) -> str:
    """The bucket in a shard's file name. Raises ShardError for a name that is none."""
    match = SHARD.fullmatch(name)
    if not match:
        raise ShardError(f"{name!r} is no shard name; expected <corpus>-<bucket>-00000.tar in lower case")
    return match["bucket"]


def index_name(shard: str) -> str:
    """`x-all-00000.tar` has its index in `x-all-00000.idx.json`."""
    return shard.removesuffix(".tar") + ".idx.json"


def check_id(key: str) -> None:
    """Raises ShardError unless `key` is 26 characters of lower-case base32."""
    if not ID.fullmatch(key):
        raise ShardError(
            f"record id {key!r} is not 26 characters of [0-9a-z]; "
            "take the id that records.finish() gives (no dots, no upper case)"
        )


def check_field(field: str) -> None:
    """Raises ShardError unless `field` may be stored beside a record's JSON."""
    if field != TOKENS and not MEDIA.fullmatch(field):
        raise ShardError(
            f"member field {field!r} is not allowed; name media i0.png, i1.jpg, v0.mp4 … "
            f"(extensions {', '.join((*PICTURES, *CLIPS, *DATA))}) or '{TOKENS}'"
        )
