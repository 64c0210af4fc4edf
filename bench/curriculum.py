"""The curriculum in one table: shuffle, replay, packing, row fill, balance over ranks, 10^9 documents; pass or fail.

Sizes are real: the demo's three corpora (`corpora_sizes.json`, tokens and patches of every document as tokenised) and
the sources of the standard library at four bytes a token, repeated in many copies. Times are of one core's processor
clock, the least of three. Floors: issue 3 (5 M documents/s of replay) and `spec/targets.md`: D1 (5 M tokens/s), D2
(97 % fill of 8K rows; goal 99.5 %), D3 (max / mean cost over 8 ranks ≤ 1.15; goal 1.02), T4 (state ≤ 10 KB).
Going to a step two thirds into 10^9 documents takes half a minute of it.
"""

import json
import os
import resource
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
from rich.console import Console
from rich.table import Table

from trivium.curriculum import Catalogue, Plan, Schedule
from trivium.curriculum.assumed import Assumed, AssumedCorpus, Lengths
from trivium.curriculum.line import Line
from trivium.curriculum.ranks import imbalance
from trivium.curriculum.rows import Cursor, StepRows
from trivium.curriculum.shuffle import permute
from trivium.curriculum.stage import FILL
from trivium.data.config import from_mapping

REPLAY, TOKENS, FILL_WANTED, BALANCE, STATE = 5e6, 5e6, 0.97, 1.15, 10 << 10
RANKS, STEPS, COPIES = 8, 60, 60
SIZES = Path(__file__).with_name("corpora_sizes.json")
MIXTURE = {"web": 0.45, "icons": 0.15, "drawings": 0.2, "code": 0.2}


@dataclass(frozen=True)
class Result:
    """One line of the table; `passed` is None where no floor stands."""

    what: str
    figure: str
    wanted: str = ""
    passed: bool | None = None


def clocked(action: Callable[[], Any], times: int = 3) -> float:
    """Processor seconds, the least of some runs."""
    best = float("inf")
    for _ in range(times):
        start = time.process_time()
        action()
        best = min(best, time.process_time() - start)
    return best


def catalogues(copies: int) -> dict[str, Catalogue]:
    """Four corpora with real sizes, each repeated `copies` times."""
    raw = json.loads(SIZES.read_text())
    library = Path(os.__file__).parent
    files = sorted(path for path in library.rglob("*.py") if "site-packages" not in path.parts)
    raw["code"] = [path.stat().st_size // 4 + 2 for path in files]
    made = {}
    for name in MIXTURE:
        tokens = np.tile(np.array(raw[name], dtype=np.int64), copies)
        patches = np.tile(np.array(raw.get(f"{name} patches", [0] * len(raw[name])), dtype=np.int64), copies)
        order = np.argsort(np.searchsorted([8192, 65536], tokens), kind="stable")
        names = np.array([f"{name}{i}" for i in range(len(tokens))], dtype=np.str_)
        made[name] = Catalogue(
            corpus=name,
            tokens=tokens[order],
            patches=patches[order],
            bucket=np.searchsorted([8192, 65536], tokens[order]).astype(np.int64),
            buckets=("8k", "64k", "1m"),
            cluster=names,
            id=names,
        )
    return made


def schedule(mixture: dict[str, float], **stage: Any) -> Schedule:
    raw = {
        "version": 1,
        "seed": 1,
        "corpora": {name: {"path": name} for name in mixture},
        "lr": {"peak": 1},
        "stages": [{"name": "s", "mixture": mixture, **stage}],
    }
    return from_mapping(raw, Schedule, name="bench")


def shuffle_and_replay(real: dict[str, Catalogue], billion: dict[str, AssumedCorpus]) -> list[Result]:
    """Positions a second of the bijection, and documents a second of lengths replayed without an index."""
    places = np.arange(1 << 20, dtype=np.int64) + 7_000_000_000
    rate = len(places) / clocked(lambda: permute(places, 10**10, 5))
    found = [Result("shuffle: positions of 10^10 items", f"{rate / 1e6:.1f} M/s")]
    plans = {
        "real sizes with pictures": Plan.open(schedule({"drawings": 1.0}, context=8192, rows=8, tokens=10**8), real),
        "real sizes, text": Plan.open(schedule({"code": 1.0}, context=8192, rows=8, tokens=10**8), real),
        "10^9 documents on paper": Plan.open(schedule({"web": 1.0}, context=8192, rows=8, tokens=10**10), billion),
    }
    for name, plan in plans.items():
        line: Line = max(plan.stages[0].lines, key=lambda one: len(one.pool))
        documents = min(len(line.pool) - 1, 4_000_000)
        border = 2 * line.supply.tokens * documents // len(line.pool)
        seconds = clocked(lambda line=line, border=border: line.skip(Cursor(), border))
        rate = documents / seconds
        found.append(Result(f"replay of lengths: {name}", f"{rate / 1e6:.1f} M documents/s", "≥ 5", rate >= REPLAY))
    return found


def planned(real: dict[str, Catalogue], context: int) -> tuple[Plan, int]:
    """A stage of whole steps, and its rows a step: else all steps together are short of tokens by up to one step's."""
    rows = max(1, (64 * 8192) // context)
    tokens = rows * int(context * FILL) * STEPS
    return Plan.open(schedule(MIXTURE, context=context, rows=rows, tokens=tokens), real), rows


def shares(steps: list[StepRows], context: int) -> tuple[float, float, float]:
    """Fill of all rows; mean and worst of the steps' max / mean cost over the ranks."""
    fill = sum(step.tokens for step in steps) / (sum(len(step.rows) for step in steps) * context)
    uneven = [imbalance(step.rows, RANKS) for step in steps if len(step.rows) >= RANKS]
    return fill, sum(uneven) / len(uneven), max(uneven)


def packing(real: dict[str, Catalogue], context: int) -> list[Result]:
    """Rows handed out at the defaults of window and fill: speed, fill, balance over ranks, and the size of a state."""
    plan, rows = planned(real, context)
    steps = [step for step, _ in plan.rows()]
    tokens = sum(step.tokens for step in steps)
    documents = sum(len(row.pieces) for step in steps for row in step.rows)
    seconds = clocked(lambda: sum(len(step.rows) for step, _ in plan.rows()), times=2)
    reached, mean, worst = shares(steps, context)
    label = f"{context // 1024}K rows"
    found = [
        Result(f"planned and packed, {label}", f"{documents / seconds / 1e3:.0f} k documents/s"),
        Result(f"the same in tokens, {label}", f"{tokens / seconds / 1e6:.0f} M/s", "≥ 5", tokens / seconds >= TOKENS),
    ]
    if context == 8192:
        sizes = sorted({len(step.rows) for step in steps})
        found.append(Result(f"D2 fill, {label}", f"{reached:.2%}", "≥ 97 %, goal 99.5 %", reached >= FILL_WANTED))
        found.append(
            Result(f"documents that fit and were cut, {label}", str(_cut(steps, real)), "0", not _cut(steps, real))
        )
        found.append(Result(f"rows a step, {label}", f"{rows} wanted, {sizes[0]} to {sizes[-1]} given"))
    else:
        found.append(Result(f"fill, {label}: one row a rank", f"{reached:.2%}"))
    floor = {"wanted": "≤ 1.15, goal 1.02", "passed": worst <= BALANCE} if context == 8192 else {}
    found.append(Result(f"D3 max / mean cost of {RANKS} ranks, {label}", f"{mean:.4f}, worst {worst:.4f}", **floor))
    state = len(msgspec.json.encode(next(islice(plan.rows(), 3, None))[1]))
    found.append(Result(f"T4 state, {label}", f"{state} bytes", "≤ 10 240", state <= STATE))
    return found


def _cut(steps: list[StepRows], real: dict[str, Catalogue]) -> int:
    """Pieces of documents that would have fitted a row whole."""
    pieces = ((step.context, piece) for step in steps for row in step.rows for piece in row.pieces)
    whole = ((context, piece.tokens, int(real[piece.corpus].tokens[piece.record])) for context, piece in pieces)
    return sum(tokens < length <= context for context, tokens, length in whole)


def a_billion(billion: dict[str, AssumedCorpus]) -> list[Result]:
    """Opening a plan over 10^9 documents, and a step two thirds into it, by lengths alone."""
    rules = schedule({"web": 1.0}, context=8192, rows=512, tokens=600_000_000_000)
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    opened = clocked(lambda: Plan.open(rules, billion))
    plan = Plan.open(rules, billion)
    deep = plan.steps * 2 // 3
    seconds = clocked(lambda: plan.at(deep), times=1)
    step = next(plan.rows(plan.at(deep)))[0]
    used = (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) / 1024
    skipped = deep / plan.steps * plan.stages[0].tokens / 1000
    return [
        Result("10^9 documents: plan opened", f"{opened:.2f} s"),
        Result(f"10^9 documents: step {deep:,} found and packed", f"{seconds:.0f} s, digest {step.digest}"),
        Result("10^9 documents: the same, documents replayed", f"about {skipped / seconds / 1e6:.1f} M/s"),
        Result("10^9 documents: more memory at most", f"{used:.0f} MiB", "≤ 200", used <= 200),
    ]


def main() -> int:
    web = Assumed(documents=10**9, lengths=Lengths(mean=1000, sigma=1.1))
    billion = {"web": AssumedCorpus("web", web, "8k,64k,1m")}
    results = [
        *a_billion(billion),  # first, while the process is small: its memory is measured
        *shuffle_and_replay(real := catalogues(COPIES), billion),
        *packing(real, 8192),
        *packing(real, 65536),
    ]
    table = Table("", "figure", "wanted", "")
    for result in results:
        verdict = "" if result.passed is None else "pass" if result.passed else "FAIL"
        table.add_row(result.what, result.figure, result.wanted, verdict)
    Console(width=130).print(table)
    return 0 if all(result.passed is not False for result in results) else 1


if __name__ == "__main__":
    sys.exit(main())
