"""The fidelity gate of rephrasing on labelled pairs: recall, precision, and a table by kind of error.

    python bench/fidelity.py [--pairs FILE] [--json] [--wrong]

Thresholds were chosen on `choice`; of `held-out` counts were looked at while that went on; `fresh` was written once the
rules were settled. `--wrong` lists what is judged wrongly, of `choice` only: who looks at the others has none left to
measure with.
"""

import argparse
import json
import time
from pathlib import Path

import msgspec

from trivium.data.rephrase.gate import Gate, GateConfig
from trivium.data.rephrase.gate.evaluate import FAITHFUL, Report, evaluate, load

PAIRS = Path(__file__).resolve().parent.parent / "examples" / "rephrase" / "pairs.jsonl"
HALVES = ("choice", "held-out", "fresh")
PRECISION, RECALL = 0.95, 0.8  # what rephrasing wants of its gate


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--pairs", type=Path, default=PAIRS)
    parser.add_argument("--json", action="store_true", help="the reports as one line of JSON")
    parser.add_argument("--wrong", action="store_true", help="what is judged wrongly in `choice`")
    options = parser.parse_args()
    pairs = load(options.pairs)
    gate = Gate(GateConfig())
    gate.open()
    began = time.process_time()
    results = {half: evaluate([pair for pair in pairs if pair.half == half], gate) for half in HALVES}
    each = (time.process_time() - began) / len(pairs)
    gate.close()
    if options.json:
        print(
            json.dumps({half: msgspec.to_builtins(report) for half, (report, _) in results.items()} | {"seconds": each})
        )
        return
    table({half: report for half, (report, _) in results.items()})
    print(f"CPU time: {each * 1000:.0f} ms a pair, {len(pairs)} pairs")
    if options.wrong:
        for labelled, verdict in results["choice"][1]:
            print(f"{labelled.id} {labelled.kind}: {verdict.reason or 'accepted'} {verdict.detail} | {labelled.note}")


def table(reports: dict[str, Report]) -> None:
    """Prints accepted of all pairs by kind and part of the set, then the sums; the goals are for the last part."""
    kinds = sorted(
        {kind for report in reports.values() for kind in report.kinds}, key=lambda kind: (kind != FAITHFUL, kind)
    )
    print(f"{'accepted of':<14}" + "".join(f"{half:>14}" for half in reports))
    for kind in kinds:
        cells = (report.kinds.get(kind, (0, 0)) for report in reports.values())
        print(f"{kind:<14}" + "".join(f"{f'{accepted} / {seen}':>14}" for seen, accepted in cells))
    for name, wanted in (("recall", RECALL), ("balanced", PRECISION), ("precision", PRECISION), ("caught", None)):
        values = [getattr(report, name) for report in reports.values()]
        goal = "" if wanted is None else f"   at least {wanted:.2f}: {'yes' if values[-1] >= wanted else 'no'}"
        print(f"{name:<14}" + "".join(f"{value:>14.3f}" for value in values) + goal)


if __name__ == "__main__":
    main()
