"""Held-out losses: text, text of records with pictures, and the same with the pictures exchanged.

Odd: exchanging is done among records whose pictures have equal patch grids, so that token counts and places stay the
same and only what the tower sees differs. A record that no other one matches can't be exchanged and is left out there.

Evaluation changes nothing of the run: no gradients, evaluation mode (no counts for Quantile Balancing), no random draw
from torch's generators.
"""

import itertools
from collections import defaultdict
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch

from trivium.curriculum.plan import Plan
from trivium.curriculum.rows import Piece, Row
from trivium.model.batch import NO_TARGET, TEXT, Batch, collate
from trivium.model.joint import JointModel
from trivium.pipelines.train.gap import picture_gap
from trivium.pipelines.train.loading.assemble import Assembler, Pictures
from trivium.pipelines.train.loading.faults import Skip
from trivium.pipelines.train.loading.skipped import SHOWN
from trivium.pipelines.train.ranks import ALONE, Ranks

TOKENS_A_PASS = 8192  # rows are evaluated together up to this many tokens

Key = tuple[str, int]
Totals = defaultdict[str, list[float]]  # by split: loss, targets
Pairs = defaultdict[str, list[tuple[float, float, int]]]  # by corpus, a record each: own loss, exchanged loss, targets


@dataclass(frozen=True, slots=True)
class HeldOut:
    """Held-out rows, and for each record that can take part in the exchange the record whose pictures it gets.

    `skips` are the bad ones of the `documents` that were chosen: the losses are means over the rest.
    """

    rows: tuple[Row, ...]
    exchange: dict[Key, Key]
    skips: tuple[Skip, ...] = ()
    documents: int = 0

    @property
    def left_out(self) -> dict[str, Any] | None:
        """Its part of a metrics line; None when whole."""
        if not self.skips:
            return None
        keys = list(dict.fromkeys(skip.key for skip in self.skips))
        return {"documents": len(self.skips), "of": self.documents, "keys": keys[:SHOWN]}


def held_out(plan: Plan, assembler: Assembler, *, rows: int, context: int, patches: int, seed: int) -> HeldOut:
    """Up to `rows` rows of each corpus, of at most `context` tokens and `patches` patches, without bad records."""
    wanted: list[Row] = []
    for corpus in sorted(plan.schedule.corpora):
        wanted += plan.held_out(corpus, context=context, patches=patches)[:rows]
    chosen, skips = assembler.usable(wanted)
    grids: dict[Key, tuple[object, ...]] = {}
    for piece in (piece for row in chosen for piece in row.pieces):
        if assembler.shows(piece):
            key = (piece.corpus, piece.record)
            grids[key] = assembler.pictures(*key).grids
    return HeldOut(tuple(chosen), derangement(grids, seed), skips, sum(len(row.pieces) for row in wanted))


def derangement(grids: dict[Key, tuple[object, ...]], seed: int) -> dict[Key, Key]:
    """Gives each record another one's pictures of equal grids: one cycle through a seeded order of each group."""
    groups: defaultdict[tuple[object, ...], list[Key]] = defaultdict(list)
    for key in sorted(grids):
        groups[grids[key]].append(key)
    generator = np.random.default_rng(seed)
    exchange: dict[Key, Key] = {}
    for members in groups.values():
        order = [members[int(i)] for i in generator.permutation(len(members))]
        if len(order) > 1:
            exchange |= dict(zip(order, order[1:] + order[:1], strict=True))
    return exchange


def evaluate(
    model: JointModel,
    held: HeldOut,
    assembler: Assembler,
    device: torch.device,
    precision: AbstractContextManager[Any] | None = None,
    ranks: Ranks = ALONE,
) -> dict[str, Any]:
    """The held-out part of a metrics line: {split: {loss, targets}} with losses in nats a target.

    `image_shuffled` holds `matched` as well, the loss of the very same records with their own pictures, the `gap`
    between the two with its interval (see `gap`), and all of it by corpus: where every code holds what only its picture
    tells, the difference a record is what the picture is worth.

    The ranks take turns at the passes, and all get the result: the same as one alone has from the same weights.
    """
    groups = list(_groups(held.rows))

    def passes() -> list[list[Judged]]:
        with torch.no_grad(), precision or nullcontext():
            return [
                _pass(model, assembler, group, held.exchange, device) for group in groups[ranks.rank :: ranks.world]
            ]

    was_training = model.training
    model.eval()
    try:
        by_rank = ranks.gather(passes)
    finally:
        model.train(was_training)
    totals: Totals = defaultdict(lambda: [0.0, 0])
    pairs: Pairs = defaultdict(list)
    for one in (one for i in range(len(groups)) for one in by_rank[i % ranks.world][i // ranks.world]):
        total = totals["text" if one.modality == TEXT else "image"]
        total[0] += one.loss
        total[1] += one.targets
        if one.exchanged is not None:
            pairs[one.corpus].append((one.loss, one.exchanged, one.targets))
    split: dict[str, Any] = {name: _mean(*totals[name]) for name in ("text", "image")}
    split["image_shuffled"] = _exchanged(pairs)
    return split


def _exchanged(pairs: Pairs) -> dict[str, Any] | None:
    every = [pair for members in pairs.values() for pair in members]
    if not sum(targets for _, _, targets in every):
        return None
    whole = _worth(every)
    return {
        "loss": whole["exchanged"],
        "targets": sum(targets for _, _, targets in every),
        "matched": whole["matched"],
        "gap": whole["gap"],
        "corpora": {corpus: _worth(members) for corpus, members in pairs.items() if sum(t for _, _, t in members)},
    }


@dataclass(frozen=True, slots=True)
class Judged:
    """One piece: the sums of its losses with its own pictures and with another's (None where none matches)."""

    corpus: str
    modality: int
    targets: int
    loss: float
    exchanged: float | None


def _pass(
    model: JointModel, assembler: Assembler, rows: Sequence[Row], exchange: dict[Key, Key], device: torch.device
) -> list[Judged]:
    pieces = [piece for row in rows for piece in row.pieces]
    own = [assembler.pictures(piece.corpus, piece.record) for piece in pieces]
    sums, targets, modality = _losses(model, assembler, pieces, own, device)
    swaps = [exchange.get((piece.corpus, piece.record)) for piece in pieces]
    taking = [i for i, swap in enumerate(swaps) if swap is not None]
    changed: dict[int, float] = {}
    if taking:
        others = [assembler.pictures(*swaps[i]) for i in taking]  # type: ignore[misc]
        exchanged, _, _ = _losses(model, assembler, [pieces[i] for i in taking], others, device)
        changed = dict(zip(taking, exchanged, strict=True))
    return [Judged(piece.corpus, modality[i], targets[i], sums[i], changed.get(i)) for i, piece in enumerate(pieces)]


def _losses(
    model: JointModel,
    assembler: Assembler,
    pieces: Sequence[Piece],
    pictures: Sequence[Pictures],
    device: torch.device,
) -> tuple[list[float], list[int], list[int]]:
    """By piece: the sum of its losses, its targets, and the modality of its first token."""
    samples = [assembler.sample(piece, shown) for piece, shown in zip(pieces, pictures, strict=True)]
    batch: Batch = collate(samples, assembler.media_pad)
    loss_T = model(batch.to(device), mtp=False).loss_T.double().cpu()
    aims_T = batch.targets_T != NO_TARGET
    edges = batch.cu_seqlens.tolist()
    spans = [slice(start, stop) for start, stop in itertools.pairwise(edges)]
    return (
        [float(loss_T[span].sum()) for span in spans],
        [int(aims_T[span].sum()) for span in spans],
        [int(batch.modality_T[span.start]) for span in spans],
    )


def _groups(rows: Sequence[Row]) -> Iterator[list[Row]]:
    group: list[Row] = []
    size = 0
    for row in rows:
        if group and size + row.tokens > TOKENS_A_PASS:
            yield group
            group, size = [], 0
        group.append(row)
        size += row.tokens
    if group:
        yield group


def _worth(pairs: Sequence[tuple[float, float, int]]) -> dict[str, Any]:
    """Mean losses a target with the right and the wrong picture, and their difference a record, in nats."""
    own, exchanged, targets = ([pair[i] for pair in pairs] for i in range(3))
    return {
        "matched": sum(own) / sum(targets),
        "exchanged": sum(exchanged) / sum(targets),
        "records": len(pairs),
        "nats_a_picture": (sum(exchanged) - sum(own)) / len(pairs),
        "gap": picture_gap(own, exchanged, targets),
    }


def _mean(total: float, targets: float) -> dict[str, Any] | None:
    return {"loss": total / targets, "targets": int(targets)} if targets else None
