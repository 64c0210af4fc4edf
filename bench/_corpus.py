"""Text for training comparisons, from this checkout alone: its pages, pictures' sources and programs.

Odd: words are cut by a plain regular expression and numbered by how much text they cover, since the machines that
compare kernels have no tokenizer library; what a word list can't spell goes byte by byte.
"""

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import islice
from pathlib import Path

import numpy as np

from trivium.curriculum.packing import pack
from trivium.model.batch import Batch, Sample, collate

FILES = (
    "*.md", "docs/**/*.md", "examples/web/python/**/*.html", "examples/web/licences/*.txt", "examples/svg/**/*.svg",
    *(f"{folder}/**/*.py" for folder in ("curriculum", "data", "kernels", "model", "pipelines", "trivium", "vision")),
)  # fmt: skip
WORDS = re.compile(r" ?[A-Za-z_]+|[0-9]{1,2}|\s+|[^\sA-Za-z0-9_]{1,3}")
BYTES, SPECIALS = 256, 16
WINDOW = 24  # rows that are packed together
LONGEST = 1024  # tokens of a document: the PyTorch path's time grows with its chunks


def texts(root: Path) -> list[str]:
    """Every file's text, in the order of their paths."""
    paths = sorted({path for pattern in FILES for path in root.glob(pattern)})
    return [path.read_text(encoding="utf-8", errors="replace") for path in paths]


class Words:
    """Ids 0…255 are bytes, then the words that cover most text; the last 16 ids stay free for specials."""

    def __init__(self, documents: Sequence[str], vocab: int) -> None:
        counts = Counter(word for text in documents for word in WORDS.findall(text))
        worth = sorted(counts, key=lambda word: (-counts[word] * (len(word.encode()) - 1), word))
        words = [word for word in worth if counts[word] > 1 and len(word.encode()) > 1][: vocab - BYTES - SPECIALS]
        self.ids = {word: BYTES + place for place, word in enumerate(words)}

    def encode(self, text: str) -> np.ndarray:
        ids: list[int] = []
        for word in WORDS.findall(text):
            known = self.ids.get(word)
            ids += [known] if known is not None else word.encode()
        return np.array(ids, dtype=np.int64)


def batches(documents: Sequence[np.ndarray], context: int, media_pad: int, seed: int) -> Iterator[Batch]:
    """One packed row of at most `context` tokens after another, epochs without end; the same for the same seed."""
    dice = np.random.default_rng(seed)
    while True:
        pieces = [
            piece for place in dice.permutation(len(documents)) for piece in _cut(documents[place], context, dice)
        ]
        stream = iter([pieces[place] for place in dice.permutation(len(pieces))])
        while window := _window(stream, WINDOW * context):
            sizes = [sample.tokens.size for sample in window]
            rows = pack(sizes, [0] * len(sizes), context=context, patch_budget=1)
            for place in dice.permutation(len(rows)):
                yield collate([window[piece] for piece in rows[place]], media_pad)


def _window(stream: Iterator[Sample], tokens: int) -> list[Sample]:
    found: list[Sample] = []
    while sum(sample.tokens.size for sample in found) < tokens and (more := list(islice(stream, 16))):
        found += more
    return found


def _cut(ids: np.ndarray, context: int, dice: np.random.Generator) -> Iterator[Sample]:
    """Ragged pieces, by their logarithm evenly from 16 tokens; each but the last has a next token."""
    start, longest = 0, min(LONGEST, context)
    while ids.size - start >= 2:
        stop = min(ids.size, start + int(np.exp(dice.uniform(np.log(16), np.log(longest)))))
        following = int(ids[stop]) if stop < ids.size else None
        yield Sample(ids[start:stop], np.ones(stop - start, dtype=bool), next_id=following)
        start = stop
