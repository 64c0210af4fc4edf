"""Clips: the norm of all gradients together, and QK-clip on the weights behind too large attention logits."""

import math
from collections.abc import Iterable, Mapping

import torch
from torch import Tensor, nn

PARTS = ("backbone", "vision", "projector")


@torch.no_grad()
def clip_grad_norm(named_parameters: Iterable[tuple[str, Tensor]], most: float) -> dict[str, float]:
    """Scales all gradients so that their joint L2 norm is at most `most`; one reading of each gradient.

    Returns the norms before scaling: `total`, and by part (`backbone`, `vision`, `projector`) where it has gradients.
    A norm that is not finite is returned and nothing is scaled: the caller decides.
    """
    named = [(name, p.grad) for name, p in named_parameters if p.grad is not None]
    if not named:
        return {"total": 0.0}
    norms: list[float] = torch.stack(torch._foreach_norm([gradient for _, gradient in named])).tolist()
    total = math.hypot(*norms)
    found = {"total": total}
    for part in PARTS:
        mine = [norm for norm, (name, _) in zip(norms, named, strict=True) if name.startswith(part + ".")]
        if mine:
            found[part] = math.hypot(*mine)
    if most < total < float("inf"):
        torch._foreach_mul_([gradient for _, gradient in named], most / total)
    return found


@torch.no_grad()
def qk_clip(model: nn.Module, logit_max: Mapping[str, Tensor], tau: float | None = 100.0) -> int:
    """Shrinks query and key weights of each head whose largest logit of the step passed `tau`; how many there were.

    `logit_max`: by MLA module name, the largest scaled logit before the softmax of each head over the whole step (and
    over all ranks). γ = min(1, τ/max): content rows of the head's query and its key rows shrink by √γ, the query's rows
    against the shared extra key by γ, and the shared key is left alone (K2, section 2.1; K3 report, section 3.3). KDA
    needs none: its queries and keys have unit length. `tau` None turns it off.
    """
    if tau is None:
        return 0
    clipped = 0
    for name, max_H in logit_max.items():
        attention = model.get_submodule(name)
        config = attention.config
        content, queries = config.head_dim, config.head_dim + config.extra_dim
        # Heads without a forward pass hold −inf, which is below every τ.
        gamma_H = torch.where(max_H > tau, tau / max_H, torch.ones_like(max_H))
        hit = int((gamma_H < 1).sum())
        if not hit:
            continue
        clipped += hit
        gamma_H11 = gamma_H[:, None, None].to(attention.q_b_proj.weight.dtype)
        q_HQL = attention.q_b_proj.weight.view(config.heads, queries, -1)
        q_HQL[:, :content].mul_(gamma_H11.sqrt())
        q_HQL[:, content:].mul_(gamma_H11)
        attention.kv_b_proj.weight.view(config.heads, 2 * content, -1)[:, :content].mul_(gamma_H11.sqrt())
    return clipped
