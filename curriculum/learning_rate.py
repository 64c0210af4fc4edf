"""The learning rate as a pure function of the step: linear warm-up, then cosine, stable-decay or constant."""

import math

from trivium.curriculum.schedule import LearningRate


def learning_rate(step: int, steps: int, curve: LearningRate) -> float:
    """The rate of `step` (0-based) in a run of `steps`; the last step has exactly `peak · min_ratio`, unless constant.

    Warm-up takes ceil(steps · warmup_ratio) steps and ends at the peak (K3 report, section 3.3: 1 %, then cosine).
    """
    if not 0 <= step < steps:
        raise ValueError(f"step {step} is outside the run's {steps} steps")
    warmup = math.ceil(steps * curve.warmup_ratio)
    if step < warmup:
        return curve.peak * ((step + 1) / warmup)
    if curve.shape == "constant":
        return curve.peak
    if curve.shape == "wsd":
        start = max(warmup, steps - math.ceil(steps * curve.decay_ratio))
        fall = _progress(step, start, steps)
    else:
        fall = 0.5 - 0.5 * math.cos(math.pi * _progress(step, warmup, steps))
    return curve.peak * (1.0 - (1.0 - curve.min_ratio) * fall)


def _progress(step: int, start: int, steps: int) -> float:
    """0 up to `start`, 1 at the last step, a line between."""
    if step < start:
        return 0.0
    return (step - start) / (steps - 1 - start) if steps - 1 > start else 1.0
