"""Trains the family on one machine's GPUs and says what each promise came to: spikes, dead experts, load, pictures.

    python bench/family.py --corpora FOLDER_OR_ARCHIVE --work FOLDER --pack FILE.tar.gz [--seconds 420]
    python bench/family.py --collect FILE.tar.gz [FILE.tar.gz …] --out docs/results
    python bench/family.py --check [--out docs/results]
    python bench/family.py --quick --corpora FOLDER_OR_ARCHIVE

The first trains `tiny` and `small` of K3 and K2, a load test of fresh models with 256 experts, and `nano` with each
mechanism exchanged: processes of `trivium train`, several on a GPU, until the time is over. Called again with the same
--work it goes on. --collect writes results.json, curves, plots and index.md from what was packed, beside the runs that
--out holds already; --check judges results.json anew. Exit code 1 when a promise is not kept. --quick trains a few
steps of nano on the CPU, to see that everything is there.
"""

import argparse
import json
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import _family_jobs as jobs
import _family_page
import _family_pool
from _family_facts import Verdict, judge
from _family_gathered import Gathered

from trivium.console import note, out
from trivium.kernels.bench.report import commit, versions

ROOT = jobs.ROOT
PARTS = ("load", "runs", "switches")
TRIALS = "trials"  # of the load: only when asked for
GRACE = 45.0  # seconds between asking runs to leave and killing them: a checkpoint of small has 15 GB
PACKING = 10.0


def main(arguments: Sequence[str]) -> int:
    options = _options(arguments)
    if options.collect:
        gathered = Gathered(options.collect, None if options.anew else options.out)
        facts = gathered.facts()
        verdicts = judge(facts, gathered.kinds())
        data = (ROOT / "docs" / "results" / "data.md").read_text(encoding="utf-8")
        _family_page.write(options.out, gathered, facts, verdicts, data)
        note(f"written: {options.out}")
        return show(verdicts)
    if options.check:
        whole = json.loads((options.out / "results.json").read_text(encoding="utf-8"))
        return show(judge(whole["runs"], whole["wanted"]))
    if options.quick:
        with tempfile.TemporaryDirectory() as name:
            return train(Path(name), options, _quick_jobs(), [None], 1, seconds=900.0)
    return train(options.work, options, _jobs(options), _gpus(options.gpus), options.slots, seconds=options.seconds)


def train(
    work: Path, options: argparse.Namespace, wanted: Sequence[jobs.Job], gpus: Sequence[str | None], slots: int, *,
    seconds: float,
) -> int:  # fmt: skip
    """Runs the jobs, packs what they measured, and judges it."""
    began = time.monotonic()
    work.mkdir(parents=True, exist_ok=True)
    corpora = _family_pool.unpack(options.corpora, work)
    # Pictures of 112 pixels are soon decoded, and all of them are kept: no process beside each of many runs.
    extra = (
        "threads=2" if options.quick else "threads=4",
        "data.workers=0",
        "data.cache_mib=1200",
        *(options.set or ()),
    )
    named = [gpu for gpu in gpus if gpu is not None]
    pool = _family_pool.Pool(work, corpora, named, slots, note, extra=extra, later=options.later)
    hard = began + seconds - PACKING
    pool.run(wanted, hard - min(GRACE, seconds / 5), hard)
    facts = {
        "command": " ".join(["python bench/family.py", *(Path(word).name for word in sys.argv[1:])]),
        "commit": options.commit or commit(ROOT),
        "device": _device(gpus),
        "versions": versions({"numpy"}),
        "seconds": round(time.monotonic() - began, 1),
        "wanted": {job.name: job.kind for job in wanted},
        "jobs": pool.known,
    }
    file = options.pack or work / "family.tar.gz"
    _family_pool.pack(work, file, facts)
    note(f"packed: {file} ({file.stat().st_size / 1e6:.1f} MB) after {time.monotonic() - began:.0f} s")
    gathered = Gathered([file])
    return show(judge(gathered.facts(), gathered.kinds()), short=options.quick)


def show(verdicts: Sequence[Verdict], *, short: bool = False) -> int:
    """A line for each promise; 1 when one is not kept. `short`: a try of few steps, where only a crash counts."""
    for verdict in verdicts:
        out.print(
            f"{verdict.verdict:<8}{verdict.what}: {verdict.found} (wanted: {verdict.wanted})",
            highlight=False, markup=False, soft_wrap=True,
        )  # fmt: skip
    if short:
        return int(any(verdict.found == "no step" or "not finite" in verdict.found for verdict in verdicts))
    return int(any(verdict.verdict == "FAIL" for verdict in verdicts))


def _jobs(options: argparse.Namespace) -> list[jobs.Job]:
    """The long runs first, so that they get all the time there is; then the load test and the switches."""
    steps = dict(jobs.STEPS)
    for given in options.steps or ():
        name, _, count = given.partition("=")
        steps |= dict.fromkeys(jobs.MEMBERS if not count else (name,), int(count or name))
    made = {
        "runs": list(jobs.main_runs(steps)),
        "load": list(jobs.load_runs(rows=options.load_rows)),
        "switches": list(jobs.switch_runs()),
        TRIALS: list(jobs.trial_runs(rows=options.load_rows)),
    }
    chosen = [job for part, found in made.items() if part in (options.part or PARTS) for job in found]
    return [job for job in chosen if not options.only or job.name in options.only]


def _quick_jobs() -> list[jobs.Job]:
    small = ("model.vision.width=64", "model.vision.heads=1", "model.vision.hidden=128", "model.vision.layers=2")
    shared: dict[str, Any] = {"preset": "nano", "rows": 2, "context": 512, "changes": small}
    return [
        jobs.Job(name="nano", kind="run", steps=4, evaluate=4, **(shared | {"changes": (*small, "eval.rows=1")})),
        jobs.Job(name="load-nano", kind="load", steps=3, shape="constant", **shared),
        jobs.Job(name="switch-residual-plain", kind="switch", steps=3,
                 **(shared | {"changes": (*small, *jobs.SWITCHES["residual-plain"])})),
    ]  # fmt: skip


def _gpus(wanted: int | None) -> list[str | None]:
    import torch

    found = torch.cuda.device_count()
    names: list[str | None] = [str(index) for index in range(min(found, wanted or found))]
    return names or [None]


def _device(gpus: Sequence[str | None]) -> str:
    if gpus == [None]:
        return "a CPU"
    import torch

    return f"{len(gpus)} × {torch.cuda.get_device_name()}"


def _options(arguments: Sequence[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--corpora", type=Path, help="folder with corpora/ and tokenizer.json, or an archive of it")
    parser.add_argument("--work", type=Path, help="folder for the runs; a memory disk spares the checkpoints' writing")
    parser.add_argument("--pack", type=Path, help="archive of what was measured; default: WORK/family.tar.gz")
    parser.add_argument("--seconds", type=float, default=420.0, help="until everything is packed")
    parser.add_argument("--later", type=float, default=0.0, help="seconds that further calls will have")
    parser.add_argument("--gpus", type=int, help="use so many; default: all")
    parser.add_argument("--slots", type=int, default=4, help="processes a GPU")
    parser.add_argument("--steps", action="append", metavar="[RUN=]N", help="steps of the long runs; repeatable")
    parser.add_argument("--load-rows", type=int, default=jobs.LOAD_ROWS, help="rows of 512 tokens in the load test")
    parser.add_argument("--part", action="append", choices=(*PARTS, TRIALS), help="only this part; repeatable")
    parser.add_argument("--only", action="append", metavar="JOB", help="only this job, such as k2-tiny; repeatable")
    parser.add_argument("--set", action="append", metavar="KEY=VALUE", help="given to every run; repeatable")
    parser.add_argument("--commit", help="what to call the code where git can't tell")
    parser.add_argument("--collect", type=Path, nargs="+", metavar="FILE", help="write --out from packed archives")
    parser.add_argument("--anew", action="store_true", help="with --collect: without the runs that --out holds already")
    parser.add_argument("--check", action="store_true", help="judge --out/results.json again")
    parser.add_argument("--out", type=Path, default=ROOT / "docs" / "results")
    parser.add_argument("--quick", action="store_true")
    options = parser.parse_args(arguments)
    if not (options.collect or options.check):
        if options.corpora is None or not options.corpora.exists():
            parser.error("--corpora: give the folder (or archive) that holds corpora/ and tokenizer.json")
        if not options.quick and options.work is None:
            parser.error("--work: give a folder for the runs")
    return options


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
