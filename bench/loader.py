"""The loader beside its peers, on the same records: packed tokens, pictures, waiting, resume, memory; pass or fail.

    .venv/bin/python bench/loader.py              ours, and each peer that is installed (docs/loader.md reads the table)
    .venv/bin/python bench/loader.py --only NAME  one of them: ours, wds, energon, mds, plain, ranks, waiting,
                                                  balance

Peers, best in an environment of their own, since streaming wants numpy below 2.2 and a torchvision that fits torch:

    python -m venv peers && peers/bin/pip install -e '.[train]' megatron-energon==7.4.1 mosaicml-streaming==0.13.0
    peers/bin/python bench/loader.py

Energon alone also fits beside everything else: `.venv/bin/pip install -c constraints.txt -e '.[bench]'`.

Text has the sizes of the standard library's sources at four bytes a token; pictures are JPEGs of one megapixel cut from
the photograph that matplotlib ships. Rates are by processor time of one core, the least of two passes, not by the
clock, so a busy machine tells nearly the same. Every loader runs in a process of its own, without worker processes, and
gives no rate unless each token came. Floors: `spec/targets.md`, D1–D4, T3, T4.
"""

import argparse
import importlib.util
import json
import os
import subprocess
import sys
import tempfile
from dataclasses import asdict
from pathlib import Path
from typing import Any

os.environ.setdefault("OMP_WAIT_POLICY", "passive")  # idle threads sleep: before torch is imported

from rich.console import Console
from rich.table import Table

TOKENS, FILL, PICTURES = 5e6, 0.97, 60.0  # a second: D1; share: D2; a second: D4
BALANCE = 1.15  # max / mean: D3
WAITING, STATE = 0.02, 10_000  # share of a step: T3; bytes: T4
NEEDS = {"wds": "webdataset", "energon": "megatron.energon", "mds": "streaming"}
INSTALL = {"wds": "webdataset", "energon": "megatron-energon==7.4.1", "mds": "mosaicml-streaming==0.13.0"}
LOADERS = ("ours", "wds", "energon", "mds", "plain")
PARTS = (*LOADERS, "ranks", "waiting", "balance")
HEADINGS = (
    "docs/s",
    "M tok/s",
    "pictures/s",
    "row fill",
    "cut",
    "state",
    "resume: same",
    "ranks 2→3",
    "MiB",
    "prepare",
)
TIMEOUT = 900  # seconds for one of them


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", choices=PARTS, action="append")
    parser.add_argument("--peer", help=argparse.SUPPRESS)
    parser.add_argument("folder", nargs="?", type=Path, help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.peer:
        print(json.dumps(one(given.peer, given.folder)))
        return 0
    with tempfile.TemporaryDirectory() as name:
        from peers import sets

        folder = Path(name)
        text = sets.written(folder, "text", sets.text_records())
        sets.written(folder, "photos", sets.photo_records(1024, sets.PHOTOS))
        sets.written(folder, "small", sets.photo_records(112, 400))
        total = int(text.entries.tokens.sum())
        title = f"{len(text):,} documents of {total / 1e6:.1f} M tokens, {sets.PHOTOS} pictures"
        found = {part: apart(part, folder) for part in given.only or PARTS}
    return report(title, found)


def one(part: str, folder: Path) -> dict[str, Any]:
    """Measures one part in this process."""
    import torch

    torch.set_num_threads(1)
    module = importlib.import_module(f"peers.{part}")
    facts = asdict(module.measure(folder))
    if part == "ours":
        facts |= {"reading": module.read_alone(folder), "paths": module.picture_paths(folder)}
    return facts


def apart(part: str, folder: Path) -> dict[str, Any] | str:
    """Its figures, or one line that says why there are none."""
    if part in NEEDS and not installed(NEEDS[part]):
        return f"{INSTALL[part].partition('==')[0]} is not installed: pip install {INSTALL[part]}"
    command = [sys.executable, __file__, "--peer", part, str(folder)]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=TIMEOUT, check=False)
    except subprocess.TimeoutExpired:
        return f"{part}: gave no figures in {TIMEOUT} s"
    if done.returncode:
        return f"{part}: {(done.stderr.strip().splitlines() or ['no word'])[-1]}"
    return json.loads(done.stdout.splitlines()[-1])


def installed(module: str) -> bool:
    try:
        return importlib.util.find_spec(module) is not None
    except ModuleNotFoundError:  # its parent is not there
        return False


def report(title: str, found: dict[str, dict[str, Any] | str]) -> int:
    table = Table(title=title, title_justify="left")
    for heading in ("loader", *HEADINGS):
        table.add_column(heading, justify="left" if heading == "loader" else "right")
    notes = []
    for part in LOADERS:
        facts = found.get(part)
        if isinstance(facts, str):
            notes.append(facts)
        elif facts is not None:
            table.add_row(*cells(facts))
            notes.append(f"{facts['name']}: {facts['note']}")
    floors = Table("floor", "figure", "bound", "")
    passed = True
    for what, figure, bound, good in bounds(found):
        floors.add_row(what, figure, bound, "" if good is None else "pass" if good else "FAIL")
        passed &= good is not False
    notes += [facts for part, facts in found.items() if part not in LOADERS and isinstance(facts, str)]
    console = Console(width=140)
    console.print(table)
    for note in notes:
        console.print(note, highlight=False)
    console.print(floors)
    wrong = [part for part in ("ours", "ranks", "waiting", "balance") if isinstance(found.get(part), str)]
    return 0 if passed and not wrong else 1


def cells(facts: dict[str, Any]) -> list[str]:
    def number(value: float | None, pattern: str = "{:,.0f}") -> str:
        return "–" if value is None else pattern.format(value)

    says = {None: "–", True: "yes", False: "no"}
    return [
        f"{facts['name']} {facts['version']}",
        number(facts["documents"]),
        number(facts["tokens"] / 1e6, "{:.1f}"),
        number(facts["pictures"]),
        number(facts["fill"], "{:.2%}"),
        number(facts["cut"]),
        "none" if facts["state"] is None else f"{facts['state']:,} B",
        says[facts["same"]],
        says[facts["other"]],
        number(facts["memory"]),
        "–" if facts["prepared"] is None else "none" if not facts["prepared"] else f"{facts['prepared']:.2f} s",
    ]


def bounds(found: dict[str, dict[str, Any] | str]) -> list[tuple[str, str, str, bool | None]]:
    """What, figure, bound, verdict."""
    rows: list[tuple[str, str, str, bool | None]] = []
    ours, ranks, waits, balance = (found.get(part) for part in ("ours", "ranks", "waiting", "balance"))
    if isinstance(ours, dict):
        rate, pictures, fill = ours["tokens"], ours["pictures"], ours["fill"]
        rows += [
            ("D1  rows planned, read and packed", f"{rate / 1e6:.1f} M tokens/s", "≥ 5", rate >= TOKENS),
            ("      read and packed alone", f"{ours['reading'] / 1e6:.1f} M tokens/s", "", None),
            ("D2  row fill, no document cut that fits", f"{fill:.2%}", "≥ 97 %", fill >= FILL and not ours["cut"]),
            ("D4  one-megapixel JPEG to patches", f"{pictures:.0f} a second", "≥ 60", pictures >= PICTURES),
            *((f"      {what}", f"{value:.0f} a second", "", None) for what, value in ours["paths"]),
        ]
    if isinstance(balance, dict):
        fill, worst = balance["fill"], balance["worst"]
        rows += [
            ("D2  the same of a mixture with pictures", f"{fill:.2%}", "≥ 97 %", fill >= FILL),
            ("D3  max / mean cost of 8 ranks, mean", f"{balance['mean']:.4f}", "", None),
            ("      of the worst step", f"{worst:.4f}", "≤ 1.15", worst <= BALANCE),
        ]
    if isinstance(waits, dict):
        share = waits["share"]
        rows.append(("T3  waiting for data, of a nano step", f"{share:.3%}", "< 2 %", share < WAITING))
    if isinstance(ranks, dict):
        rows.append(
            (
                "T4  losses of 50 steps by 2 ranks that differ after a resume",
                str(ranks["losses"]),
                "0",
                not ranks["losses"],
            )
        )
        for world, differ in ranks["rows"].items():
            what = f"T4  steps of 50 whose rows differ when {world} go on from 2 ranks' state"
            rows.append((what, str(differ), "0", not differ))
        rows.append(("T4  loader state", f"{ranks['state']} bytes", "≤ 10 000", 0 < ranks["state"] <= STATE))
    return rows


if __name__ == "__main__":
    sys.exit(main())
