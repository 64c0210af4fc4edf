"""Builds of a quarter, a half and a whole million documents: documents a second, peak memory, where the time goes.

    python bench/million_build.py [--records 250000,500000,1000000] [--workers 2] [--folder out/million] [--json]

Real paragraphs with planted copies (`_documents`), read from JSON lines, judged by one stage, de-duplicated exactly and
nearly, written to shards. Each build runs in a process of its own; memory is the sum of the proportional set sizes of
the driver and its workers, looked at once a second. The inputs are made once and stay in the folder.
"""

import argparse
import json
import os
import resource
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import msgspec
from rich.table import Table

from trivium.console import emit_json, note, out

PER_FILE = 50_000
STAGES = """
  - {kind: unicode}
  - {kind: exact_dedup}
  - {kind: near_dedup}
"""
RECIPE = """version: 1
corpus: million
domain: bench
sources:
  - {{kind: jsonl, name: planted, path: {path}, license: CC0-1.0}}
stages:{stages}shards: {{target_bytes: 134217728}}
"""


def write_inputs(folder: Path, count: int) -> None:
    """Files of PER_FILE documents, as many as `count` needs; those that stand are taken as they are."""
    from _documents import documents, paragraphs

    folder.mkdir(parents=True, exist_ok=True)
    needed = [folder / f"{number:03d}.jsonl" for number in range(-(-count // PER_FILE))]
    if all(path.exists() for path in needed):
        return
    note("making the documents")
    encoder, pool = msgspec.json.Encoder(), paragraphs()
    if not pool:
        raise SystemExit("no real text is here: run `trivium inputs fetch python3.11-doc git-doc` first")
    planted = documents(len(needed) * PER_FILE, pool)
    for path in needed:
        lines = b"".join(encoder.encode({"text": next(planted).text}) + b"\n" for _ in range(PER_FILE))
        path.with_suffix(".part").write_bytes(lines)
        path.with_suffix(".part").replace(path)


def processes(root: int) -> list[int]:
    """A process and all below it."""
    found, new = [], [str(root)]
    while new:
        found.append(int(new.pop()))
        for path in Path(f"/proc/{found[-1]}/task").glob("*/children"):
            try:
                new += path.read_text().split()
            except OSError:
                continue
    return found


def memory(root: int) -> list[int]:
    """Proportional set size in bytes of each process below `root`, the largest first."""
    sizes = []
    for pid in processes(root):
        try:
            lines = Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines()
        except OSError:
            continue
        sizes += [int(line.split()[1]) << 10 for line in lines if line.startswith("Pss:")]
    return sorted(sizes, reverse=True)


def one_build(folder: Path, count: int, workers: int) -> dict[str, Any]:
    """Builds the first `count` documents and says what it took."""
    whole, inputs = folder / "inputs", folder / f"inputs-{count}"
    write_inputs(whole, count)
    shutil.rmtree(inputs, ignore_errors=True)
    inputs.mkdir()
    for path in sorted(whole.glob("*.jsonl"))[: -(-count // PER_FILE)]:
        os.link(path, inputs / path.name)
    recipe, target = folder / f"{count}.yaml", folder / f"set-{count}"
    recipe.write_text(RECIPE.format(path=inputs.name, stages=STAGES))
    shutil.rmtree(target, ignore_errors=True)
    command = [sys.executable, "-m", "trivium", "build", str(recipe), "--out", str(target), "--json"]
    if workers > 1:
        command += ["--", f"--direct_num_workers={workers}", "--direct_running_mode=multi_processing"]
    before, began = resource.getrusage(resource.RUSAGE_CHILDREN), time.monotonic()
    peak, largest = 0, 0
    # A file, since the facts are more than a pipe holds and are read at the end alone.
    with tempfile.TemporaryFile() as told, subprocess.Popen(command, stdout=told) as running:
        while running.poll() is None:
            sizes = memory(running.pid)
            peak, largest = max(peak, sum(sizes)), max(largest, max(sizes, default=0))
            time.sleep(1.0)
        told.seek(0)
        facts = json.loads(told.read() or "{}")
    if running.returncode:
        raise SystemExit(f"the build of {count:,} failed with exit code {running.returncode}")
    seconds, after = time.monotonic() - began, resource.getrusage(resource.RUSAGE_CHILDREN)
    cpu = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    found = {
        "records": count,
        "workers": workers,
        "kept": facts.get("records"),
        "seconds": round(seconds, 1),
        "cpu_seconds": round(cpu, 1),
        "documents_a_second": round(count / seconds, 1),
        "documents_a_cpu_second": round(count / cpu, 1),
        "peak_mb": round(peak / 1e6),
        "largest_process_mb": round(largest / 1e6),
        "jobs": jobs(target),
    }
    note(f"{count:,} documents: {seconds:,.0f} s, {cpu:,.0f} s of CPU, at most {peak / 1e6:,.0f} MB")
    return found


def jobs(target: Path) -> dict[str, float]:
    """Seconds of each job of a finished build, by its label, the longest first."""
    facts = json.loads((target / "report/report.json").read_bytes())
    found: dict[str, float] = {}
    for job in facts["run"]["jobs"]:
        found[job["label"]] = round(found.get(job["label"], 0.0) + job["seconds"], 1)
    return dict(sorted(found.items(), key=lambda pair: -pair[1]))


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--records", default="250000,500000,1000000")
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--folder", type=Path, default=Path("out/million"))
    parser.add_argument("--json", action="store_true")
    arguments = parser.parse_args()
    found = [one_build(arguments.folder, int(count), arguments.workers) for count in arguments.records.split(",")]
    if arguments.json:
        emit_json({"builds": found})
        return 0
    columns = [name for name in found[0] if name != "jobs"]
    table = Table(title="builds of planted documents", title_justify="left")
    for name in columns:
        table.add_column(name.replace("_", " "), justify="right")
    for one in found:
        table.add_row(*(f"{one[name]:,}" for name in columns))
    out.print(table)
    for label, seconds in found[-1]["jobs"].items():
        note(f"{seconds:9.1f} s  {label}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
