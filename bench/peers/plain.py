"""torch's DataLoader over a map-style dataset: random access by our index, its own shuffling sampler, no workers.

It has no state either: torch keeps a sampler's permutation of all indices in memory and does not save its place.
"""

import io
from pathlib import Path
from typing import Any

import numpy as np
import torch
from PIL import Image as Picture
from torch import Tensor
from torch.utils.data import DataLoader, Dataset

from peers.measure import Figures, Memory, check, processor
from peers.sets import opened
from trivium.data.shards import ShardSet


class Tokens(Dataset[Tensor]):
    def __init__(self, shards: ShardSet) -> None:
        self.shards = shards

    def __len__(self) -> int:
        return len(self.shards)

    def __getitem__(self, number: int) -> Tensor:
        return torch.from_numpy((self.shards.read_tokens(number) & 0x7FFFFFFF).astype(np.int64))


class Pixels(Tokens):
    def __getitem__(self, number: int) -> Tensor:
        picture = Picture.open(io.BytesIO(self.shards.read_media(number, "i0.jpg"))).convert("RGB")
        return torch.from_numpy(np.array(picture))


def measure(folder: Path) -> Figures:
    text, photos = opened(folder, "text"), opened(folder, "photos")
    total = int(np.asarray(text.entries.tokens).sum())

    def loader(data: Tokens) -> Any:
        return DataLoader(data, shuffle=True, batch_size=16, collate_fn=list, num_workers=0)

    memory = Memory()
    seconds, found = processor(lambda: sum(len(ids) for batch in loader(Tokens(text)) for ids in batch))
    check(found, total, "tokens through torch's DataLoader")
    grown = memory.grown()
    pictures, shown = processor(lambda: sum(len(batch) for batch in loader(Pixels(photos))))
    check(shown, len(photos), "pictures through torch's DataLoader")
    return Figures(
        "torch DataLoader",
        torch.__version__,
        documents=len(text) / seconds,
        tokens=total / seconds,
        pictures=len(photos) / pictures,
        memory=grown,
        note="over our index; no packing; no state to resume from",
    )
