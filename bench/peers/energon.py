"""megatron-energon: crude webdataset, its packing buffer with best fit, savable loader, no worker processes.

As its guide says: `energon prepare` (its own index, written beside hard links to the same tars), a task encoder with a
cooker, `packing_buffer_size`, `shuffle_buffer_size`. Documents longer than a row are split by the encoder, which its
users do themselves; the others are packed whole. Batches are made of tensors as ours are: ids and document borders.
"""

import contextlib
import io
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import torch

from peers.measure import Figures, Memory, check, processor
from peers.sets import CONTEXT, opened, tars

BUFFER, SHUFFLE = 1024, 1000  # samples; a packing buffer as large as our window
AHEAD, NEXT = 60, 20  # rows of each rank before and behind the resume


def measure(folder: Path) -> Figures:
    import megatron.energon as energon

    text, photos = opened(folder, "text"), opened(folder, "photos")
    with contextlib.redirect_stdout(io.StringIO()):
        prepared, _ = processor(lambda: _prepare(folder, "text", tars(text), "tokens"), 1)
        _prepare(folder, "photos", tars(photos), "i0.jpg")
    memory = Memory()
    total, documents = int(np.asarray(text.entries.tokens).sum()), len(text)
    seen: dict[str, Any] = {}

    def one_pass() -> None:
        rows = [(len(row.ids), row.pieces) for row in _loader(folder, epochs=1)]
        seen.update(tokens=sum(size for size, _ in rows), rows=len(rows), pieces=[p for _, ps in rows for p in ps])

    seconds, _ = processor(one_pass)
    check(seen["tokens"], total, "tokens through energon")
    grown = memory.grown()
    fit = {key for key, parts in seen["pieces"] if parts > 1}
    long = {text.entries.id[i] for i in np.flatnonzero(np.asarray(text.entries.tokens) > CONTEXT).tolist()}
    pictures, shown = processor(lambda: sum(1 for _ in _pictures(folder)))
    check(shown, len(photos), "pictures through energon")
    state, same = _resumed(folder)
    return Figures(
        "megatron-energon",
        energon.__version__,
        documents=documents / seconds,
        tokens=total / seconds,
        pictures=len(photos) / pictures,
        fill=total / (seen["rows"] * CONTEXT),
        cut=len(fit - long),
        state=state,
        same=same,
        other=_other_world(folder),
        memory=grown,
        prepared=prepared,
        note=f"packs a buffer of {BUFFER}; the state holds the buffers' restore keys; keeps order for ranks × workers",
    )


def _prepare(folder: Path, corpus: str, paths: list[Path], member: str) -> None:
    """What `energon prepare` does, without its questions."""
    from megatron.energon.flavors.webdataset import BaseWebdatasetFactory

    place = folder / f"energon-{corpus}"
    place.mkdir(exist_ok=True)
    for path in paths:
        if not (place / path.name).exists():
            os.link(path, place / path.name)
    names = [path.name for path in paths]
    BaseWebdatasetFactory.prepare_dataset(place, names, split_parts_patterns=[("train", ".*")], workers=1)
    kind = f"__module__: megatron.energon\n__class__: CrudeWebdataset\npart_filter: [{member}]\n"
    (place / ".nv-meta" / "dataset.yaml").write_text(kind)


def _encoder() -> Any:
    from megatron.energon import Cooker, Sample, TaskEncoder, basic_sample_keys, edataclass, stateless

    @edataclass
    class Piece(Sample):
        ids: torch.Tensor
        parts: int  # of its document

    @edataclass
    class Row(Sample):
        ids: torch.Tensor
        cu_seqlens: torch.Tensor
        pieces: list

    @stateless
    def cook(sample: dict) -> Piece:
        raw = np.frombuffer(sample["tokens"], "<u4")
        return Piece(**basic_sample_keys(sample), ids=torch.from_numpy((raw & 0x7FFFFFFF).astype(np.int64)), parts=1)

    class Encoder(TaskEncoder):
        cookers = (Cooker(cook),)
        decoder = None

        @stateless
        def encode_sample(self, sample: Piece) -> Iterator[Piece]:
            parts = -(-len(sample.ids) // CONTEXT)
            for start in range(0, len(sample.ids), CONTEXT):
                yield Piece.derive_from(sample, ids=sample.ids[start : start + CONTEXT], parts=parts)

        def select_samples_to_pack(self, samples: list[Piece]) -> list[list[Piece]]:
            """Best fit, longest first."""
            rows: list[list[Piece]] = []
            left = np.empty(0, np.int64)
            for sample in sorted(samples, key=lambda one: -len(one.ids)):
                room = np.where(left >= len(sample.ids), left, CONTEXT + 1)
                at = int(room.argmin()) if len(room) else 0
                if not len(room) or room[at] > CONTEXT:
                    rows.append([sample])
                    left = np.append(left, CONTEXT - len(sample.ids))
                else:
                    rows[at].append(sample)
                    left[at] -= len(sample.ids)
            return rows

        @stateless
        def pack_selected_samples(self, samples: list[Piece]) -> Row:
            ids = torch.cat([one.ids for one in samples])
            borders = torch.tensor([0, *(len(one.ids) for one in samples)]).cumsum(0)
            pieces = [(one.__key__.rpartition("/")[2], one.parts) for one in samples]
            return Row.derive_from(samples[0], ids=ids, cu_seqlens=borders, pieces=pieces)

    return Encoder()


def _loader(folder: Path, *, epochs: int | None = None, rank: int = 0, world: int = 1) -> Any:
    """Of the training split, or of one pass over it."""
    from megatron.energon import WorkerConfig, get_savable_loader, get_train_dataset

    data = get_train_dataset(
        folder / "energon-text",
        worker_config=WorkerConfig(rank=rank, world_size=world, num_workers=0),
        batch_size=None,
        shuffle_buffer_size=SHUFFLE,
        max_samples_per_sequence=100,
        packing_buffer_size=BUFFER,
        task_encoder=_encoder(),
        repeat=epochs is None,
    )
    return get_savable_loader(data)


def _pictures(folder: Path) -> Iterator[Any]:
    """Decoded by its own decoder to uint8."""
    from megatron.energon import (
        Cooker,
        Sample,
        SampleDecoder,
        TaskEncoder,
        WorkerConfig,
        basic_sample_keys,
        edataclass,
        get_loader,
        get_train_dataset,
        stateless,
    )

    @edataclass
    class Shown(Sample):
        pixels: Any

    @stateless
    def cook(sample: dict) -> Shown:
        return Shown(**basic_sample_keys(sample), pixels=sample["i0.jpg"])

    class Encoder(TaskEncoder):
        cookers = (Cooker(cook),)
        decoder = SampleDecoder(image_decode="torchrgb8")

    data = get_train_dataset(
        folder / "energon-photos",
        worker_config=WorkerConfig(rank=0, world_size=1, num_workers=0),
        batch_size=None,
        shuffle_buffer_size=None,
        max_samples_per_sequence=None,
        task_encoder=Encoder(),
        repeat=False,
    )
    for sample in get_loader(data):
        assert len(sample.pixels.shape) == 3
        yield sample


def _taken(rows: Iterator[Any], count: int) -> list[tuple[bytes, tuple[str, ...]]]:
    taken = (next(rows) for _ in range(count))
    return [(row.ids.numpy().tobytes(), tuple(key for key, _ in row.pieces)) for row in taken]


def _resumed(folder: Path) -> tuple[int, bool]:
    """Bytes of the state by torch.save, as its guide stores it, and whether the next rows are the same."""
    loader = _loader(folder)
    rows = iter(loader)
    _taken(rows, AHEAD)
    stored = io.BytesIO()
    torch.save(loader.save_state_rank(), stored)
    wanted = _taken(rows, NEXT)
    later = _loader(folder)
    stored.seek(0)
    later.restore_state_rank(torch.load(stored, weights_only=False))
    return stored.getbuffer().nbytes, _taken(iter(later), NEXT) == wanted


def _other_world(folder: Path) -> bool:
    """Two ranks save, three go on with the two states: do the next rows hold the documents that two would have read?"""
    loaders = [_loader(folder, rank=rank, world=2) for rank in range(2)]
    rows = [iter(loader) for loader in loaders]
    for one in rows:
        _taken(one, AHEAD)
    states = [loader.save_state_rank() for loader in loaders]
    wanted = sorted(row for one in rows for row in _taken(one, NEXT * 3))
    found = []
    for rank in range(3):
        later = _loader(folder, rank=rank, world=3)
        try:
            later.restore_state_rank(states[rank] if rank < 2 else None)
            found += _taken(iter(later), NEXT * 2)
        except Exception:  # it refuses: no rows either
            return False
    return sorted(found) == wanted
