"""A rank of a vocabulary that is shared: run by path in its own process, with ARGUMENTS = (rank, sizes, folder)."""

import importlib.util
import runpy
from pathlib import Path

import torch
import torch.distributed as dist

from trivium.kernels.cross_entropy import VocabularyShard, cross_entropy, linear_cross_entropy, torch_cross_entropy
from trivium.kernels.cross_entropy.autograd import TritonCrossEntropy, TritonLinearCrossEntropy

rank, sizes, folder = globals()["ARGUMENTS"]
torch.set_num_threads(1)
dist.init_process_group("gloo", init_method=f"file://{folder}/meet", rank=rank, world_size=len(sizes))
torch_cross_entropy.BLOCK_NUMBERS, torch_cross_entropy.MIN_BLOCK = 40, 2  # blocks whose count a rank's own size changes
row = torch.load(f"{folder}/row.pt")
targets, weights, z_loss, count = row["targets"], row["weights"], row["z_loss"], row["count"]
found = {}


def take(name, run, dtype):
    hidden = row["hidden"].to(dtype).requires_grad_()
    weight = row["weight"].split(sizes)[rank].to(dtype).requires_grad_()
    loss, seen = run(hidden, weight, VocabularyShard.of(weight))
    found[name] = [seen.detach(), *torch.autograd.grad(loss, (hidden, weight))]


def summed(hidden, weight, shard):
    return linear_cross_entropy(hidden, weight, targets, weights, z_loss=z_loss, count=count, shard=shard)[:2]


def single(hidden, weight, shard):
    loss_T = cross_entropy(hidden, weight, targets, shard=shard)
    return (loss_T * weights).sum(), loss_T


for dtype in (torch.float64, torch.float32):
    take(f"summed {dtype}", summed, dtype)
    take(f"single {dtype}", single, dtype)
if importlib.util.find_spec("triton"):
    from trivium.kernels.cross_entropy import triton_cross_entropy

    runpy.run_path(str(Path(__file__).with_name("conftest.py")))  # the interpreter with a new NumPy
    path = triton_cross_entropy.TritonPath
    triton_cross_entropy.BLOCK_NUMBERS, triton_cross_entropy.MIN_BLOCK, triton_cross_entropy.COLUMNS = 0, 8, 16

    def summed_by_triton(hidden, weight, shard):
        return TritonLinearCrossEntropy.apply(
            hidden, weight, targets, weights, z_loss, count, shard, path, True
        )[:2]  # fmt: skip

    def single_by_triton(hidden, weight, shard):
        loss_T = TritonCrossEntropy.apply(hidden, weight, targets, path, shard)
        return (loss_T * weights).sum(), loss_T

    take("summed triton", summed_by_triton, torch.float32)
    take("single triton", single_by_triton, torch.float32)
try:
    shard = VocabularyShard.of(row["weight"].split(sizes)[rank])
    cross_entropy(row["hidden"], row["weight"].split(sizes)[rank], targets + sum(sizes) * (targets > 0), shard=shard)
except RuntimeError as error:
    found["outside"] = str(error)
torch.save(found, f"{folder}/{rank}.pt")
dist.destroy_process_group()
