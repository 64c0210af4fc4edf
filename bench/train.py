"""Speed of a whole nano step on this machine: tokens a second by context, checkpoints, decoding.

Random tokens in ragged documents, a fifth of them with a 112-pixel picture; full steps with the demo's optimizer.
Floors are about a third of what two idle AVX2 cores reach: a red line means a defect and not a busy neighbour.
"""

import os
import sys
import tempfile
import time
from pathlib import Path

os.environ.setdefault("OMP_WAIT_POLICY", "passive")  # as `trivium train` does, before torch is imported

import numpy as np
import torch

from trivium.model.batch import Batch, Sample, collate
from trivium.model.decode import prefill
from trivium.model.decode import step as decode_step
from trivium.model.joint import JointModel
from trivium.model.optim import OptimizerConfig, PerHeadMuon, clip_grad_norm, qk_clip
from trivium.model.presets import preset
from trivium.pipelines.train.checkpoint import CheckpointStore
from trivium.pipelines.train.saver import Saver

FLOORS = {"256": 900.0, "1k": 1200.0, "8k": 1000.0}  # tokens a second
HELD_UP = 0.3  # seconds that a checkpoint may hold the loop up
DECODE = 50.0  # tokens a second
STEPS = 5
PATCHES = 64  # 112 × 112 pixels


def main() -> int:
    torch.set_flush_denormal(True)
    model = preset("nano").build(seed=0).train()
    optimizer = OptimizerConfig(adamw_also=(r"projector\.fc0\.weight",)).build(model)
    passed = True
    for name, context, rows in (("256", 256, 4), ("1k", 1024, 2), ("8k", 8192, 1)):
        rate = tokens_a_second(model, optimizer, batch(model, context, rows))
        passed &= report(f"step, rows of {name}", rate, FLOORS[name], "tok/s")
    passed &= checkpoints(model, optimizer)
    passed &= report("decode", decoding(model), DECODE, "tok/s")
    return 0 if passed else 1


def batch(model: JointModel, context: int, rows: int) -> Batch:
    """`rows` rows filled with documents of 32 to `context` tokens."""
    dice = np.random.default_rng(context)
    samples = []
    for _ in range(rows):
        left = context
        while left >= 32:
            size = int(min(left, dice.integers(32, context + 1)))
            ids = dice.integers(0, 2000, size)
            shown = size > 40 and dice.random() < 0.2
            if shown:
                ids[2 : 2 + PATCHES // 4] = model.config.media_pad
            patches = [torch.from_numpy(dice.random((PATCHES, 588), dtype=np.float32))] if shown else []
            samples.append(Sample(ids, np.ones(size, bool), [(1, 8, 8)] if shown else [], patches))
            left -= size
    return collate(samples, model.config.media_pad)


def tokens_a_second(model: JointModel, optimizer: PerHeadMuon, data: Batch) -> float:
    """Median over whole steps after one to warm up."""
    times = []
    for _ in range(STEPS + 1):
        began = time.perf_counter()
        output = model(data)
        (output.loss_T.mean() + 0.3 * output.mtp_loss_T.mean()).backward()
        norms = clip_grad_norm(model.named_parameters(), 1.0)
        if not np.isfinite(norms["total"]):
            raise SystemExit("the gradient is not finite; no speed is printed")
        optimizer.set_lr(1e-3)
        optimizer.step()
        optimizer.zero_grad()
        qk_clip(model, model.take_logit_max())
        model.quantile_update()
        times.append(time.perf_counter() - began)
    return data.tokens / sorted(times[1:])[STEPS // 2]


def checkpoints(model: JointModel, optimizer: PerHeadMuon) -> bool:
    """How long a checkpoint holds the loop up, and how long until it stands on the disk."""
    tensors = {f"model/{name}": tensor for name, tensor in model.state_dict().items()}
    tensors |= {f"optimizer/{name}": tensor for name, tensor in optimizer.named_state().items()}
    with tempfile.TemporaryDirectory() as folder:
        store = CheckpointStore(Path(folder), keep=2)
        with Saver(store) as saver:
            began = time.perf_counter()
            saver.save(1, tensors, {}, {})
            held = time.perf_counter() - began
        written = time.perf_counter() - began
        size = sum(path.stat().st_size for path in store.path(1).iterdir()) / 1e6
    print(f"checkpoint           {size:8.1f} MB, on the disk after {written:.2f} s")
    return report("checkpoint holds up", held, HELD_UP, "s", most=True)


def decoding(model: JointModel) -> float:
    """Tokens a second from the caches, after 64 tokens."""
    threads = torch.get_num_threads()
    torch.set_num_threads(1)  # one token's work is too small to share
    model.eval()
    opening = Sample(np.arange(64), np.zeros(64, bool))
    state = prefill(model, collate([opening], model.config.media_pad))
    began = time.perf_counter()
    for token in range(32):
        decode_step(model, [token], state)
    torch.set_num_threads(threads)
    return 32 / (time.perf_counter() - began)


def report(what: str, value: float, bound: float, unit: str, *, most: bool = False) -> bool:
    passed = value <= bound if most else value >= bound
    print(
        f"{what:<20} {value:8.3g} {unit:<6} {'at most' if most else 'floor'} {bound:g}  {'pass' if passed else 'FAIL'}"
    )
    return passed


if __name__ == "__main__":
    sys.exit(main())
