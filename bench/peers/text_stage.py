"""What the text tools' runners share: a stage by name, its time and memory, what it kept. Imports nothing of ours.

    PYTHON bench/peers/text_TOOL.py STAGE FOLDER RESULT.json

FOLDER holds pages.warc.gz, pages.jsonl (their text by our extraction) and planted.jsonl; a line has `id` and `text`.
planted-slow.jsonl are the first of the latter, for what takes a peer ten times as long.
RESULT gets seconds of processor time without imports and loading, documents, bytes of text, MB of memory, and what a
de-duplication `kept` and put into `clusters`.

Odd: memory is that of the largest process, this one or one that it started: what lay there when the clock began
(interpreter, libraries, models, texts) and the most since then. The kernel's peak is set back at that moment, else
importing would hide small stages.
"""

import json
import os
import resource
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

Stage = Callable[[Path], dict[str, Any]]
SAMPLE = 2_000  # documents for what takes a peer many minutes on all


def read(path: Path, most: int | None = None) -> tuple[list[str], list[str]]:
    """(ids, texts) of a file of JSON lines, of its first `most`."""
    with path.open(encoding="utf-8") as file:
        rows = [json.loads(line) for _, line in zip(range(most or 1 << 60), file, strict=False)]
    return [row["id"] for row in rows], [row["text"] for row in rows]


class Watch:
    """Processor seconds and megabytes from here on."""

    def __init__(self) -> None:
        Path("/proc/self/clear_refs").write_text("5", encoding="ascii")  # the peak begins anew
        self.base = _memory("VmRSS")
        self._began, self._last, self.steps = clock(), clock(), dict[str, float]()

    def step(self, name: str) -> None:
        """Names the seconds since the last step."""
        now = clock()
        self.steps[name], self._last = round(now - self._last, 2), now

    def _peak(self) -> float:
        """Of the largest process, where a tool starts others."""
        other = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss * 1024 / 1e6
        return max(_memory("VmHWM"), round(other, 1))

    def stop(self, texts: list[str] | None = None, **more: Any) -> dict[str, Any]:
        """The figures; `texts` are what went in."""
        found: dict[str, Any] = {"seconds": clock() - self._began, "base_mb": self.base, "peak_mb": self._peak()}
        if texts is not None:
            found |= {"documents": len(texts), "bytes": sum(len(text.encode()) for text in texts)}
        return found | ({"steps": self.steps} if self.steps else {}) | more


def _memory(name: str) -> float:
    lines = Path("/proc/self/status").read_text(encoding="ascii").splitlines()
    return round(int(next(line for line in lines if line.startswith(name)).split()[1]) * 1024 / 1e6, 1)


def clock() -> float:
    """Seconds of processor time of this process, its threads, and the children that it waited for."""
    used = os.times()
    return used.user + used.system + used.children_user + used.children_system


def timed(texts: list[str], work: Callable[[list[str]], Any]) -> dict[str, Any]:
    """Runs `work` on a few texts first, so that what it loads is loaded, then on all by the clock."""
    work(texts[:3])
    watch = Watch()
    work(texts)
    return watch.stop(texts)


def main(stages: dict[str, Stage]) -> int:
    stage, folder, result = sys.argv[1], Path(sys.argv[2]), Path(sys.argv[3])
    found = stages[stage](folder) | {"load": round(os.getloadavg()[0], 1)}
    result.with_suffix(".part").write_text(json.dumps(found), encoding="utf-8")
    result.with_suffix(".part").rename(result)
    return 0


__all__ = ["SAMPLE", "Stage", "Watch", "clock", "main", "read", "timed"]
