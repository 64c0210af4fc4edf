"""Runs every benchmark of bench/, one after the other and each in its own process, and sums up pass and fail.

A benchmark is a file in bench/ that prints its figures beside their floors and ends with exit code 0 when all floors
are reached, 1 when not. Not part of the tests or of CI: speed belongs to a machine.

    python scripts/bench.py [WORD …]      only benchmarks whose name holds one of the words
"""

import subprocess
import sys
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent


def main() -> int:
    words = sys.argv[1:]
    paths = sorted(path for path in (ROOT / "bench").glob("*.py") if not path.name.startswith("_"))
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


if __name__ == "__main__":
    sys.exit(main())
