"""One optimizer step: forward, backward, clip, step, QK-clip, Quantile Balancing, and what it all measured.

T tokens of the step, H heads, E experts.
"""

import math
import time
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from torch import Tensor

from trivium.errors import TrainError
from trivium.model.batch import MEDIA, NO_TARGET, TEXT, Batch
from trivium.model.joint import JointModel, Output
from trivium.model.optim import PerHeadMuon, clip_grad_norm, qk_clip
from trivium.pipelines.train.balance import load_facts
from trivium.pipelines.train.config import Loss
from trivium.pipelines.train.prepare import Prepared

SHOWN = 8  # names of gradients that are not finite


@dataclass(frozen=True, slots=True)
class Losses:
    """`objective` is what is minimised; means by modality are None without targets of that modality."""

    objective: Tensor
    text: Tensor | None
    image: Tensor | None
    mtp: Tensor | None


def weigh(output: Output, batch: Batch, weights: Loss) -> Losses:
    """Σ weight · loss / Σ weight over the step's targets, plus the MTP layer's mean loss times its weight."""
    aims_T = batch.targets_T != NO_TARGET
    text_T = aims_T & (batch.modality_T == TEXT)
    image_T = aims_T & ~text_T
    weight_T = text_T * weights.text + image_T * weights.image
    objective = (output.loss_T * weight_T).sum() / weight_T.sum().clamp(min=1e-9)
    mtp = None
    if output.mtp_loss_T is not None and output.mtp_targets_T is not None:
        mtp = output.mtp_loss_T.sum() / (output.mtp_targets_T != NO_TARGET).sum().clamp(min=1)
        objective = objective + weights.mtp * mtp
    detached_T = output.loss_T.detach()
    return Losses(objective, _mean(detached_T, text_T), _mean(detached_T, image_T), mtp)


def _mean(loss_T: Tensor, of_T: Tensor) -> Tensor | None:
    count = int(of_T.sum())
    return loss_T[of_T].sum() / count if count else None


def train_step(
    model: JointModel, optimizer: PerHeadMuon, prepared: Prepared, batch: Batch, *, step: int, lr: float
) -> dict[str, Any]:
    """One step on `batch`; returns its part of the metrics line. `step` counts from 1.

    Raises TrainError before anything is changed when the loss or its gradient is not finite.
    """
    began = time.perf_counter()
    with prepared.autocast():
        losses = weigh(model(batch), batch, prepared.run.loss)
    objective = float(losses.objective.detach())
    _check(objective, "loss", step, prepared)
    losses.objective.backward()
    norms = clip_grad_norm(model.named_parameters(), prepared.run.grad_clip)
    _check(norms["total"], "gradient norm", step, prepared, model)
    middle = time.perf_counter()
    optimizer.set_lr(lr)
    optimizer.step()
    optimizer.zero_grad()
    logits = model.take_logit_max()
    clipped = qk_clip(model, logits, prepared.run.optimizer.qk_clip)
    model.quantile_update()
    end = time.perf_counter()
    return {
        "lr": lr,
        "loss": {"total": objective, **{kind: _number(getattr(losses, kind)) for kind in ("text", "image", "mtp")}},
        "tokens": count_tokens(batch),
        "targets": batch.targets,
        "grad_norm": norms["total"],
        "vision_grad_norm": norms.get("vision"),
        "max_logit": largest(logits),
        "clipped_heads": clipped,
        "experts": load_facts(model.expert_load()),
        "time": {"forward_backward": middle - began, "optimizer": end - middle},
    }


def _check(value: float, what: str, step: int, prepared: Prepared, model: JointModel | None = None) -> None:
    if math.isfinite(value):
        return
    raise TrainError(
        f"the {what} is {value} at step {step}{_blame(model)}; nothing was updated and the checkpoints are as they "
        f"were. A run that goes on from them will meet it again: lower lr.peak in the schedule (now "
        f"{prepared.schedule.lr.peak:g}) or grad_clip (now {prepared.run.grad_clip:g}), and give another --out"
    )


def _blame(model: JointModel | None) -> str:
    """Which gradients are not finite, from the last layer back: what is wrong in one spreads to those before it."""
    if model is None:
        return ""
    given = [(name, p.grad) for name, p in model.named_parameters() if p.grad is not None]
    bad = [name for name, gradient in given if not bool(gradient.isfinite().all())]
    shown = ", ".join(reversed(bad[-SHOWN:]))
    return f" ({len(bad):,} of {len(given):,} gradients are not finite, from the last layer back: {shown})"


def count_tokens(batch: Batch) -> dict[str, int]:
    """Text and vision tokens of a batch; vision tokens are those that pictures' vectors fill."""
    vision = int((batch.modality_T == MEDIA).sum())
    return {"text": batch.tokens - vision, "vision": vision}


def largest(logits: Mapping[str, Tensor]) -> float | None:
    """The largest attention logit over all heads; None for a model without MLA or before any forward pass."""
    values = [float(logit_H.max()) for logit_H in logits.values()]
    finite = [value for value in values if value != float("-inf")]
    return max(finite) if finite else None


def _number(value: Tensor | None) -> float | None:
    return None if value is None else float(value.detach())
