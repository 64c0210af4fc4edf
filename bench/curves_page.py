"""Several runs of bench/curves.py as one page.

    python bench/curves_page.py --out docs/curves.md FOLDER…

Each folder holds the curves.json of one run, made on one machine; a pair of runs that stands in several is taken from
the last. Writes the page, and beside it the losses (.json) and the picture (.svg). Fails when a rule is broken.
"""

import argparse
import re
import sys
from pathlib import Path

import _curve_plot
import curves
import msgspec

HEAD = """\
# Training on the kernels beside training on the PyTorch path

Made by `python bench/curves_page.py` from runs of `python bench/curves.py`; don't edit it. The same seeds and rows,
nothing but the path differs. Runs without experts must stay together step by step. With experts a rounding flips a
choice sooner or later and nothing pulls two sound runs together again, so there the means of the last losses are
compared, and *flips* tell how far they are apart: the share of (layer, token) on one held-out row whose sets of chosen
experts differ in one expert or more, before the first step (equal weights, other roundings) and after the last.
*floor* is the PyTorch path beside itself with other, equally right roundings: what chance alone does; it decides
nothing. Seconds are of runs that shared a machine, and no measure of speed. The picture shows the losses of both paths.

| model | rule | found | needed | floor | steps, then seconds on the kernels and on PyTorch | flips, first and last | |
| --- | --- | --- | --- | --- | --- | --- | --- |
"""


def page(runs: list[curves.Facts], picture: str) -> str:
    """The verdicts and the commands, in Markdown."""
    lines = [*HEAD.splitlines()]
    for run in runs:
        for entry in run.comparisons:
            mine = {c.path: c for c in run.curves if (c.preset, c.experts) == (entry.preset, entry.experts)}
            first, second = mine["triton"], mine["reference"]
            flips = [f"{rate:.1%}" for rate in entry.flips.values()]
            cells = (
                f"{entry.preset}, {'experts' if entry.experts else 'dense'}", entry.what.replace("|", "\\|"),
                f"{entry.found:.5f}", f"≤ {entry.bound:g}", "" if entry.floor is None else f"{entry.floor:.5f}",
                f"{len(first.losses)}, {first.seconds:.0f}, {second.seconds:.0f}",
                f"{flips[0]}, {flips[-1]}" if flips else "", entry.verdict,
            )  # fmt: skip
            lines.append(f"| {' | '.join(cells)} |")
    lines += ["", f"![losses]({picture})", ""]
    for run in runs:
        versions = ", ".join(f"{name} {version}" for name, version in run.versions.items())
        command = re.sub(r"--out \S+", "--out FOLDER", run.command)  # wherever it lay
        lines.append(f"* `{command}` at `{run.commit}`, {run.device}, {versions}")
    return "\n".join(lines) + "\n"


def latest(runs: list[curves.Facts]) -> list[curves.Facts]:
    """Each (preset, experts) in its last run only; runs left with nothing go."""
    owner = {(entry.preset, entry.experts): run for run in runs for entry in run.comparisons}
    kept = [
        msgspec.structs.replace(
            run,
            comparisons=[entry for entry in run.comparisons if owner[entry.preset, entry.experts] is run],
            curves=[curve for curve in run.curves if owner.get((curve.preset, curve.experts)) is run],
        )
        for run in runs
    ]
    return [run for run in kept if run.comparisons]


def main(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--out", type=Path, required=True, help="the page; its losses and picture lie beside it")
    parser.add_argument("--commit", help="the commit to name where the runs had no checkout")
    parser.add_argument("folders", nargs="+", type=Path, metavar="FOLDER", help="with curves.json")
    options = parser.parse_args(arguments)
    runs = [msgspec.json.decode((folder / "curves.json").read_bytes(), type=curves.Facts) for folder in options.folders]
    if options.commit:
        runs = [msgspec.structs.replace(run, commit=options.commit) for run in runs]
    runs = latest(runs)
    every = [(entry, run) for run in runs for entry in run.comparisons]
    drawn = _curve_plot.plot(curves.charts([e for e, _ in every], [c for run in runs for c in run.curves]))
    options.out.with_suffix(".svg").write_text(drawn, encoding="utf-8")
    options.out.with_suffix(".json").write_bytes(msgspec.json.format(msgspec.json.encode(runs), indent=0) + b"\n")
    options.out.write_text(page(runs, options.out.with_suffix(".svg").name), encoding="utf-8")
    return int(any(entry.verdict != "pass" for entry, _ in every))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
