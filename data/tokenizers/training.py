"""Training byte-level BPE on shard sets: the same sets give the same file, in whatever order they are named.

Odd: documents are fed in order of their ids and once each, and the library counts words before it merges, so neither
shard order nor threads reach the result; ties between pairs go by token id.
"""

import hashlib
import heapq
from collections.abc import Iterator, Sequence
from pathlib import Path

import msgspec

from trivium.data.config import Strict
from trivium.data.records import Text
from trivium.data.shards.reader import ShardSet
from trivium.data.shards.storage import write_whole
from trivium.data.tokenizers import pretokens, special
from trivium.data.tokenizers.tokenizer import FILE, Tokenizer
from trivium.errors import InputError, MissingDependencyError, UsageError
from trivium.needs import cure

FORMAT, VERSION = "trivium.tokenizer", 1
SMALLEST = 256 + len(special.SPECIALS)


class TokenizerInfo(Strict, frozen=True, kw_only=True):
    """Written beside a trained tokenizer: what it holds and what it was trained on."""

    format: str = FORMAT
    version: int = VERSION
    digest: str
    vocab: int
    merges: int
    documents: int
    characters: int
    corpora: dict[str, list[str]]  # corpus → sha256 of the manifests
    library: str


def texts(sets: Sequence[ShardSet]) -> Iterator[str]:
    """Every text segment of every record, by record id; a record that several sets hold counts once."""

    def ordered(shards: ShardSet) -> Iterator[tuple[str, ShardSet, int]]:
        for record in sorted(range(len(shards)), key=lambda r: str(shards.entries.id[r])):
            yield str(shards.entries.id[record]), shards, record

    last = ""
    for key, shards, record in heapq.merge(*map(ordered, sets), key=lambda item: item[0]):
        if key != last:
            for segment in shards.read_document(record).segments:
                if isinstance(segment, Text) and segment.text:
                    yield segment.text
        last = key


def train(sets: Sequence[ShardSet], vocab: int, out: Path) -> TokenizerInfo:
    """Writes `out` (a `.json` file, or a folder that gets `tokenizer.json`) and `<name>.info.json` beside it.

    `vocab` counts bytes, merges and specials; a small corpus may give fewer. Raises UsageError, InputError,
    MissingDependencyError.
    """
    if vocab < SMALLEST:
        raise UsageError(f"--vocab {vocab}: 256 bytes and {len(special.SPECIALS)} specials need at least {SMALLEST}")
    try:
        import tokenizers
        from tokenizers import decoders, models, pre_tokenizers, trainers
    except ImportError:
        raise MissingDependencyError(
            f"training a tokenizer needs the package tokenizers; run: {cure('build')}"
        ) from None
    engine = tokenizers.Tokenizer(models.BPE())
    engine.pre_tokenizer = pre_tokenizers.Sequence(
        [
            pre_tokenizers.Split(tokenizers.Regex(pretokens.OWN), behavior="isolated"),
            pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False),
        ]
    )
    engine.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(
        vocab_size=vocab - len(special.SPECIALS),
        min_frequency=2,
        show_progress=False,
        initial_alphabet=sorted(pretokens.byte_alphabet()),
        special_tokens=[],
    )
    count = _Counter()
    engine.train_from_iterator(count.over(texts(sets)), trainer)
    if not count.documents:
        raise InputError("the given shards hold no text; name a set with text records")
    engine.add_special_tokens(
        [tokenizers.AddedToken(name, special=True, normalized=False) for name in special.SPECIALS]
    )
    payload = engine.to_str(pretty=False).encode() + b"\n"
    file = out if out.suffix == ".json" else out / FILE
    file.parent.mkdir(parents=True, exist_ok=True)
    write_whole(file, payload)
    tokenizer = Tokenizer.load(file)
    corpora: dict[str, list[str]] = {}
    for shards in sets:
        corpora.setdefault(shards.manifest.corpus, []).append(shards.digest)
    info = TokenizerInfo(
        digest=hashlib.sha256(payload).hexdigest(),
        vocab=tokenizer.vocab_size,
        merges=tokenizer.vocab_size - SMALLEST,
        documents=count.documents,
        characters=count.characters,
        corpora={name: sorted(set(digests)) for name, digests in sorted(corpora.items())},
        library=f"tokenizers {tokenizers.__version__}",
    )
    facts = msgspec.json.format(msgspec.json.encode(info, order="sorted"), indent=2)
    write_whole(file.with_name(file.stem + ".info.json"), facts + b"\n")
    return info


class _Counter:
    documents = 0
    characters = 0

    def over(self, source: Iterator[str]) -> Iterator[str]:
        for text in source:
            self.documents += 1
            self.characters += len(text)
            yield text
