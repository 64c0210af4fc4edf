"""What programmatic corpora cost to draw: renders a second of processor time, and each job's share of it.

    python bench/renders.py out/web-pages out/games-generated … [--json]

Reads built sets and the reports of their builds. Pictures are those that records hold, each counted once and drawn
twice; what was drawn and refused, or drawn for a changed version that nobody chose, is not counted, so the rates are
lower bounds. Processor time is that of all children, engines and browsers among them, but for those that answer request
after request and are killed at the end (build123d's): where they had most of the work no rate is given.
"""

import argparse
import hashlib
import json
import sys
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from rich.table import Table

from trivium.console import emit_json, out
from trivium.data.shards import ShardSet, place
from trivium.errors import InputError
from trivium.pipelines.corpora.output import REPORT

DRAWN = 2  # times, by `draw.twice`
LEAST = 0.01  # of the processor time: smaller shares are not told
BUSY = 0.1  # processor time over the build's: with less, children whose time is not told did the work


def pictures(shards: ShardSet) -> Counter[str]:
    """Different pictures and clips of the records by the engine that drew them."""
    seen: dict[bytes, str] = {}
    for number in range(len(shards.entries)):
        document, media = shards.read(number)
        for drawn in document.meta.drawn:
            if drawn.media in media:
                seen[hashlib.sha256(media[drawn.media]).digest()] = drawn.engine
    return Counter(seen.values())


def facts(folder: Path) -> dict[str, Any]:
    """One set's figures. Raises InputError where its build left no whole report."""
    try:
        report = json.loads((folder / REPORT / "report.json").read_bytes())
        jobs, whole = report["run"]["jobs"], report["complete"]
    except (OSError, ValueError, KeyError, TypeError):
        raise InputError(f"{folder}: no report of a build; give a set that `trivium build` wrote") from None
    if not whole:
        raise InputError(f"{folder}: its build did not come to its end; run the same `trivium build` again")
    spent: Counter[str] = Counter()
    for job in jobs:
        spent[job["label"].partition(":")[0]] += job["cpu_seconds"]
    drawing = [label for label in spent if "draw" in label]
    if not drawing:
        raise InputError(f"{folder}: none of its jobs draws ({', '.join(spent)}); give a programmatic corpus")
    found = pictures(ShardSet.open(place(str(folder))))
    cpu = sum(spent[label] for label in drawing)
    return {
        "corpus": report["corpus"],
        "items": report["totals"]["items"],
        "records": report["totals"]["records"],
        "pictures": dict(found),
        "seconds": report["run"]["seconds"],
        "workers": report["run"]["workers"],
        "machine": report["run"]["machine"],
        "cpu_seconds": sum(spent.values()),
        "renders_per_cpu_second": rate(found.total(), cpu, report["run"]["seconds"]),
        "shares": {label: seconds / sum(spent.values()) for label, seconds in spent.most_common()},
    }


def rate(pictures: int, cpu: float, wall: float) -> float | None:
    """Renders a second of processor time; None where that is not told."""
    return DRAWN * pictures / cpu if cpu > BUSY * wall else None


def main(arguments: Sequence[str]) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("sets", type=Path, nargs="+", metavar="SET")
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args(arguments)
    try:
        rows = [facts(folder) for folder in options.sets]
    except InputError as error:
        sys.exit(f"error: {error}")
    if options.json:
        emit_json(rows)
        return 0
    table = Table(title="renders", title_justify="left")
    table.add_column("corpus", overflow="fold")
    for name in ("items", "records", "pictures", "build s", "CPU s", "renders / CPU s"):
        table.add_column(name, justify="right")
    for row in rows:
        table.add_row(
            row["corpus"], f"{row['items']:,}", f"{row['records']:,}", f"{sum(row['pictures'].values()):,}",
            f"{row['seconds']:,.0f}", f"{row['cpu_seconds']:,.0f}",
            "not told" if row["renders_per_cpu_second"] is None else f"{row['renders_per_cpu_second']:.1f}",
        )  # fmt: skip
    out.print(table)
    out.print("share of the processor time:", highlight=False)
    for row in rows:
        shares = [f"{label} {share:.0%}" for label, share in row["shares"].items() if share >= LEAST]
        out.print(f"  {row['corpus']}: {', '.join(shares)}", highlight=False, soft_wrap=True)
    machine = rows[0]["machine"]
    out.print(f"{machine['processor']}, {machine['cores']} cores, {rows[0]['workers']} workers", highlight=False)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
