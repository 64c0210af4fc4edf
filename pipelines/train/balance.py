"""How even the experts' load is, and why not: the figures behind the report's expert charts.

T tokens, E experts, K experts a token, D width.
"""

from collections.abc import Mapping
from contextlib import AbstractContextManager, nullcontext
from functools import cache
from typing import Any

import numpy as np
import torch
from torch import Tensor

from trivium.model.batch import Batch
from trivium.model.joint import JointModel
from trivium.model.moe import LatentMoE, router_logits
from trivium.model.mtp import last_rows
from trivium.pipelines.train.ranks import ALONE, Ranks

_DRAWS = 400
EACH = 4  # tokens an expert, in a document long enough to be judged alone


def load_facts(load: Mapping[str, Tensor]) -> dict[str, Any] | None:
    """{layers, max_over_mean, dead, idle} of one step's routed tokens by layer; None for a model without experts.

    `idle` names the experts without a token, `dead` counts them: who stays idle over many steps is seen in the lines.
    """
    if not load:
        return None
    counts = torch.stack(list(load.values())).cpu()
    return {
        "layers": [short_name(name) for name in load],
        "max_over_mean": [max_over_mean(load_E) for load_E in counts],
        "dead": (counts == 0).sum(dim=1).tolist(),
        "idle": [(load_E == 0).nonzero().squeeze(1).tolist() for load_E in counts],
    }


def short_name(layer: str) -> str:
    """`backbone.layers.3` → `layer 3`, `backbone.mtp.layer` → `mtp`."""
    parts = layer.split(".")
    return "mtp" if "mtp" in parts else f"layer {parts[-1]}"


def max_over_mean(load_E: Tensor) -> float:
    """The busiest expert's tokens over the mean; 1 is even, 0 when nothing was routed."""
    total = int(load_E.sum())
    return round(float(load_E.max()) * load_E.numel() / total, 6) if total else 0.0


@torch.no_grad()
def router_scores(
    model: JointModel, batch: Batch, precision: AbstractContextManager[Any] | None = None
) -> dict[str, Tensor]:
    """Sigmoid scores [T, E] of every router on a batch, in evaluation mode: nothing is counted."""
    scores: dict[str, Tensor] = {}
    hooks = []
    for name, module in model.named_modules():
        if isinstance(module, LatentMoE):
            record = _recorder(name.removesuffix(".mlp"), scores)
            hooks.append(module.register_forward_pre_hook(record, with_kwargs=True))
    was_training = model.training
    model.eval()
    try:
        with precision or nullcontext():
            model(batch, mtp=True)
    finally:
        model.train(was_training)
        for hook in hooks:
            hook.remove()
    return scores


def _recorder(name: str, scores: dict[str, Tensor]) -> Any:
    def record(module: LatentMoE, inputs: tuple[Tensor, ...], named: dict[str, Any]) -> None:
        x_TD, real_T = inputs[0].float(), named.get("real_T")
        if real_T is not None:  # the MTP layer leaves out rows without a next token
            x_TD = x_TD[real_T]
        scores[name] = torch.sigmoid(router_logits(x_TD, module.router.weight))  # fp32 inside autocast too

    return record


def load_under(scores_TE: Tensor, bias_E: Tensor, k: int) -> Tensor:
    """Routed tokens [E] when the top `k` of score + bias are taken."""
    chosen_TK = (scores_TE + bias_E).topk(k, dim=1).indices
    return torch.bincount(chosen_TK.reshape(-1), minlength=scores_TE.shape[1])


def within_documents(scores_TE: Tensor, bias_E: Tensor, k: int, document_T: Tensor) -> tuple[float, float, int]:
    """Sums over documents of max / mean inside one and of what chance alone would give, and their number.

    Only documents count in which an even router would give each expert EACH tokens or more: 4 · E / K tokens.
    """
    experts = scores_TE.shape[1]
    chosen_TK = (scores_TE + bias_E).topk(k, dim=1).indices
    documents = int(document_T.max()) + 1 if len(document_T) else 0
    place_TK = document_T[:, None] * experts + chosen_TK
    load_DE = torch.bincount(place_TK.reshape(-1), minlength=documents * experts).view(documents, experts)
    load_DE = load_DE[load_DE.sum(1) >= EACH * experts]
    floors = [sampling_floor(_coarse(int(routed) // k), experts, k) for routed in load_DE.sum(1)]
    return sum(map(max_over_mean, load_DE)), sum(floors), len(load_DE)


def _coarse(tokens: int) -> int:
    """Four leading bits: lengths that chance hardly tells apart share a draw."""
    rest = max(0, tokens.bit_length() - 4)
    return tokens >> rest << rest


def probe(
    model: JointModel,
    batch: Batch,
    precision: AbstractContextManager[Any] | None = None,
    ranks: Ranks = ALONE,
) -> dict[str, Any]:
    """Max / mean by layer on the step's own batch: with the bias used on it, after the update, and the sampling floor.

    Call it between `quantile_update` and the next step. `before` is what the step counted; `after` routes the same
    tokens with the new weights and the new bias; `within`, `within_floor` and `documents` are the means of
    `within_documents` over that routing and their number (None, None and 0 where no document is long enough). Several
    ranks have a part of the batch each and measure the whole.
    """
    load = model.expert_load()
    document_T = torch.arange(len(batch.cu_seqlens) - 1, device=batch.cu_seqlens.device).repeat_interleave(
        batch.cu_seqlens.diff()
    )
    ahead_T = ~last_rows(batch.cu_seqlens, batch.tokens)  # the rows that the MTP layer routes
    balances = {name.removesuffix(".mlp.balance"): balance for name, balance in model.balances().items()}

    def routed() -> list[tuple[Tensor, tuple[float, float, int]]]:
        if ranks.world > 1 and batch.blank:
            return [(torch.zeros_like(load[layer].cpu()), (0.0, 0.0, 0)) for layer in balances]
        scores = router_scores(model, batch, precision)
        found = []
        for layer, balance in balances.items():
            k = balance.experts_per_token
            rows_T = document_T[ahead_T] if "mtp" in layer.split(".") else document_T
            inside = within_documents(scores[layer], balance.bias, k, rows_T)
            found.append((load_under(scores[layer], balance.bias, k).cpu(), inside))
        return found

    by_rank = ranks.gather(routed)
    measured: dict[str, list[Any]] = {
        name: [] for name in ("before", "after", "floor", "within", "within_floor", "documents")
    }
    for place, (layer, balance) in enumerate(balances.items()):
        load_E = torch.stack([found[place][0] for found in by_rank]).sum(0)
        within, floors, documents = (sum(found[place][1][i] for found in by_rank) for i in range(3))
        k = balance.experts_per_token
        measured["before"].append(max_over_mean(load[layer]))
        measured["after"].append(max_over_mean(load_E))
        measured["floor"].append(sampling_floor(int(load_E.sum()) // k, len(load_E), k))
        measured["within"].append(within / documents if documents else None)
        measured["within_floor"].append(floors / documents if documents else None)
        measured["documents"].append(documents)
    return measured


@cache
def sampling_floor(tokens: int, experts: int, k: int) -> float:
    """Expected max / mean of a router that is even in expectation and picks for each token on its own."""
    draws = np.random.default_rng(0).binomial(tokens, k / experts, size=(_DRAWS, experts))
    return round(float(draws.max(axis=1).mean()) * experts / (tokens * k), 6)
