"""What a build that stopped leaves to look at: the report so far, and the rejects of the jobs that were done.

Odd: it lies in the output folder only where no finished set does; else beside the jobs in `.build/stopped/`, so that a
whole set keeps its own report. The next run replaces it. Rejects are written as they come, in no order: only a finished
set has them sorted.
"""

import contextlib
import shutil
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import BinaryIO

import msgspec

from trivium.data.shards import names
from trivium.pipelines.corpora.extent import Extent
from trivium.pipelines.corpora.marks import FOLDER, Done
from trivium.pipelines.corpora.output import BUILD, REPORT, Owner, show
from trivium.pipelines.corpora.report.page import PAGE, write_report
from trivium.pipelines.corpora.report.story import tell_story
from trivium.pipelines.corpora.spool import lines_of
from trivium.pipelines.corpora.work import Work

STOPPED = "stopped"


class _Stage(msgspec.Struct):
    stage: str


def leave_unfinished(
    work: Work, owner: Owner, extent: Extent, why: BaseException, out: Path, seconds: float, tell: Callable[[str], None]
) -> None:
    """Writes the report and rejects of what was done, and says where; nothing when no job of items was done."""
    if not work.settled:
        return
    new = work.folder / "set"
    with contextlib.suppress(OSError):  # what stopped the build is told, be the disk full
        write_report(new, tell_story(work, owner, extent, None, seconds, stopped=str(why) or "interrupted"))
        shutil.rmtree(new / names.REJECTS, ignore_errors=True)
        refused = write_drops(work.settled, new / names.REJECTS)
        target = out
        if (out / names.MANIFEST).exists():
            target = work.folder / STOPPED
            shutil.rmtree(target, ignore_errors=True)
            target.mkdir()
        show(new, target)
        held = f" and {target / names.REJECTS} ({refused:,} refused so far)" if refused else ""
        tell(f"stopped, unfinished: what was done until then stands in {target / REPORT / PAGE}{held}")


def write_drops(folders: Iterable[Path], target: Path) -> int:
    """The drops of jobs by stage, as they come; returns how many."""
    target.mkdir(parents=True)
    files: dict[str, BinaryIO] = {}
    decoder, count = msgspec.json.Decoder(_Stage), 0
    with contextlib.ExitStack() as opened:
        for folder in folders:
            for line in lines_of(folder, "drops"):
                stage = decoder.decode(line).stage
                if stage not in files:
                    files[stage] = opened.enter_context((target / f"{stage}.jsonl").open("wb"))
                files[stage].write(line.rstrip(b"\n") + b"\n")
                count += 1
    return count


def done_jobs(out: Path) -> tuple[int, str]:
    """How many jobs of a run into `out` that stopped are done, and the last one's label."""
    marks = sorted((out / BUILD / FOLDER).glob("*.json"))
    try:
        return len(marks), msgspec.json.decode(marks[-1].read_bytes(), type=Done).label if marks else ""
    except (OSError, msgspec.DecodeError):
        return len(marks), ""
