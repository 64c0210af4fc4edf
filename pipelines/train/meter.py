"""Model FLOPs utilisation of the steps: what the mathematics asks for over what the GPUs could do in the time.

The FLOPs are `model.flops.algorithmic`'s of all ranks; the time is the first rank's, waiting for data included.
"""

from dataclasses import dataclass

import torch

from trivium.model.flops import mfu
from trivium.model.machine import peak_of
from trivium.pipelines.train.prepare import Prepared


@dataclass(frozen=True, slots=True)
class Meter:
    """`peak` is all GPUs' bf16 FLOP/s; None where there is nothing to compare with, and then no MFU."""

    peak: float | None

    @staticmethod
    def of(prepared: Prepared) -> "Meter":
        """None on a CPU, in fp32, and for a GPU whose data sheet is not known here."""
        on_gpu = prepared.device.type == "cuda" and prepared.precision == "bf16"
        one = peak_of(torch.cuda.get_device_name(prepared.device)) if on_gpu else None
        return Meter(None if one is None else one * prepared.ranks.world)

    def mfu(self, flops: int, seconds: float) -> float | None:
        return None if self.peak is None or seconds <= 0 else round(mfu(flops, seconds, self.peak), 6)
