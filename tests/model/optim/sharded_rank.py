"""Training steps, in one process or as a rank of several: run by path, with ARGUMENTS = (rank, ranks, folder, device).

The folder holds `job.pt`: a model, its optimizer's state and the steps, each a list of documents that the ranks deal
out among themselves.
"""

import torch
import torch.distributed as dist

from trivium.model.batch import NO_TARGET, collate
from trivium.model.mtp import shifted_targets
from trivium.model.optim import OptimizerConfig, all_reduce_max, qk_clip

CONFIG = OptimizerConfig(qk_clip=1.55)


def train(model, optimizer, steps, rank=0, ranks=1, group=None):
    """What each step measured. One process takes a step's documents in one pass, a rank its own one by one."""
    facts = []
    for documents in steps:
        whole = collate(documents, model.config.media_pad)
        targets = int((whole.targets_T != NO_TARGET).sum())
        ahead = int((shifted_targets(whole.targets_T, whole.cu_seqlens) != NO_TARGET).sum())
        passes = [whole] if ranks == 1 else [collate([one], model.config.media_pad) for one in documents[rank::ranks]]
        for batch in passes:
            output = model(batch.to(model.backbone.embed.weight.device))
            (output.loss_T.sum() / targets + 0.3 * output.mtp_loss_T.sum() / ahead).backward()
        norms = optimizer.clip_grad_norm(0.5)
        optimizer.set_lr(0.001)
        optimizer.step()
        optimizer.zero_grad()
        logits = model.take_logit_max()
        if ranks > 1:
            logits = all_reduce_max(logits, group)
        clipped = qk_clip(model, logits, CONFIG.qk_clip)
        model.quantile_update(group)
        loads = {name: load.clone() for name, load in model.expert_load().items()}
        facts.append({"norms": norms, "logits": logits, "clipped": clipped, "loads": loads})
    return facts


def main(rank: int, ranks: int, folder: str, device: str = "cpu") -> None:
    torch.set_num_threads(1)
    if device == "cuda":
        torch.cuda.set_device(rank)
    backend = "nccl" if device == "cuda" else "gloo"
    dist.init_process_group(backend, init_method=f"file://{folder}/meet", rank=rank, world_size=ranks)
    job = torch.load(f"{folder}/job.pt", weights_only=False)
    model = job["model"].to(device)
    optimizer = CONFIG.build(model, dist.group.WORLD)
    optimizer.load_named_state(job["optimizer"])
    facts = train(model, optimizer, job["steps"], rank, ranks)
    result = {"facts": facts, "model": model.state_dict(), "rms": optimizer.update_rms()}
    held = sum(tensor.numel() for state in optimizer.state.values() for tensor in state.values())
    result |= {"optimizer": optimizer.named_state(), "held": held}
    torch.save(result, f"{folder}/{rank}.pt")
    dist.destroy_process_group()


if "ARGUMENTS" in globals():
    main(*globals()["ARGUMENTS"])
