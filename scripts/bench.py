"""Benchmarks of this machine, pass or fail: on a GPU the kernels' table, elsewhere every file of bench/ in turn.

A benchmark is a file in bench/ that prints its figures beside their floors and ends with exit code 0 when all floors
are reached, 1 when not; each runs in its own process. Not part of the tests or of CI: speed belongs to a machine.

    python scripts/bench.py [WORD …]          only benchmarks whose name holds one of the words
    python scripts/bench.py [OP …] [OPTION …] on a GPU: `python -m trivium.kernels.bench` into docs/benchmarks.*
    python scripts/bench.py --host [WORD …]   the files of bench/ on a GPU's host too
    make bench ARGS='--host loader'           the same through make
"""

import argparse
import subprocess
import sys
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
TABLE = ("--json", "docs/benchmarks.json", "--page", "docs/benchmarks.md")
ON_A_GPU = ("curves", "step")  # files of bench/ that need one
# Those that measure others beside us, or quality, or hours: they hold no floors and need inputs of their own.
APART = ("dedup_quality", "dedup_recall", "extraction", "million_build", "ranks", "text_peers", "text_rules")


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter, allow_abbrev=False
    )
    parser.add_argument("--host", action="store_true", help="the files of bench/ on a GPU's host too")
    parser.add_argument("words", nargs="*", metavar="WORD", help="part of a benchmark's name, or a kernel on a GPU")
    given, options = parser.parse_known_args()
    if not given.host and gpu():  # which has options of its own, and their values are no words of ours
        return subprocess.run(
            [sys.executable, "-m", "trivium.kernels.bench", *sys.argv[1:], *TABLE], cwd=ROOT, check=False
        ).returncode
    if options:
        parser.error(f"{options[0]}: no such option here; those of the kernels' table need a GPU")
    words = given.words
    paths = sorted((ROOT / "bench").glob("*.py"))
    paths = [path for path in paths if not path.name.startswith("_") and path.stem not in (*ON_A_GPU, *APART)]
    chosen = [path for path in paths if not words or any(word in path.stem for word in words)]
    if not chosen:
        print(
            f"error: no benchmark's name holds {words}; there are: {', '.join(p.stem for p in paths)}", file=sys.stderr
        )
        return 2
    verdicts = {}
    for path in chosen:
        print(f"bench: {path.stem}", flush=True)
        start = time.monotonic()
        code = subprocess.run([sys.executable, str(path)], cwd=ROOT, check=False).returncode
        verdicts[path.stem] = f"{'pass' if code == 0 else 'FAIL'}  ({time.monotonic() - start:.0f} s)"
    print()
    for name, verdict in verdicts.items():
        print(f"{name:<20} {verdict}")
    return 1 if any("FAIL" in verdict for verdict in verdicts.values()) else 0


def gpu() -> bool:
    """Whether torch finds a CUDA device."""
    import torch

    return torch.cuda.is_available()


if __name__ == "__main__":
    sys.exit(main())
