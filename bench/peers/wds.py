"""webdataset's own shuffle: shards shuffled, then a buffer of 1000 samples; documents come one by one, not packed.

It keeps no state: a run that goes on begins a new order (its guide's resampling), or reads again what it has read.
"""

import os
from pathlib import Path

import numpy as np
import torch

from peers.measure import Figures, Memory, check, processor
from peers.sets import opened, tars


def measure(folder: Path) -> Figures:
    os.environ["WDS_SECURE"] = "1"
    import webdataset

    text, photos = opened(folder, "text"), opened(folder, "photos")
    total = int(np.asarray(text.entries.tokens).sum())

    def shuffled(paths: list[Path]) -> webdataset.WebDataset:
        names = [str(path) for path in paths]
        return webdataset.WebDataset(names, shardshuffle=100, empty_check=False).shuffle(1000)

    def tokens() -> int:
        rows = (np.frombuffer(raw, "<u4") & 0x7FFFFFFF for (raw,) in shuffled(tars(text)).to_tuple("tokens"))
        return sum(len(torch.from_numpy(ids.astype(np.int64))) for ids in rows)

    def pixels() -> int:
        return sum(1 for _ in shuffled(tars(photos)).decode("rgb8", only=["i0.jpg"]).to_tuple("i0.jpg"))

    memory = Memory()
    seconds, found = processor(tokens)
    check(found, total, "tokens through webdataset")
    grown = memory.grown()
    pictures, shown = processor(pixels)
    check(shown, len(photos), "pictures through webdataset")
    return Figures(
        "webdataset shuffle",
        webdataset.__version__,
        documents=len(text) / seconds,
        tokens=total / seconds,
        pictures=len(photos) / pictures,
        memory=grown,
        note="no packing; no state to resume from",
    )
