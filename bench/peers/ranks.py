"""T4 as it is written: two ranks train over gloo, save in the middle and go on; then one and three go on from there.

A small model with all of nano's parts; a step's loss and gradients are summed over the ranks, so that the losses of two
runs are equal bit for bit only when every rank reads the same rows in the same order.
"""

import json
import multiprocessing
from dataclasses import dataclass
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

import torch
import torch.distributed as dist

from peers.sets import RULES, VOCABULARY, opened, plan_of
from trivium.curriculum import rank_rows
from trivium.curriculum.rows import State
from trivium.data.config import from_mapping, to_mapping
from trivium.model.joint import JointModel
from trivium.model.optim import OptimizerConfig, clip_grad_norm, qk_clip
from trivium.model.presets import configure
from trivium.pipelines.train.checkpoint import CheckpointStore, verify
from trivium.pipelines.train.feed import Feed
from trivium.pipelines.train.loading.assemble import Assembler
from trivium.pipelines.train.loading.config import Data

STEPS, CONTEXT, ROWS = 50, 128, 6  # steps before and behind the resume; rows of six share out evenly over 1, 2, 3
PATIENCE = 500.0  # seconds
MODEL = {
    "preset": "nano",
    "backbone": {
        "width": 32,
        "layers": 4,
        "dense_hidden": 64,
        "kda": {"heads": 2, "head_dim": 16},
        "mla": {"heads": 2, "head_dim": 16, "extra_dim": 8, "q_lora": 16, "kv_lora": 16},
        "moe": {"experts": 8, "experts_per_token": 2, "hidden": 16, "latent": 16},
        "vocab": VOCABULARY.size,
    },
    "vision": {"width": 32, "layers": 2, "heads": 2, "head_dim": 16, "hidden": 64},
    "media_pad": VOCABULARY.media_pad,
}


@dataclass(frozen=True)
class Resumed:
    """Of `STEPS` steps behind the resume: how many differ; bytes of the loader's state in the checkpoint."""

    losses: int
    rows: dict[int, int]  # by the number of ranks
    state: int


def measure(folder: Path) -> Resumed:
    whole = _ranks(folder, 2, until=2 * STEPS)
    again = _ranks(folder, 2, until=2 * STEPS, resume=True)
    wanted = whole[0]["steps"][STEPS:]
    losses = sum(one["loss"] != other["loss"] for one, other in zip(wanted, again[0]["steps"], strict=True))
    rows = {}
    for world in (1, 2, 3):
        found = again if world == 2 else _ranks(folder, world, until=2 * STEPS, resume=True, train=False)
        rows[world] = 0
        for number, step in enumerate(wanted):
            read = sorted(row for rank in found for row in rank["steps"][number]["rows"])
            planned = sorted(row for rank in whole for row in rank["steps"][STEPS + number]["rows"])
            rows[world] += read != planned or found[0]["steps"][number]["digest"] != step["digest"]
    return Resumed(losses, rows, whole[0]["state"])


def _ranks(folder: Path, world: int, **how: Any) -> list[dict[str, Any]]:
    """What each rank tells; they meet by a file."""
    fork = multiprocessing.get_context("fork")
    meet = folder / f"meet-{world}-{len(list(folder.glob('meet-*')))}"
    started = []
    for rank in range(world):
        ours, theirs = fork.Pipe(duplex=False)
        process = fork.Process(target=_rank, args=(folder, meet, rank, world, theirs), kwargs=how)
        process.start()
        started.append((process, ours))
    told = [ours.recv() if ours.poll(PATIENCE) else None for _, ours in started]
    for process, _ in started:
        process.join(10)
        process.kill()
    if None in told:
        raise SystemExit(f"a rank of {world} said nothing for {PATIENCE:.0f} s")
    return told


def _rank(
    folder: Path,
    meet: Path,
    rank: int,
    world: int,
    out: Connection,
    *,
    until: int,
    resume: bool = False,
    train: bool = True,
) -> None:
    torch.set_num_threads(1)
    torch.use_deterministic_algorithms(True)
    dist.init_process_group("gloo", init_method=f"file://{meet}", rank=rank, world_size=world)
    sets = {"text": opened(folder, "text")}
    plan = plan_of(sets, context=CONTEXT, rows=ROWS, steps=until + 5)
    model = configure(MODEL, name="bench").build(seed=0).train()
    optimizer = OptimizerConfig().build(model)
    state = None
    place = CheckpointStore(folder / "checkpoints", keep=1)
    if resume:
        found = verify(place.path(STEPS))
        tensors = found.tensors()
        model.load_state_dict(_under(tensors, "model/"), strict=True)
        optimizer.load_named_state(_under(tensors, "optimizer/"))
        state = plan.adopt(from_mapping(found.state["curriculum"], State, name="checkpoint"))
    assembler = Assembler(sets, RULES, VOCABULARY, Data(workers=0))
    steps, size = [], 0
    with Feed(plan, assembler, state, share=lambda step: tuple(rank_rows(step, rank, world))) as feed:
        for fed in feed:
            mine = [str(row) for row in rank_rows(fed.rows, rank, world)]
            loss = _step(model, optimizer, fed.batch) if train else None
            steps.append({"digest": str(fed.rows.digest), "rows": mine, "loss": loss})
            number = fed.rows.step + 1
            if number == STEPS and not resume:
                plain = to_mapping(fed.behind)
                size = len(json.dumps(plain))
                if rank == 0:
                    tensors = {f"model/{name}": tensor for name, tensor in model.state_dict().items()}
                    tensors |= {f"optimizer/{name}": tensor for name, tensor in optimizer.named_state().items()}
                    place.save(number, tensors, {"curriculum": plain}, {})
            if number == until:
                break
    out.send({"steps": steps, "state": size})
    dist.barrier()
    dist.destroy_process_group()


def _step(model: JointModel, optimizer: Any, batch: Any) -> str:
    """The step's loss over all ranks, exactly (hexadecimal)."""
    targets = torch.tensor([float(batch.targets)])
    dist.all_reduce(targets)
    output = model(batch)
    loss = (output.loss_T.sum() + 0.3 * output.mtp_loss_T.sum()) / targets.clamp(min=1)
    loss.sum().backward()
    for parameter in model.parameters():
        if parameter.requires_grad:
            if parameter.grad is None:
                parameter.grad = torch.zeros_like(parameter)
            dist.all_reduce(parameter.grad)
    clip_grad_norm(model.named_parameters(), 1.0)
    optimizer.set_lr(0.003)
    optimizer.step()
    optimizer.zero_grad()
    maxima = model.take_logit_max()
    for largest in maxima.values():
        dist.all_reduce(largest, op=dist.ReduceOp.MAX)
    qk_clip(model, maxima, 100.0)
    model.quantile_update()
    whole = loss.detach().clone()
    dist.all_reduce(whole)
    return float(whole).hex()


def _under(tensors: dict[str, torch.Tensor], prefix: str) -> dict[str, torch.Tensor]:
    return {name.removeprefix(prefix): tensor for name, tensor in tensors.items() if name.startswith(prefix)}
