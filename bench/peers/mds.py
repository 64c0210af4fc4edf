"""mosaicml-streaming: a copy in its own format, py1e shuffle, StreamingDataLoader; documents come one by one.

As its guide says: MDSWriter (the conversion's cost stands under `prepared`), batch_size given to both dataset and
loader, state by `state_dict`. Its order is the same for any number of ranks when the step's batch stays as large;
that is looked at with processes that it takes for ranks, two and then three.
"""

import io
import json
import multiprocessing
import os
import shutil
import time
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

import numpy as np
import torch
from PIL import Image as Picture

from peers.measure import Figures, Memory, WrongError, check, processor
from peers.sets import opened
from trivium.data.shards import ShardSet

STEP = 12  # samples of all ranks
AHEAD, NEXT = 40, 50  # steps before and behind the resume
PATIENCE = 120.0  # seconds


def measure(folder: Path) -> Figures:
    import streaming

    text, photos = opened(folder, "text"), opened(folder, "photos")
    total = int(np.asarray(text.entries.tokens).sum())
    prepared, _ = processor(lambda: _convert(folder / "mds-text", text, "tokens", "bytes"), 1)
    _convert(folder / "mds-photos", photos, "i0.jpg", "jpeg")
    state, same, other = _resumes(folder / "mds-text")  # first: it forks, and what follows leaves threads
    memory = Memory()

    def tokens() -> int:
        return sum(len(ids) for batch in _loader(folder / "mds-text", STEP) for ids in batch["value"])

    seconds, found = processor(tokens)
    check(found, total, "tokens through streaming")
    grown = memory.grown()
    pictures, shown = processor(lambda: sum(len(batch["value"]) for batch in _loader(folder / "mds-photos", 1)))
    check(shown, len(photos), "pictures through streaming")
    return Figures(
        "mosaicml-streaming",
        streaming.__version__,
        documents=len(text) / seconds,
        tokens=total / seconds,
        pictures=len(photos) / pictures,
        state=state,
        same=same,
        other=other,
        memory=grown,
        prepared=prepared,
        note="no packing; its own copy of the data",
    )


def _convert(place: Path, shards: ShardSet, member: str, kind: str) -> None:
    from streaming import MDSWriter

    shutil.rmtree(place, ignore_errors=True)
    with MDSWriter(out=str(place), columns={"key": "str", "value": kind}) as sink:
        for number in range(len(shards)):
            payload = shards.read_media(number, member)
            value = payload if kind == "bytes" else Picture.open(io.BytesIO(payload))
            sink.write({"key": str(shards.entries.id[number]), "value": value})


def _collate(samples: list[dict[str, Any]]) -> dict[str, list[Any]]:
    """Ids as tensors; pixels as they are decoded."""
    values = []
    for sample in samples:
        value = sample["value"]
        if isinstance(value, bytes):
            value = torch.from_numpy((np.frombuffer(value, "<u4") & 0x7FFFFFFF).astype(np.int64))
        else:
            value = np.asarray(value)
        values.append(value)
    return {"key": [sample["key"] for sample in samples], "value": values}


def _loader(place: Path, batch: int) -> Any:
    from streaming import StreamingDataLoader, StreamingDataset
    from streaming.base.util import clean_stale_shared_memory

    if int(os.environ.get("WORLD_SIZE", "1")) == 1:
        clean_stale_shared_memory()
    data = StreamingDataset(local=str(place), shuffle=True, batch_size=batch, num_canonical_nodes=1)
    return StreamingDataLoader(data, batch_size=batch, num_workers=0, collate_fn=_collate)


def _resumes(place: Path) -> tuple[int, bool, bool]:
    """Bytes of the state; whether the steps behind it are the same by one rank, and, begun by two, by three."""
    (alone,) = _ranks(place, 1, None)
    (again,) = _ranks(place, 1, alone["state"])
    two = _ranks(place, 2, None)
    three = _ranks(place, 3, two[0]["state"])
    sets = [[sorted(key for rank in ranks for key in rank["steps"][i]) for i in range(NEXT)] for ranks in (two, three)]
    return len(alone["state"]), again["steps"] == alone["steps"], sets[0] == sets[1]


def _ranks(place: Path, world: int, state: str | None) -> list[dict[str, Any]]:
    """What each rank reads behind the resume. Forked: streaming takes nine seconds to import."""
    fork = multiprocessing.get_context("fork")
    started = []
    for rank in range(world):
        ours, theirs = fork.Pipe(duplex=False)
        process = fork.Process(target=_rank, args=(place, rank, world, state, theirs))
        process.start()
        started.append((process, ours))
    found = []
    for process, ours in started:
        if not ours.poll(PATIENCE):
            raise WrongError(f"streaming: a rank of {world} said nothing for {PATIENCE} s")
        found.append(ours.recv())
        process.kill()  # its threads of an epoch that is left early may never end
        process.join()
    return found


def _rank(place: Path, rank: int, world: int, state: str | None, out: Connection) -> None:
    """One rank's part of the steps behind the resume, and the state there."""
    place_of = {"RANK": rank, "LOCAL_RANK": rank, "WORLD_SIZE": world, "LOCAL_WORLD_SIZE": world}
    place_of |= {"MASTER_ADDR": "127.0.0.1", "MASTER_PORT": 29517 + world}
    os.environ.update({name: str(value) for name, value in place_of.items()})
    loader = _loader(place, STEP // world)
    if state is not None:
        loader.load_state_dict(json.loads(state))
    batches = iter(loader)
    if state is None:
        for _ in range(AHEAD):
            next(batches)
        state = json.dumps(loader.state_dict())
    out.send({"state": state, "steps": [next(batches)["key"] for _ in range(NEXT)]})
    time.sleep(PATIENCE)  # the other ranks may still need this one
