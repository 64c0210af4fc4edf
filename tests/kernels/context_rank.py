"""One rank of a row that is shared: run by path in a process of its own, with ARGUMENTS = (rank, ranks, folder)."""

import torch
import torch.distributed as dist

from trivium.kernels.context import Share
from trivium.kernels.kda.context import kda_context_parallel
from trivium.kernels.short_conv.context import short_conv_context_parallel

rank, ranks, folder = globals()["ARGUMENTS"]
torch.set_num_threads(1)
dist.init_process_group("gloo", init_method=f"file://{folder}/meet", rank=rank, world_size=ranks)
row = torch.load(f"{folder}/row.pt")
H, K, V = row["sizes"]
tokens = len(row["x"])
share = Share.of(row["cu_seqlens"], tokens, rank, ranks)
mine = slice(share.start, share.stop)
x, gate, beta = (row[name][mine].requires_grad_() for name in ("x", "gate", "beta"))
weight, A, bias = (row[name].requires_grad_() for name in ("weight", "A", "bias"))
q, k, v = short_conv_context_parallel(x, weight, share).split([H * K, H * K, H * V], -1)
o = kda_context_parallel(
    q.unflatten(-1, (H, K)), k.unflatten(-1, (H, K)), v.unflatten(-1, (H, V)), gate, beta, A, bias, share
)
gradients = torch.autograd.grad(o, (x, gate, beta, weight, A, bias), row["do"][mine])
torch.save((o.detach(), *gradients), f"{folder}/{rank}.pt")
dist.destroy_process_group()
