"""Rows and tokens a second of the curriculum on real document sizes, and the fill that it reaches; pass or fail.

The sizes are those of the standard library's sources at four bytes a token, repeated. Floors: `spec/targets.md`,
D1 (5 M tokens/s) and D2 (97 % fill at 8K).
"""

import os
import sys
import time
from pathlib import Path

import numpy as np

from trivium.curriculum import Catalogue, Plan, Schedule
from trivium.data.config import from_mapping

TOKENS_A_SECOND, FILL = 5e6, 0.97
CONTEXTS = (8 << 10, 64 << 10, 256 << 10)
COPIES = 20


def real_sizes() -> np.ndarray:
    """Tokens of every source file of the standard library."""
    library = Path(os.__file__).parent
    files = sorted(path for path in library.rglob("*.py") if "site-packages" not in path.parts)
    return np.array([path.stat().st_size // 4 + 2 for path in files], dtype=np.int64)


def measure(context: int, sizes: np.ndarray) -> bool:
    """Prints one line: how fast the rows of about 40 M tokens are handed out, counting pass not included."""
    names = np.array([f"d{i}" for i in range(len(sizes))], dtype=np.str_)
    catalogue = Catalogue(
        corpus="text",
        tokens=sizes,
        patches=np.zeros_like(sizes),
        bucket=np.zeros_like(sizes),
        buckets=("all",),
        cluster=names,
        id=names,
    )
    stage = {"name": "s", "context": context, "rows": 8, "tokens": 40_000_000, "mixture": {"text": 1}}
    raw = {"version": 1, "seed": 1, "corpora": {"text": {"path": "text"}}, "lr": {"peak": 1}, "stages": [stage]}
    plan = Plan.open(from_mapping(raw | {"window": 4096}, Schedule, name="bench"), {"text": catalogue})
    start = time.perf_counter()
    rows = sum(len(step.rows) for step, _ in plan.rows())
    seconds = time.perf_counter() - start
    facts = plan.stages[0]
    fill = facts.tokens / (facts.rows * context)
    passed = facts.tokens / seconds >= TOKENS_A_SECOND and (fill >= FILL or context > 8 << 10)
    print(
        f"{'pass' if passed else 'FAIL'}  context {context:>7}  {rows / seconds:>9,.0f} rows/s  "
        f"{facts.tokens / seconds / 1e6:>6.1f} M tokens/s  fill {fill:.2%}  {facts.documents:,} documents, "
        f"{facts.cut:,} cut (longer than the context)"
    )
    return passed


if __name__ == "__main__":
    sizes = np.tile(real_sizes(), COPIES)
    results = [measure(context, sizes) for context in CONTEXTS]
    sys.exit(0 if all(results) else 1)
