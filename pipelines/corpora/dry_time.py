"""How long a build will take: what an earlier report or a sample says, and the start of its jobs beside it.

Odd: in a small build the start is nearly all of the time, in a large one without much to extract the way through the
jobs, and no sample shows either. What a job takes to start was measured on a build of thirty records, what it takes for
a record on one of 48,000 and one of a million: orders of magnitude, not those of the machine at hand.
"""

from collections.abc import Iterable
from pathlib import Path
from typing import Any

import msgspec

from trivium.data.stage import StageConfig
from trivium.pipelines.corpora.driver import Segment
from trivium.pipelines.corpora.output import REPORT
from trivium.pipelines.corpora.work import SMALL

BEGIN_S = 1.5  # before the first job: what is imported
JOB_S, WORKERS_S = 0.2, 3.0  # to start a job in this process; in worker processes
RECORD_S = 1e-4  # of one core, for a record to go through a job
_BANDED, _KEYED = 7, 2  # Beam jobs of a shuffle, about: with bands sign, candidates, verify, components, label …


def seconds_of(
    out: Path, corpus: str, items: int | None, work: float, workers: int, jobs: int, start: float
) -> dict[str, Any] | None:
    """The time on the clock: `start`, and behind it the time of an earlier build of the corpus in `out` by its report,
    as if this one were in proportion, or else `work`, the sample's, and the way of all items through the `jobs`."""
    try:
        facts = msgspec.json.decode((out / REPORT / "report.json").read_bytes())
        before, seconds = int(facts["totals"]["items"]), float(facts["run"]["seconds"])
    except (OSError, msgspec.DecodeError, KeyError, TypeError, ValueError):
        if items is None:
            return None
        by = f"the sample's stages and {1000 * RECORD_S:g} ms for a record in each job"
        return _told(start, (work + RECORD_S * items * jobs) / workers, by, whole=False)
    if facts.get("corpus") != corpus or not before or items is None:
        return None
    by = f"the report of {before:,} items in {seconds:.3g} s"
    return _told(start, max(0.0, seconds - start) * items / before, by, whole=True)


def _told(start: float, work: float, by: str, *, whole: bool) -> dict[str, Any]:
    """`whole`: also the stages behind the first shuffle, which no sample reaches."""
    return {"estimate": start + work, "start": start, "by": by, "whole": whole}


def start_of(segments: Iterable[Segment], records: int | None, workers: int, *, write: bool) -> tuple[int, float]:
    """How many Beam jobs there are, about, and how many seconds go into starting them and the command itself."""
    segments = list(segments)
    shuffles = [_jobs(stage) for segment in segments for stage in segment.shuffles]
    items = sum(1 for segment in segments if segment.items)  # these run in the workers whatever their size
    others = sum(shuffles) + write
    processes = workers > 1
    each = WORKERS_S if processes and (records or 0) >= SMALL else JOB_S
    return items + others, BEGIN_S + items * (WORKERS_S if processes else JOB_S) + others * each


def _jobs(stage: StageConfig) -> int:
    return _BANDED if hasattr(stage, "bands") else _KEYED
