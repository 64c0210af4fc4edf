"""Ours: rows planned, read, packed and made into batches; pictures cut into patches; the state of a plan."""

import json
from pathlib import Path

import numpy as np

from peers.measure import Figures, Memory, WrongError, check, processor
from peers.sets import CONTEXT, RULES, VOCABULARY, opened, plan_of
from trivium import __version__
from trivium.curriculum import Plan, rank_rows
from trivium.data.config import to_mapping
from trivium.data.shards import ShardSet
from trivium.model.batch import Batch
from trivium.pipelines.train.feed import Feed
from trivium.pipelines.train.loading.assemble import Assembler
from trivium.pipelines.train.loading.config import Data
from trivium.vision.pixels import picture_patches
from trivium.vision.preprocess import normalise

STEPS = 50  # behind a resume
ROWS = 16


def measure(folder: Path) -> Figures:
    text, photos = opened(folder, "text"), opened(folder, "photos")
    sizes = np.asarray(text.entries.tokens)
    sets = {"text": text}
    memory = Memory()
    plan = plan_of(sets, context=CONTEXT, rows=ROWS, steps=max(1, int(sizes.sum() * 0.9) // (CONTEXT * ROWS)))
    assembler = Assembler(sets, RULES, VOCABULARY, Data(workers=0))
    both, found = processor(lambda: sum(assembler.batch(step.rows).tokens for step, _ in plan.rows()))
    assembler.close()
    grown = memory.grown()
    steps = [step for step, _ in plan.rows()]
    check(found, sum(step.tokens for step in steps), "tokens through our loader")
    pieces = [piece for step in steps for row in step.rows for piece in row.pieces]
    cut = {p.record for p in pieces if p.tokens < sizes[p.record] <= CONTEXT}
    pictures = _pictures(photos)
    state, same, other = _resumed(sets)
    return Figures(
        "trivium",
        __version__,
        documents=len(pieces) / both,
        tokens=found / both,
        pictures=pictures,
        fill=found / (sum(len(step.rows) for step in steps) * CONTEXT),
        cut=len(cut),
        state=state,
        same=same,
        other=other,
        memory=grown,
        prepared=0.0,
        note="batches of a model: targets, borders, patches; pictures are cut as well",
    )


def read_alone(folder: Path) -> float:
    """Tokens a second of rows that are planned already."""
    sets = {"text": opened(folder, "text")}
    total = int(np.asarray(sets["text"].entries.tokens).sum())
    plan = plan_of(sets, context=CONTEXT, rows=ROWS, steps=max(1, int(total * 0.9) // (CONTEXT * ROWS)))
    rows = [step for step, _ in plan.rows()]
    assembler = Assembler(sets, RULES, VOCABULARY, Data(workers=0))
    seconds, _ = processor(lambda: [assembler.assemble(step.rows) for step in rows])
    assembler.close()
    return sum(step.tokens for step in rows) / seconds


def _pictures(photos: ShardSet) -> float:
    """One-megapixel JPEGs a second to normalised patches."""
    payloads = [photos.read_media(number, "i0.jpg") for number in range(len(photos))]
    seconds, patches = processor(lambda: sum(len(normalise(picture_patches(one, RULES)[0])) for one in payloads))
    check(patches, int(np.asarray(photos.entries.patches).sum()), "patches through our loader")
    return len(payloads) / seconds


def picture_paths(folder: Path) -> list[tuple[str, float]]:
    """The other ways of a picture: as a worker sends it, and from record to batch by the trainer and by a worker."""
    photos = opened(folder, "photos")
    payloads = [photos.read_media(number, "i0.jpg") for number in range(len(photos))]
    to_bytes, _ = processor(lambda: sum(len(picture_patches(payload, RULES)[0]) for payload in payloads))
    sets = {"photos": photos}
    steps = [step for step, _ in plan_of(sets, context=CONTEXT, rows=2, steps=2).rows()]
    shown = len({piece.record for step in steps for row in step.rows for piece in row.pieces})

    def through(workers: int) -> None:
        assembler = Assembler(sets, RULES, VOCABULARY, Data(workers=workers, cache_mib=4096))
        for step in steps:
            assembler.prefetch(step.rows)
        for step in steps:
            assembler.assemble(step.rows)
        assembler.close()  # reaps the processes, so that their time counts

    return [
        ("to uint8 patches, as a worker does", len(payloads) / to_bytes),
        ("record to batch, in the trainer", shown / processor(lambda: through(0))[0]),
        ("record to batch, by a worker process and its start", shown / processor(lambda: through(1))[0]),
    ]


def _resumed(sets: dict[str, ShardSet]) -> tuple[int, bool, bool]:
    """Bytes of the state; whether 50 steps behind a resume are the same by one rank, and the same rows by three."""
    plan = plan_of(sets, context=CONTEXT, rows=8, steps=2 * STEPS)
    whole = list(plan.rows())
    if len(whole) < 2 * STEPS:
        raise WrongError(f"the plan has {len(whole)} steps, and {2 * STEPS} are looked at")
    state = whole[STEPS - 1][1]
    stored = json.dumps(to_mapping(state))
    return len(stored), _goes_on(sets, plan, whole, 1), _goes_on(sets, plan, whole, 3)


def _goes_on(sets: dict[str, ShardSet], plan: Plan, whole: list, world: int) -> bool:
    shares = [lambda step, r=rank: tuple(rank_rows(step, r, world)) for rank in range(world)]
    assemblers = [Assembler(sets, RULES, VOCABULARY, Data(workers=0)) for _ in range(world + 1)]
    state = whole[STEPS - 1][1]
    feeds = [Feed(plan, assemblers[1 + i], state, share=share) for i, share in enumerate(shares)]
    same = True
    for step, _ in whole[STEPS : 2 * STEPS]:
        fed = [next(feed) for feed in feeds]
        same &= all(one.rows == step for one in fed)
        for rank, one in enumerate(fed):
            same &= _equal(one.batch, assemblers[0].batch(rank_rows(step, rank, world)))
    for feed in feeds:
        feed.close()
    for assembler in assemblers:
        assembler.close()
    return same


def _equal(one: Batch, other: Batch) -> bool:
    import torch

    return all(torch.equal(getattr(one, name), getattr(other, name)) for name in Batch.__slots__)
