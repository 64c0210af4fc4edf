"""What a forward pass reads: packed documents, their targets, and their pictures' patches.

T tokens of all rows, D documents, P patches, I pictures (grids).
"""

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
import torch
from torch import Tensor

from trivium.errors import InputError

NO_TARGET = -100
PATCH_PIXELS = 588  # 3 channels of 14 × 14
TEXT, TEXT_AFTER_PICTURE, MEDIA = 0, 1, 2


@dataclass(frozen=True, slots=True)
class Sample:
    """One document, or the part of it that a row holds: ids, whether each may be a target, its pictures in order."""

    tokens: np.ndarray  # [n] ids
    loss: np.ndarray  # [n] bool: this token is predicted
    grids: Sequence[tuple[int, int, int]] = ()  # frames, rows, columns, in patches
    patches: Sequence[Tensor] = field(default=())  # one [t·h·w, 588] tensor a grid
    next_id: int | None = None  # the id behind the last token, where a cut document goes on with one to predict


@dataclass(frozen=True, slots=True)
class Batch:
    """All rows of a step (or micro-batch) end to end; rows need no border of their own, documents have theirs."""

    tokens_T: Tensor  # int64
    targets_T: Tensor  # int64, NO_TARGET where nothing is predicted; never crosses a document
    cu_seqlens: Tensor  # int64 [D + 1]
    patches_P: Tensor  # float32 [P, 588]
    grids_I3: Tensor  # int64 [I, 3]: frames, rows, columns
    modality_T: Tensor  # uint8: TEXT, TEXT_AFTER_PICTURE (a document with pictures), MEDIA (a media token)

    @property
    def tokens(self) -> int:
        return self.tokens_T.shape[0]

    @property
    def targets(self) -> int:
        return int((self.targets_T != NO_TARGET).sum())

    @property
    def blank(self) -> bool:
        """One token and no target: what stands for no document at all, and teaches nothing."""
        return self.tokens == 1 and self.targets == 0

    def to(self, device: torch.device | str) -> "Batch":
        """A copy on `device`; the grids stay on the CPU, where sizes are read."""
        return Batch(
            self.tokens_T.to(device, non_blocking=True),
            self.targets_T.to(device, non_blocking=True),
            self.cu_seqlens.to(device, non_blocking=True),
            self.patches_P.to(device, non_blocking=True),
            self.grids_I3,
            self.modality_T.to(device, non_blocking=True),
        )


def collate(samples: Sequence[Sample], media_pad: int) -> Batch:
    """Packs documents in the order given; token t's target is token t + 1 where that one may be predicted, and the last
    token's is its sample's `next_id`.

    Raises InputError when a document's pictures don't fill its media tokens.
    """
    tokens, targets, modality, lengths = [], [], [], []
    grids: list[tuple[int, int, int]] = []
    patches: list[Tensor] = []
    for sample in samples:
        ids = np.asarray(sample.tokens).astype(np.int64)
        if ids.size == 0:
            continue
        pads = ids == media_pad
        _check_pictures(sample, int(pads.sum()))
        shifted = np.full(ids.size, NO_TARGET, dtype=np.int64)
        shifted[:-1] = np.where(sample.loss[1:] & ~pads[1:], ids[1:], NO_TARGET)
        if sample.next_id is not None:
            shifted[-1] = sample.next_id
        tokens.append(ids)
        targets.append(shifted)
        text = TEXT_AFTER_PICTURE if len(sample.grids) else TEXT
        modality.append(np.where(pads, MEDIA, text).astype(np.uint8))
        lengths.append(ids.size)
        grids += sample.grids
        patches += sample.patches
    if not tokens:
        raise InputError("a batch of no tokens; give at least one document that is not empty")
    return Batch(
        torch.from_numpy(np.concatenate(tokens)),
        torch.from_numpy(np.concatenate(targets)),
        torch.from_numpy(np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64)),
        torch.cat(patches) if patches else torch.zeros(0, PATCH_PIXELS),
        torch.tensor(grids, dtype=torch.int64).reshape(-1, 3),
        torch.from_numpy(np.concatenate(modality)),
    )


def _check_pictures(sample: Sample, pads: int) -> None:
    needed = sum(h * w // 4 for _, h, w in sample.grids)
    if needed != pads or len(sample.patches) != len(sample.grids):
        raise InputError(
            f"a document with {pads} media tokens, {len(sample.grids)} grids of {needed} tokens and "
            f"{len(sample.patches)} pictures; each picture needs its grid and one token for every 2×2 patches: "
            "tokenise the shards anew with the picture rules of this run"
        )
