"""`python -m trivium.kernels.bench [OP…]`: measure, write the report, judge it.

--json FILE     add this run to the report (what it measures anew replaces the old)
--page FILE     write the page of the report
--check FILE    measure nothing: judge a report; exit code 1 when a must is missed or was not measured
--speed, --accuracy, --cold     only these parts (all three when none is given)
"""

import argparse
import sys
from pathlib import Path

from trivium.console import err
from trivium.errors import TriviumError
from trivium.kernels.bench import report, table
from trivium.kernels.bench.check import failed, incomplete, verdicts
from trivium.kernels.bench.operators import OPERATORS
from trivium.kernels.bench.page import page
from trivium.kernels.bench.session import PARTS, Session


def parse(arguments: list[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m trivium.kernels.bench", description=__doc__.partition("\n")[0])
    names = ", ".join(operator.name for operator in OPERATORS)
    parser.add_argument("op", nargs="*", metavar="OP", help=f"{names} (all when none is given)")
    parser.add_argument("--json", type=Path, metavar="FILE", help="add this run to the report; it is saved row by row")
    parser.add_argument("--page", type=Path, metavar="FILE", help="write the report's page (of --json or --check)")
    help_check = "judge a report, measure nothing; exit code 1 when a must is missed or was not measured"
    parser.add_argument("--check", type=Path, metavar="FILE", help=help_check)
    parser.add_argument("--quick", action="store_true", help="small shapes, few samples: proves the path, no figures")
    help_layout = "only shapes (and hard cases) that hold this text; may be repeated"
    parser.add_argument("--layout", action="append", default=[], metavar="WORD", help=help_layout)
    parser.add_argument("--no-peers", action="store_true", help="ours alone")
    help_device = "auto: the GPU where there is one; on a CPU shapes are small and figures say little (minutes)"
    parser.add_argument("--device", choices=("auto", "cpu", "cuda"), default="auto", help=help_device)
    parser.add_argument("--commit", help="the commit to name where this is no checkout")
    helps = {
        "speed": "only times and memory, errors of the same shapes beside them",
        "accuracy": "only the hard cases: errors beside the peer, bitwise causality and repeatability",
        "cold": "only first calls with an empty cache",
    }
    for part in PARTS:
        parser.add_argument(f"--{part}", action="store_true", help=f"{helps[part]} (parts may be combined)")
    return parser.parse_args(arguments)


def main(arguments: list[str]) -> int:
    options = parse(arguments)
    try:
        if options.check is not None:
            found = report.read(options.check)
        else:
            found = Session.start(options, arguments).measure()
        if options.page is not None:
            options.page.write_text(page(found), encoding="utf-8")
        judged = verdicts(found)
        table.show_verdicts(judged)
        gaps = options.check is not None and incomplete(judged)
        return int(failed(judged) or gaps or _red(found))
    except TriviumError as error:
        err.print(f"error: {error}", style="bold red", highlight=False, soft_wrap=True)
        return error.exit_code


def _red(found: report.Report) -> bool:
    """Whether a result of ours is wrong anywhere."""
    return any(row.red and not row.peer for run in found.runs for row in run.rows)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
