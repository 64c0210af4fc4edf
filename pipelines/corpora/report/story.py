"""A build's state at its end, told as the report's facts."""

import os
import platform
from itertools import chain
from pathlib import Path
from typing import Any

import trivium
from trivium.data.shards import Manifest
from trivium.pipelines.corpora.extent import Extent
from trivium.pipelines.corpora.marks import versions
from trivium.pipelines.corpora.output import Owner
from trivium.pipelines.corpora.report.earlier import tell_earlier
from trivium.pipelines.corpora.report.facts import Job, Story, summarize
from trivium.pipelines.corpora.report.meter import Amount, total
from trivium.pipelines.corpora.sources import READ
from trivium.pipelines.corpora.spool import decode_ref, lines_of
from trivium.pipelines.corpora.usage import own_peak
from trivium.pipelines.corpora.work import Work


def tell_story(
    work: Work, owner: Owner, extent: Extent, manifest: Manifest | None, seconds: float, *, stopped: str = ""
) -> dict[str, Any]:
    """The facts of the build that `work` has done, in `seconds` of this run; `stopped` says why it is unfinished."""
    jobs_read = work.settled if stopped else work.jobs  # what a job that failed left may be a part
    reading = total(chain.from_iterable(lines_of(job, "readings") for job in jobs_read))
    tell_earlier(reading, work.recipe, work.base)
    jobs = tuple(
        Job(
            label=done.label,
            seconds=done.seconds,
            cpu_seconds=done.cpu_seconds,
            workers=done.workers,
            peak_bytes=done.peak_bytes,
            earlier=number < work.marks.used,
        )
        for number, done in enumerate(work.done)
    )
    spent = sum(job.seconds for job in jobs)
    items = work.counts[f"{READ}/in"]
    read = sum(amount.bytes for amount in reading.items.values())
    run = {
        "command": extent.command,
        "seconds": seconds,
        "cpu_seconds": sum(job.cpu_seconds for job in jobs),
        "items_per_second": items / spent if spent else 0.0,
        "bytes_per_second": read / spent if spent else 0.0,
        "resumed": work.marks.used,
        "runner": work.options.runner,
        "mode": work.options.mode,
        "workers": work.options.workers,
        "memory": {"driver": own_peak(), "workers": max((job.peak_bytes for job in jobs), default=0)},
        "machine": {"processor": _processor(), "cores": os.cpu_count() or 1, "system": platform.platform(terse=True)},
        "versions": {"trivium": trivium.__version__, "python": platform.python_version(), **versions()},
        "code": owner.code,
    }
    return summarize(
        Story(
            recipe=work.recipe,
            counts=work.counts,
            drops=work.drops,
            volumes=work.volumes,
            reading=reading,
            inputs=owner.inputs,
            left=_left(work) if manifest is None else {},
            jobs=jobs,
            manifest=manifest,
            limit=extent.limit,
            until=extent.until,
            stopped=stopped,
            run=run,
        )
    )


def _left(work: Work) -> dict[str, Amount]:
    """By source, the current references' records, characters and bytes of text and media."""
    found: dict[str, Amount] = {}
    for ref in map(decode_ref, lines_of(work.state, "refs") if work.state is not None else ()):
        amount = Amount(records=1, characters=ref.length, bytes=ref.content)
        found.setdefault(ref.source, Amount()).add(amount)
    return found


def _processor() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:
        lines = []
    named = (line.partition(":")[2].strip() for line in lines if line.startswith("model name"))
    return next(named, "") or platform.processor() or platform.machine()
