"""Where the experts' uneven load comes from: Quantile Balancing on real batches of a run, taken apart.

    python scripts/quantile_load.py RUN.yaml [--set key=value …] [--warm 100] [--batches 48] [--json FILE]

Trains `warm` steps of the run, then freezes the weights and collects every router's scores on the next batches of the
same stage. On those scores, policies that differ in one thing only route each batch, and max / mean is averaged:

    drift     the bias from the batch before, one update (what training does)
    own       the bias from the batch itself, updated until it stands: what is left is ties and the histogram's width
    pool      one bias fitted to all batches together: what is left is how batches differ from their mean
    ema       the biases of the batches before, averaged with weight 0.9
    shuffled  the pool's bias on tokens drawn at random from all batches, as many as a batch has
    floor     the expected max / mean of a router that picks for each token on its own

`shuffled` against `pool` is the price of tokens that come in documents; `drift` against `pool` the price of fitting to
one batch; `floor` what no bias can mend. `twice` joins two batches, `four` four, before the policy `drift`.

T tokens, E experts.
"""

import argparse
import sys
from collections.abc import Callable, Sequence
from pathlib import Path

import msgspec
import torch
from torch import Tensor

from trivium.kernels.quantile import histogram, quantile_bias
from trivium.model.batch import MEDIA
from trivium.pipelines.train.balance import load_under, max_over_mean, router_scores, sampling_floor, short_name
from trivium.pipelines.train.config import Run, load_run
from trivium.pipelines.train.feed import Feed
from trivium.pipelines.train.prepare import build_model, deterministic, prepare
from trivium.pipelines.train.step import train_step

SETTLED = 20  # updates on one batch until its bias stands


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("run", type=Path)
    parser.add_argument("--set", action="append", default=[], dest="changes")
    parser.add_argument("--warm", type=int, default=100)
    parser.add_argument("--batches", type=int, default=48)
    parser.add_argument("--json", type=Path)
    given = parser.parse_args()
    run = load_run(given.run, given.changes)
    with deterministic(run):
        rows = measure(run, given)
    show(rows)
    if given.json:
        given.json.write_bytes(msgspec.json.format(msgspec.json.encode(rows), indent=1) + b"\n")
    return 0


def measure(run: Run, given: argparse.Namespace) -> list[dict[str, str | float]]:
    """Trains, freezes, collects, and takes every router's load apart: one row a layer."""
    prepared = prepare(run, name=str(given.run), cache=None)
    model = build_model(prepared)
    optimizer = run.optimizer.build(model)
    collected: list[dict[str, Tensor]] = []
    media: list[Tensor] = []
    trained: list[dict[str, float]] = []
    with Feed(prepared.plan, prepared.assembler()) as feed:
        for fed in feed:
            if len(collected) == given.batches:
                break
            batch = fed.batch.to(prepared.device)
            if fed.rows.step < given.warm:
                train_step(model, optimizer, prepared, batch, step=fed.rows.step + 1, lr=fed.rows.lr)
                trained.append({short_name(n): max_over_mean(load) for n, load in model.expert_load().items()})
                continue
            collected.append({name: s.cpu() for name, s in router_scores(model, batch, prepared.autocast()).items()})
            media.append((batch.modality_T == MEDIA).cpu())
    k = next(iter(model.balances().values())).experts_per_token
    return [
        {"layer": short_name(name), "training": mean([step[short_name(name)] for step in trained[-20:]])}
        | taken_apart([scores[name] for scores in collected], media, k)
        for name in collected[0]
    ]


def taken_apart(batches: Sequence[Tensor], media: Sequence[Tensor], k: int) -> dict[str, float]:
    """Mean max / mean of each policy over one router's batches of scores [T, E]."""
    pool_TE = torch.cat(list(batches))
    pooled_E = settle(pool_TE, k)
    half = len(batches) // 2
    generator = torch.Generator().manual_seed(0)
    drawn = [pool_TE[torch.randperm(len(pool_TE), generator=generator)[: len(batch)]] for batch in batches]
    texts = [b[~m] for b, m in zip(batches, media, strict=True) if len(m) == len(b)]
    tokens = sum(map(len, batches)) // len(batches)
    return {
        "drift": drift(batches, k, lambda bias, _: bias)[half:].mean().item(),
        "own": mean([routed(batch, settle(batch, k), k) for batch in batches[half:]]),
        "pool": mean([routed(batch, pooled_E, k) for batch in batches[half:]]),
        "ema": drift(batches, k, lambda bias, old: 0.9 * old + 0.1 * bias)[half:].mean().item(),
        "shuffled": mean([routed(batch, pooled_E, k) for batch in drawn[half:]]),
        "text only": drift(texts, k, lambda bias, _: bias)[half:].mean().item() if texts else float("nan"),
        "twice": drift(joined(batches, 2), k, lambda bias, _: bias)[half // 2 :].mean().item(),
        "four": drift(joined(batches, 4), k, lambda bias, _: bias)[half // 4 :].mean().item(),
        "floor": sampling_floor(tokens, pool_TE.shape[1], k),
    }


def drift(batches: Sequence[Tensor], k: int, blend: Callable[[Tensor, Tensor], Tensor]) -> Tensor:
    """Max / mean of each batch under the bias that the batches before it left."""
    bias_E = torch.zeros(batches[0].shape[1])
    loads = []
    for scores_TE in batches:
        loads.append(routed(scores_TE, bias_E, k))
        bias_E = blend(update(scores_TE, bias_E, k), bias_E)
    return torch.tensor(loads)


def settle(scores_TE: Tensor, k: int) -> Tensor:
    """The bias that updates on the same tokens arrive at."""
    bias_E = torch.zeros(scores_TE.shape[1])
    for _ in range(SETTLED):
        bias_E = update(scores_TE, bias_E, k)
    return bias_E


def update(scores_TE: Tensor, bias_E: Tensor, k: int) -> Tensor:
    """One step of Quantile Balancing by the model's own histogram."""
    cutoff_T = (scores_TE + bias_E).topk(k + 1, dim=1).values[:, -1]
    return quantile_bias(histogram(scores_TE, cutoff_T, bias_E), bias_E, len(scores_TE), k)


def routed(scores_TE: Tensor, bias_E: Tensor, k: int) -> float:
    return max_over_mean(load_under(scores_TE, bias_E, k))


def joined(batches: Sequence[Tensor], count: int) -> list[Tensor]:
    return [torch.cat(list(batches[i : i + count])) for i in range(0, len(batches) - count + 1, count)]


def mean(values: Sequence[float]) -> float:
    return sum(values) / len(values)


def show(rows: Sequence[dict[str, object]]) -> None:
    from rich.table import Table

    from trivium.console import out

    table = Table(*rows[0], title="busiest expert over the mean")
    for row in rows:
        table.add_row(*(value if isinstance(value, str) else f"{value:.3f}" for value in row.values()))
    out.print(table)


if __name__ == "__main__":
    sys.exit(main())
