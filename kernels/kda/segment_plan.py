"""Where a long document is cut into segments, so that few heads keep all multiprocessors busy.

The state's way along a document is a chain: a head of 64K tokens is 1024 links on one multiprocessor. A segment's way
needs two more passes (its state from zero, its transition), which run for all segments at once, and a fold over them.
A document's cut depends on its own length, on the heads and on the device, never on its neighbours: packed or alone it
has the same bits (docs/decisions/100-segments-by-a-document-alone.md).
D documents, N chunks, S segments.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
import torch
from torch import Tensor

from trivium.kernels.kda.plan import CHUNK, ChunkPlan, Cuts

__all__ = ["LEAST", "Segments", "cut", "processors", "segments_of"]

COLUMNS = 64  # of V that a program carries where processors are idle
# Three passes of a segment (state, transition, output) cost 2.2 times one, a fold and two launches come on top: with
# fewer segments than this nothing is won.
LEAST = 4
FOLD = 4  # a segment has at least four times as many chunks as its document has segments: the fold is a chain too


@dataclass(frozen=True, slots=True)
class Segments:
    """Segments as documents of their own (number = place in `cut`, in the row's order), and what is left whole."""

    cut: Cuts
    whole: Cuts
    groups_G3: Tensor  # int32, cut documents in the row's order: number, first segment, end of its segments


def segments_of(chunks: int, heads: int, width: int, processors: int) -> int:
    """Into how many segments a document is cut; 1 leaves it whole.

    Cut are documents of which one head after another leaves most multiprocessors idle: at 132 of them and a width of
    128, up to 16 heads from 4096 tokens on.
    """
    programs = heads * max(1, width // COLUMNS)
    segments = min(processors // programs, math.isqrt(chunks // FOLD))
    return segments if segments >= LEAST else 1


def processors(device: torch.device) -> int:
    """Multiprocessors of a GPU; elsewhere 1, and nothing is cut."""
    return torch.cuda.get_device_properties(device).multi_processor_count if device.type == "cuda" else 1


def _build(borders: Sequence[int], counts: Sequence[int], chunks_N2: Tensor) -> Segments:
    long, whole, groups, first = [], [], [], 0
    for document, (start, stop, count) in enumerate(zip(borders[:-1], borders[1:], counts, strict=True)):
        chunks = -(-(stop - start) // CHUNK)
        if count > 1:
            groups.append((document, len(long), len(long) + count))
            for place, following in pairwise(chunks * i // count for i in range(count + 1)):  # equal but for one chunk
                end = min(stop, start + following * CHUNK)
                long.append((len(long), start + place * CHUNK, end, first + place))
        elif chunks:
            whole.append((document, start, stop, first))
        first += chunks

    def table(rows: list[tuple[int, ...]]) -> Tensor:
        longest_first = sorted(rows, key=lambda row: row[1] - row[2])
        return torch.tensor(longest_first, dtype=torch.int32).view(-1, 4).to(chunks_N2.device)

    groups_G3 = torch.tensor(groups, dtype=torch.int32).to(chunks_N2.device)
    return Segments(Cuts(chunks_N2, table(long)), Cuts(chunks_N2, table(whole)), groups_G3)


def cut(plan: ChunkPlan, heads: int, width: int, device: torch.device) -> Segments | None:
    """The segments of a row, kept for the next layer; None where no document is cut."""
    key = heads, width, device
    if key not in plan.segments:
        available = processors(device)
        lengths = np.diff(np.asarray(plan.borders, dtype=np.int64))
        counts = [segments_of(-(-int(length) // CHUNK), heads, width, available) for length in lengths]
        long = any(count > 1 for count in counts)
        plan.segments[key] = _build(plan.borders, counts, plan.cuts(device).chunks_N2) if long else None
    return plan.segments[key]
