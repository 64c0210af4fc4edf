"""One `Tokenizer` over two files: our `tokenizer.json` (byte-level BPE) and tiktoken rank files (Kimi's format).

Odd: text never yields a special token. A document that spells `[EOS]` gets its ordinary bytes; only `layout` places
specials. Nothing here downloads: ranks are read from the file given.
"""

import base64
import binascii
import hashlib
from collections.abc import Callable, Sequence
from pathlib import Path

import msgspec

from trivium.data.shards.manifest import Vocabulary
from trivium.data.tokenizers import pretokens, special
from trivium.errors import InputError, MissingDependencyError
from trivium.needs import cure

FILE = "tokenizer.json"


class Tokenizer:
    """`encode`, `decode`, ids of specials; `kind` is `bpe` or `ranks`, `digest` the sha256 of the file."""

    def __init__(
        self, pieces: Sequence[bytes], names: dict[str, int], encode: Callable[[str], list[int]], digest: str, kind: str
    ) -> None:
        self.pieces, self.specials, self.digest, self.kind = tuple(pieces), names, digest, kind
        self._encode = encode

    @classmethod
    def load(cls, path: Path | str) -> "Tokenizer":
        """Reads a folder with `tokenizer.json`, that file, or a rank file.

        Raises InputError, or MissingDependencyError when the file's library is absent.
        """
        path = Path(path)
        file = path / FILE if path.is_dir() else path
        try:
            payload = file.read_bytes()
        except OSError as error:
            raise InputError(
                f"{file}: can't be read ({error.strerror}); give a tokenizer.json, its folder, or a tiktoken rank file"
            ) from None
        if payload.lstrip()[:1] == b"{":
            return _load_bpe(cls, file, payload)
        return _load_ranks(cls, file, payload)

    @property
    def vocab_size(self) -> int:
        """Number of ids, specials and reserved places included."""
        return len(self.pieces)

    def encode(self, text: str) -> list[int]:
        """Ids of ordinary tokens only, whatever the text spells. Lone surrogates raise InputError."""
        try:
            text.encode()  # one library would replace lone surrogates, the other raises TypeError
            return self._encode(text)
        except UnicodeEncodeError as error:
            raise InputError(f"text can't be UTF-8 ({error.reason} at {error.start}); clean it before") from None

    def decode(self, ids: Sequence[int]) -> str:
        """Text of the ids; specials by their names, bytes that make no UTF-8 as U+FFFD."""
        return b"".join(self.pieces[token] for token in ids).decode("utf-8", "replace")

    @property
    def vocabulary(self) -> Vocabulary:
        """The facts that a manifest keeps."""
        return Vocabulary(
            size=self.vocab_size,
            bos=self.bos,
            eos=self.eos,
            pad=self.pad,
            media_begin=self.media_begin,
            media_content=self.media_content,
            media_end=self.media_end,
            media_pad=self.media_pad,
        )

    @property
    def bos(self) -> int:
        return self.specials[special.BOS]

    @property
    def eos(self) -> int:
        return self.specials[special.EOS]

    @property
    def pad(self) -> int:
        return self.specials[special.PAD]

    @property
    def media_begin(self) -> int:
        return self.specials[special.MEDIA_BEGIN]

    @property
    def media_content(self) -> int:
        return self.specials[special.MEDIA_CONTENT]

    @property
    def media_end(self) -> int:
        return self.specials[special.MEDIA_END]

    @property
    def media_pad(self) -> int:
        return self.specials[special.MEDIA_PAD]


class _Added(msgspec.Struct, frozen=True):
    id: int
    content: str


class _Model(msgspec.Struct, frozen=True):
    type: str
    vocab: dict[str, int]


class _File(msgspec.Struct, frozen=True):
    model: _Model
    added_tokens: list[_Added] = []


def _load_bpe(cls: type[Tokenizer], file: Path, payload: bytes) -> Tokenizer:
    try:
        import tokenizers
    except ImportError:
        raise MissingDependencyError(f"{file} needs the package tokenizers; run: {cure('build')}") from None
    try:
        facts = msgspec.json.decode(payload, type=_File)
        engine = tokenizers.Tokenizer.from_str(payload.decode())
    except Exception as error:  # the library raises bare Exception for a file that it can't read
        raise InputError(f"{file}: no tokenizer of the `tokenizers` library ({error}); train one anew") from None
    engine.encode_special_tokens = True  # the text of a special is ordinary text
    names = {added.content: added.id for added in facts.added_tokens}
    missing = [name for name in special.SPECIALS if name not in names]
    alphabet = pretokens.byte_alphabet()
    absent = [character for character in alphabet if character not in facts.model.vocab]
    if facts.model.type != "BPE" or missing or absent:
        what = f"lacks the special tokens {missing}" if missing else f"lacks {len(absent)} of the 256 bytes"
        raise InputError(f"{file}: {what}; train one with `trivium tokenizer train`")
    pieces = [b""] * (max([*facts.model.vocab.values(), *names.values()]) + 1)
    for text, token in facts.model.vocab.items():
        pieces[token] = bytes(alphabet[c] for c in text) if all(c in alphabet for c in text) else text.encode()
    for name, token in names.items():
        pieces[token] = name.encode()

    def encode(text: str) -> list[int]:
        ids: list[int] = engine.encode(text, add_special_tokens=False).ids
        return ids

    return cls(pieces, names, encode, hashlib.sha256(payload).hexdigest(), "bpe")


def _load_ranks(cls: type[Tokenizer], file: Path, payload: bytes) -> Tokenizer:
    try:
        import tiktoken
    except ImportError:
        raise MissingDependencyError(
            f"{file} is a rank file and needs the package tiktoken; run: {cure('build')}"
        ) from None
    ranks = _parse_ranks(file, payload)
    names = {name: len(ranks) + place for place, name in enumerate(special.kimi_names(len(ranks)))}
    digest = hashlib.sha256(payload).hexdigest()
    engine = tiktoken.Encoding(
        name=f"ranks-{digest[:16]}", pat_str=pretokens.KIMI, mergeable_ranks=ranks, special_tokens=names
    )
    pieces = [*sorted(ranks, key=ranks.__getitem__), *(name.encode() for name in names)]

    def encode(text: str) -> list[int]:
        ids: list[int] = []
        for part in pretokens.parts(text):
            ids += engine.encode_ordinary(part)
        return ids

    return cls(pieces, names, encode, digest, "ranks")


def _parse_ranks(file: Path, payload: bytes) -> dict[bytes, int]:
    ranks: dict[bytes, int] = {}
    for number, line in enumerate(payload.splitlines(), 1):
        if not line.strip():
            continue
        try:
            piece, rank = line.split()
            ranks[base64.b64decode(piece, validate=True)] = int(rank)
        except (ValueError, binascii.Error):
            raise InputError(
                f"{file}:{number}: {line[:60]!r} is no rank line (base64 of the bytes, a space, the rank); "
                "give a tokenizer.json or a tiktoken rank file"
            ) from None
    if sorted(ranks.values()) != list(range(len(ranks))) or not ranks:
        raise InputError(f"{file}: {len(ranks)} distinct tokens whose ranks are not 0, 1, 2, …; the file is damaged")
    absent = [byte for byte in range(256) if bytes([byte]) not in ranks]
    if absent:
        raise InputError(f"{file}: {len(absent)} of the 256 bytes have no rank (first {absent[0]}); it is no byte BPE")
    return ranks


def write_ranks(path: Path, pieces: Sequence[bytes]) -> None:
    """Writes ordinary tokens as a rank file: a line of base64 and rank each."""
    path.write_bytes(b"".join(base64.b64encode(p) + f" {rank}\n".encode() for rank, p in enumerate(pieces)))
