"""One record alone, by its key, through the very path that training takes: what comes of it, or why nothing does."""

import hashlib
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import msgspec

from trivium.curriculum.corpora import open_corpora
from trivium.curriculum.rows import Piece, Row
from trivium.curriculum.schedule import Schedule
from trivium.data.config import load_yaml
from trivium.data.records import Video
from trivium.data.shards import ShardSet
from trivium.errors import InputError, ShardError
from trivium.model.batch import NO_TARGET
from trivium.pipelines.train.config import load_run
from trivium.pipelines.train.loading.assemble import Assembler
from trivium.pipelines.train.loading.skipped import read_skipped
from trivium.pipelines.train.prepare import tokenised_by


def replay(run_file: Path, keys: Sequence[str], overrides: Sequence[str] = ()) -> list[dict[str, Any]]:
    """Facts of each record `corpus/id`; `usable` is False, with reason and detail, for one that a run leaves out.

    So is a key that names no corpus or no one record of it (reason `key`). Pictures are decoded by worker processes as
    in training, whatever `data.workers` says. Raises StorageError when storage gives no answer.
    """
    run = load_run(run_file, overrides)
    sets = open_corpora(run.corpora, load_yaml(Path(run.schedule), Schedule), damaged=True)
    vocabulary, rules = tokenised_by(sets)
    assembler = Assembler(sets, rules, vocabulary, msgspec.structs.replace(run.data, workers=1))
    try:
        return [_facts(assembler, sets, key) for key in keys]
    finally:
        assembler.close()


def keys_of(path: Path) -> list[str]:
    """The keys of a `skipped.jsonl`, each once. Raises InputError when there is no such file."""
    if not path.is_file():
        raise InputError(f"{path}: no such file; give the skipped.jsonl of a run folder")
    return list(dict.fromkeys(line["key"] for line in read_skipped(path)))


def _facts(assembler: Assembler, sets: dict[str, ShardSet], key: str) -> dict[str, Any]:
    corpus, _, name = key.partition("/")
    unknown = {"key": key, "usable": False, "reason": "key"}
    if corpus not in sets or not name:
        return unknown | {"detail": f"a key is CORPUS/ID, and the schedule's corpora are {', '.join(sets)}"}
    shards = sets[corpus]
    try:
        record = shards.find(name)
    except ShardError as error:
        return unknown | {"detail": str(error)}
    piece = Piece(corpus, record, 0, int(shards.entries.tokens[record]))
    made = assembler.assemble([Row((piece,), piece.tokens, int(shards.entries.patches[record]))])
    facts: dict[str, Any] = {"key": f"{corpus}/{shards.entries.id[record]}", "where": shards.where(record)}
    facts |= {"tokens": piece.tokens, "pictures": int(shards.entries.images[record])}
    if made.skips:
        return {**facts, "usable": False, "reason": made.skips[0].reason, "detail": made.skips[0].detail}
    batch = made.batch
    if len(batch.patches_P):
        clips = [one for one in shards.read_document(record).segments if isinstance(one, Video)]
        facts |= {"clips": len(clips), "frames": sum(clip.frames for clip in clips)} if clips else {}
    sums = hashlib.sha256()
    for tensor in (batch.tokens_T, batch.targets_T, batch.patches_P, batch.grids_I3):
        sums.update(tensor.numpy().tobytes())
    targets = int((batch.targets_T != NO_TARGET).sum())
    return {**facts, "usable": True, "targets": targets, "patches": len(batch.patches_P), "digest": sums.hexdigest()}
