"""D2 and D3 as `bench/curriculum.py` has them: 8K rows of text, markup and pictures, dealt to eight ranks."""

from dataclasses import dataclass
from pathlib import Path

import curriculum


@dataclass(frozen=True)
class Balance:
    fill: float
    mean: float
    worst: float


def measure(folder: Path) -> Balance:
    plan, _ = curriculum.planned(curriculum.catalogues(curriculum.COPIES), 8192)
    return Balance(*curriculum.shares([step for step, _ in plan.rows()], 8192))
