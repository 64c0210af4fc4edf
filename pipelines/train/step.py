"""One optimizer step: forward, backward, clip, step, QK-clip, Quantile Balancing, and what it all measured.

Several ranks make one step as one process would on all their rows: each divides its sums by what the whole step has,
and gradients are summed. They speak three times beside the optimizer: what there is to divide by, the losses with
whether all came through, and the largest logits.

T tokens of the step, H heads, E experts.
"""

import math
import time
from collections.abc import Mapping
from dataclasses import astuple, dataclass
from typing import Any

import torch
from torch import Tensor

from trivium.errors import TrainError
from trivium.model.batch import MEDIA, NO_TARGET, TEXT, Batch
from trivium.model.flops import Work, algorithmic, products
from trivium.model.joint import Aims, JointConfig, JointModel, Output
from trivium.model.mtp import shifted_targets
from trivium.model.optim import PerHeadMuon, all_reduce_max, qk_clip
from trivium.pipelines.train.balance import load_facts
from trivium.pipelines.train.config import Loss
from trivium.pipelines.train.leave import StepLeftError
from trivium.pipelines.train.prepare import Prepared
from trivium.pipelines.train.ranks import Ranks

SHOWN = 8  # names of gradients that are not finite


@dataclass(frozen=True, slots=True)
class Counts:
    """What a batch, or a whole step, holds: targets by modality and of the MTP layer, tokens, algorithmic FLOPs."""

    text: float
    image: float
    ahead: float
    tokens: float
    media: float
    flops: float

    @staticmethod
    def of(batch: Batch, config: JointConfig) -> "Counts":
        aims_T = batch.targets_T != NO_TARGET
        text_T = batch.modality_T == TEXT
        ahead_T = shifted_targets(batch.targets_T, batch.cu_seqlens) != NO_TARGET
        masks = (aims_T & text_T, aims_T & ~text_T, ahead_T, batch.modality_T == MEDIA)
        text, image, ahead, media = torch.stack([mask.sum() for mask in masks]).tolist()
        work = Work.of(batch)
        return Counts(text, image, ahead, work.tokens, media, products(algorithmic(config, work)).total)

    def over(self, ranks: Ranks) -> "Counts":
        """Of the whole step."""
        return Counts(*ranks.sum(astuple(self)))


@dataclass(frozen=True, slots=True)
class Losses:
    """Shares of the whole step's losses; `objective` is minimised, `mtp` None for a model without that layer."""

    objective: Tensor
    text: Tensor
    image: Tensor
    mtp: Tensor | None

    def numbers(self) -> list[float]:
        parts = (self.objective, self.text, self.image, self.objective.new_zeros(()) if self.mtp is None else self.mtp)
        numbers: list[float] = torch.stack([part.detach() for part in parts]).tolist()
        return numbers


def aims_of(batch: Batch, weights: Loss, own: Counts, whole: Counts) -> Aims:
    """Σ weight · loss / Σ weight over the step's targets, plus the MTP layer's mean loss times its weight.

    `own` counts the batch's targets, `whole` the step's, of which the batch may hold a part.
    """
    text_T = batch.modality_T == TEXT
    weight_T = text_T * weights.text + ~text_T * weights.image
    total = weights.text * whole.text + weights.image * whole.image
    count = own.text + own.image + own.ahead
    return Aims(weight_T / max(total, 1e-9), weights.mtp / max(whole.ahead, 1), int(count))


def weigh(output: Output, batch: Batch, whole: Counts) -> Losses:
    """The objective of a pass with `aims_of`, and its share of the mean losses by modality and of the MTP layer."""
    assert output.objective is not None
    aims_T = batch.targets_T != NO_TARGET
    text_T = aims_T & (batch.modality_T == TEXT)
    image_T = aims_T & ~text_T
    mtp = None if output.mtp_loss_T is None else output.mtp_loss_T.sum() / max(whole.ahead, 1)
    text = output.loss_T[text_T].sum() / max(whole.text, 1)
    image = output.loss_T[image_T].sum() / max(whole.image, 1)
    return Losses(output.objective, text, image, mtp)


def train_step(
    model: JointModel, optimizer: PerHeadMuon, prepared: Prepared, batch: Batch, *, step: int, lr: float
) -> dict[str, Any]:
    """One step, on this rank's `batch` of it; returns its part of the metrics line. `step` counts from 1.

    Raises before anything is changed: TrainError when the loss or its gradient is not finite, StepLeftError on all
    ranks when one of them leaves the step, OtherRankError where another rank has failed.
    """
    began = time.perf_counter()
    ranks = prepared.ranks
    idle = ranks.world > 1 and batch.blank  # fewer rows than ranks: what stands in for a row counts for nothing
    own = Counts(0, 0, 0, 0, 0, 0) if idle else Counts.of(batch, model.config)
    whole = own.over(ranks)
    objective, text, image, mtp = _pass(model, prepared, None if idle else batch, own, whole)
    _check(objective, "loss", step, prepared)
    with ranks.linked():
        norms = optimizer.clip_grad_norm(prepared.run.grad_clip)
        _check(norms["total"], "gradient norm", step, prepared, optimizer)
        middle = time.perf_counter()
        optimizer.set_lr(lr)
        optimizer.step()
        optimizer.zero_grad()
        logits = model.take_logit_max()
        if ranks.world > 1:
            logits = all_reduce_max(logits, ranks.group)
        clipped = qk_clip(model, logits, prepared.run.optimizer.qk_clip)
        model.quantile_update(ranks.group)
    end = time.perf_counter()
    losses = {"text": text if whole.text else None, "image": image if whole.image else None, "mtp": mtp}
    return {
        "lr": lr,
        "loss": {"total": objective, **losses},
        "tokens": {"text": int(whole.tokens - whole.media), "vision": int(whole.media)},
        "targets": int(whole.text + whole.image),
        "flops": int(whole.flops),
        "grad_norm": norms["total"],
        "vision_grad_norm": norms.get("vision"),
        "max_logit": largest(logits),
        "clipped_heads": clipped,
        "experts": load_facts(model.expert_load()),
        "time": {"forward_backward": middle - began, "optimizer": end - middle},
    }


def _pass(
    model: JointModel, prepared: Prepared, batch: Batch | None, own: Counts, whole: Counts
) -> tuple[float, float, float, Any]:
    """Forwards and backwards; the whole step's losses (`Losses`' four), once every rank has come through.

    Odd: a rank that leaves the step or fails in it still tells the others, who would wait for its gradients.
    """
    ranks = prepared.ranks
    numbers, left, failure = [0.0] * 4, 0, None
    try:
        if batch is not None:
            with prepared.autocast():
                aims = aims_of(batch, prepared.run.loss, own, whole)
                losses = weigh(model(batch, aims=aims), batch, whole)
            losses.objective.backward()
            numbers = losses.numbers()
    except StepLeftError:
        left = 1
    except Exception as error:
        if ranks.world == 1:
            raise
        failure = error
    anyone_left, failed, *sums = ranks.sum([left, failure is not None, *numbers])
    ranks.settle(failure, failed)
    if anyone_left:
        model.zero_grad(set_to_none=True)
        raise StepLeftError
    objective, text, image, mtp = sums
    return objective, text, image, mtp if model.config.backbone.mtp_layers else None


def _check(value: float, what: str, step: int, prepared: Prepared, optimizer: PerHeadMuon | None = None) -> None:
    if math.isfinite(value):
        return
    raise prepared.ranks.alike(
        TrainError(
            f"the {what} is {value} at step {step}{_blame(optimizer, prepared.ranks)}; nothing was updated and the "
            f"checkpoints are as they were. A run that goes on from them will meet it again: lower lr.peak in the "
            f"schedule (now {prepared.schedule.lr.peak:g}) or grad_clip (now {prepared.run.grad_clip:g}), and give "
            "another --out"
        )
    )


def _blame(optimizer: PerHeadMuon | None, ranks: Ranks) -> str:
    """Which gradients are not finite, from the last layer back: what is wrong in one spreads to those before it."""
    if optimizer is None:
        return ""
    by_rank = ranks.gather(optimizer.finite_gradients)  # several may own pieces of one parameter
    found = [name for name in optimizer.names if any(name in mine for mine in by_rank)]
    bad = [name for name in found if not all(mine.get(name, True) for mine in by_rank)]
    shown = ", ".join(reversed(bad[-SHOWN:]))
    return f" ({len(bad):,} of {len(found):,} gradients are not finite, from the last layer back: {shown})"


def largest(logits: Mapping[str, Tensor]) -> float | None:
    """The largest attention logit over all heads; None for a model without MLA or before any forward pass."""
    values = [float(logit_H.max()) for logit_H in logits.values()]
    finite = [value for value in values if value != float("-inf")]
    return max(finite) if finite else None
