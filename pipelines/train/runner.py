"""`trivium train`: a run in its folder from start to report, however often it is started."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path
from typing import Any

import yaml

from trivium.console import counted
from trivium.console import note as say
from trivium.data.tokenizers.layout import split_tokens
from trivium.errors import ShardError
from trivium.pipelines.train.bigram import Bigrams, Document, count
from trivium.pipelines.train.changes import go_on
from trivium.pipelines.train.checkpoint import Checkpoint, CheckpointStore
from trivium.pipelines.train.config import dump_resolved, load_run
from trivium.pipelines.train.folder import (
    RunFolder,
    code_version,
    machine,
    read_changes,
    read_starts,
    record_start,
    write_atomically,
)
from trivium.pipelines.train.loop import Loop
from trivium.pipelines.train.prepare import Prepared, begins_from, deterministic, keep_tokenizer, prepare
from trivium.pipelines.train.ranks import joined
from trivium.pipelines.train.report import write_report
from trivium.pipelines.train.signals import StopRequest

BIGRAM_TOKENS = 20_000_000  # the baseline reads at most so many training tokens


def train(
    path: Path, out: Path, overrides: Sequence[str] = (), note: Callable[[str], None] = say
) -> dict[str, Any] | None:
    """Trains RUN.yaml in the folder `out`, going on from its newest checkpoint; returns the facts of report.json.

    `facts["complete"]` is False when a signal stopped it. Under torchrun this process is one of several ranks: the
    first writes, speaks and returns the facts, the others return None. Raises the errors of `trivium.errors`.
    """
    with ExitStack() as stack:
        folder, prepared, loop = _train(path, out, overrides, note, stack)
        if not prepared.ranks.first:
            return None
        facts = write_report(folder, run_facts(folder, prepared, loop), note)
    if facts["complete"]:
        note(f"{folder.root}: complete, {counted(facts['steps'], 'step')}")
    elif not facts["step"]:
        note(f"{folder.root}: stopped before its first step was whole; the same command begins anew")
    else:
        note(f"{folder.root}: saved at step {facts['step']} of {facts['steps']}; the same command goes on from there")
    return facts


def _train(
    path: Path, out: Path, overrides: Sequence[str], note: Callable[[str], None], stack: ExitStack
) -> tuple[RunFolder, Prepared, Loop]:
    """The training itself, with its ranks; what the report needs stays open in `stack`."""
    with joined() as ranks:
        folder, stop = RunFolder(out), stack.enter_context(StopRequest(ranks))
        say_here = note if ranks.first else _nothing
        found: Checkpoint | None = None
        with ranks.in_turn():
            run = load_run(path, overrides)
            if ranks.first:
                stack.enter_context(folder)
            stack.enter_context(deterministic(run, ranks))
            prepared = prepare(run, name=str(path), cache=folder.root / "plan", ranks=ranks)
            store = CheckpointStore(folder.checkpoints, keep=run.checkpoint.keep)
            if ranks.first:
                store.clean()
                found = store.newest(note)
                if found is not None:
                    go_on(found, prepared, folder, note)
                _write_start(folder, prepared, 0 if found is None else found.step, note)
        found = ranks.lead(lambda: found)
        prepared = replace(prepared, ranks=ranks.on(prepared.device))
        loop = Loop(prepared, folder, say_here)
        if found is not None:
            ranks.gather(lambda: loop.resume(found))
            say_here(f"{folder.root}: going on from the checkpoint of step {found.step} of {prepared.plan.steps}")
        else:
            for line in begins_from(prepared, loop.model):
                say_here(line)
        if loop.step < prepared.plan.steps:
            loop.run(stop)
    return folder, prepared, loop


def _nothing(_: str) -> None:
    pass


def _write_start(folder: RunFolder, prepared: Prepared, step: int, note: Callable[[str], None]) -> None:
    starts = read_starts(folder)
    code = code_version()
    if step and starts and starts[-1]["code"] != code:
        note(
            f"the run was last trained by other code ({starts[-1]['code']}, now {code}): steps may differ from here on"
        )
    resolved = dump_resolved(prepared.run, prepared.identity)
    text = yaml.safe_dump(resolved, sort_keys=False, allow_unicode=True, width=120)
    write_atomically(folder.config, text)
    keep_tokenizer(prepared, folder.root)
    record_start(folder, {"step": step, "code": code, "machine": machine()})


def run_facts(folder: RunFolder, prepared: Prepared, loop: Loop) -> dict[str, Any]:
    """What the report needs beside the metrics lines."""
    plan = prepared.plan
    stages = [
        {
            "index": i,
            "name": stage.name,
            "context": stage.context,
            "steps": plan.stages[i].steps,
            "first_step": plan.first_step(i),
        }
        for i, stage in enumerate(prepared.schedule.stages)
    ]
    parts: dict[str, int] = {}
    for name, parameter in loop.model.named_parameters():
        part = name.partition(".")[0]
        parts[part] = parts.get(part, 0) + parameter.numel()
    return {
        "steps": plan.steps,
        "bigram": bigram_facts(prepared, pictures=False),
        "bigram_pictures": bigram_facts(prepared, pictures=True),
        "documents": loop.skipped.documents,
        "stages": stages,
        "parameters": {"total": sum(parts.values()), "parts": parts},
        "starts": [{"at": start["at"], "step": start["step"]} for start in read_starts(folder)],
        "changes": read_changes(folder),
        "code": code_version(),
        "machine": machine(),
        "device": prepared.device.type,
        "config": dump_resolved(prepared.run, {"model": prepared.identity["model"]}),
    }


def bigram_facts(prepared: Prepared, *, pictures: bool) -> dict[str, Any]:
    """The bigram baseline (see `bigram`) of the training text, or of the targets in records with pictures; judged on
    the held-out side as well."""
    counted: Bigrams = count(_targets(prepared, "train", BIGRAM_TOKENS, pictures), prepared.vocabulary.size)
    if not counted.pairs:
        return {"entropy": None, "held_out_cross_entropy": None, "pairs": 0, "vocabulary": counted.vocabulary}
    kept = _targets(prepared, "held_out", BIGRAM_TOKENS, pictures)
    return {
        "entropy": round(counted.entropy(), 6),
        "held_out_cross_entropy": round(counted.cross_entropy(kept), 6),
        "pairs": counted.pairs,
        "vocabulary": counted.vocabulary,
    }


def _targets(prepared: Prepared, side: str, limit: int, pictures: bool) -> Iterator[Document]:
    """Records of one side without pictures, or with, up to `limit` tokens."""
    read = 0
    for name in sorted(prepared.sets):
        shards = prepared.sets[name]
        for record in map(int, getattr(prepared.plan.sides[name], side)):
            if read >= limit:
                return
            if bool(shards.entries.patches[record]) == pictures:
                try:
                    ids, loss = split_tokens(shards.read_tokens(record))
                except ShardError:  # damaged: training left it out as well
                    continue
                read += len(ids)
                yield ids, loss
