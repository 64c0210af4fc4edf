"""One rank of a row that is shared: run by path in a process of its own, with ARGUMENTS = (rank, ranks, folder)."""

import torch
import torch.distributed as dist

from trivium.kernels.context import Share
from trivium.kernels.mla.context import context_plan, mla_context_parallel

rank, ranks, folder = globals()["ARGUMENTS"]
torch.set_num_threads(1)
dist.init_process_group("gloo", init_method=f"file://{folder}/meet", rank=rank, world_size=ranks)
row = torch.load(f"{folder}/row.pt")
tokens = len(row["q"])
share = Share.of(row["cu_seqlens"], tokens, rank, ranks)
mine = slice(share.start, share.stop)
leaves = [row[name][mine].requires_grad_() for name in ("q", "c", "extra")]
up = row["up"].requires_grad_()
gate = row["gate"][mine].requires_grad_() if row["gated"] else None
o, row_max = mla_context_parallel(*leaves, up, share, tokens, gate_THV=gate, plan=context_plan(share))
wanted = [*leaves, *([gate] if row["gated"] else []), up]
torch.save((o.detach(), row_max, *torch.autograd.grad(o, wanted, row["do"][mine])), f"{folder}/{rank}.pt")
dist.destroy_process_group()
