"""Running sums of tokens by block of an epoch's order: with them a place deep in a line is found without reading to it.

Odd: an index is built by replaying lengths once, for the epochs that somebody jumps into only, and may be kept as a
file; 10^9 documents need half a megabyte.
"""

import hashlib
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

import numpy as np

from trivium.curriculum.lengths import Integers

if TYPE_CHECKING:
    from trivium.curriculum.line import Line

BLOCK = 1 << 14  # documents


class Index(Protocol):
    """Gives an epoch's `block_sums`, or None where there is no index."""

    def __call__(self, line: "Line", epoch: int) -> Integers | None: ...


def no_index(line: "Line", epoch: int) -> None:
    """Every length is looked up."""


def block_sums(line: "Line", epoch: int) -> Integers:
    """Usable tokens of an epoch before each block of `BLOCK` documents, and of all at the end."""
    pool = line.pool
    sums = [0]
    for start in range(0, len(pool), BLOCK):
        _, tokens, patches = pool.look_up(epoch, start, min(len(pool), start + BLOCK))
        sums.append(sums[-1] + int(tokens[line.rules.usable(tokens, patches)].sum()))
    return np.array(sums, dtype=np.int64)


class KeptIndex:
    """Builds an index when it is first asked for, and keeps it in `folder`.

    `name` stands for the corpora's sizes: the plan's digest of them.
    """

    def __init__(self, folder: Path, name: str) -> None:
        self._folder, self._name = folder, name
        self._made: dict[str, Integers] = {}

    def __call__(self, line: "Line", epoch: int) -> Integers | None:
        if len(line.pool) <= 2 * BLOCK:  # looking the lengths up is as quick
            return None
        rules = "all" if line.supply.tokens == line.supply.train_tokens else repr(line.rules)
        parts = (self._name, line.pool.name, str(line.pool.seed), str(epoch), rules)
        key = hashlib.sha256("\x1f".join(parts).encode()).hexdigest()[:16]
        if key not in self._made:
            self._made[key] = self._kept(line, epoch, key)
        return self._made[key]

    def _kept(self, line: "Line", epoch: int, key: str) -> Integers:
        path = self._folder / f"index-{key}.npy"
        try:
            found = np.load(path)
            if found.shape == (-(-len(line.pool) // BLOCK) + 1,):
                return np.asarray(found, dtype=np.int64)
        except (OSError, ValueError, EOFError):  # an index that can't be read is built anew
            pass
        sums = block_sums(line, epoch)
        self._folder.mkdir(parents=True, exist_ok=True)
        fresh = path.with_suffix(".tmp.npy")
        np.save(fresh, sums)
        fresh.replace(path)
        return sums
