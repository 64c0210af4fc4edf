"""What the text tools' runners share: a stage by name, its processor time, what it kept. Imports nothing of ours.

    PYTHON bench/peers/text_TOOL.py STAGE FOLDER RESULT.json

FOLDER holds pages.warc.gz, pages.jsonl (their text by our extraction) and planted.jsonl; a line has `id` and `text`.
RESULT gets seconds of processor time without imports and loading, documents, bytes of text, and what `kept` them.
"""

import json
import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

Stage = Callable[[Path], dict[str, Any]]


def read(path: Path) -> tuple[list[str], list[str]]:
    """(ids, texts) of a file of JSON lines."""
    rows = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
    return [row["id"] for row in rows], [row["text"] for row in rows]


def clock() -> float:
    """Seconds of processor time of this process and of the children that it waited for."""
    used = os.times()
    return used.user + used.system + used.children_user + used.children_system


def timed(texts: list[str], work: Callable[[list[str]], Any]) -> dict[str, Any]:
    """Runs `work` on a few texts first, so that what it loads is loaded, then on all by the clock."""
    work(texts[:3])
    began = clock()
    work(texts)
    return {"seconds": clock() - began, "documents": len(texts), "bytes": sum(len(text.encode()) for text in texts)}


def main(stages: dict[str, Stage]) -> int:
    stage, folder, result = sys.argv[1], Path(sys.argv[2]), Path(sys.argv[3])
    found = stages[stage](folder)
    # Not ru_maxrss, which a process inherits from the one that started it.
    peak = next(line for line in Path("/proc/self/status").read_text().splitlines() if line.startswith("VmHWM"))
    result.write_text(json.dumps(found | {"peak_mb": round(int(peak.split()[1]) * 1024 / 1e6)}), encoding="utf-8")
    return 0


__all__ = ["Stage", "clock", "main", "read", "timed"]
