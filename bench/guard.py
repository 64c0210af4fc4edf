"""What isolation costs: milliseconds for a request to a lasting child, one answered apart, and a program in a sandbox.

    python bench/guard.py [--rounds 30] [--json]

Wall clock, the least of the rounds, and processor time of parent and children, the mean; with namespaces and without.
"""

import argparse
import resource
import sys
import time
from collections.abc import Callable

from rich.table import Table

from trivium.console import emit_json, out
from trivium.data.guard import Guard, Limits, Profile, Sandbox, run, sandbox

TASK = "trivium.data.config:digest"  # a task that takes next to no time
PLAIN = Profile(read=("/usr/bin",))


def cpu() -> float:
    """Seconds of processor time of this process and of its children that have ended."""
    mine, theirs = resource.getrusage(resource.RUSAGE_SELF), resource.getrusage(resource.RUSAGE_CHILDREN)
    return mine.ru_utime + mine.ru_stime + theirs.ru_utime + theirs.ru_stime


def measure(name: str, rounds: int, work: Callable[[], object]) -> dict[str, float | str]:
    """Milliseconds of one call of `work`."""
    work()
    least, before = float("inf"), cpu()
    for _ in range(rounds):
        began = time.perf_counter()
        work()
        least = min(least, time.perf_counter() - began)
    return {"what": name, "wall ms, least": least * 1000, "processor ms, mean": (cpu() - before) / rounds * 1000}


def rows(name: str, isolation: Sandbox, rounds: int) -> list[dict[str, float | str]]:
    found = []
    for apart in (False, True):
        with Guard(TASK, isolation=isolation, apart=apart) as guard:
            what = f"request{' apart' if apart else ''}, {name}"
            found.append(measure(what, 10 * rounds, lambda guard=guard: guard.call({"a": 1}, str)))  # type: ignore[misc]
    found.append(measure(f"program, {name}", rounds, lambda: run(["true"], profile=PLAIN, isolation=isolation)))

    def restart() -> None:
        with Guard(TASK, Limits(), isolation=isolation) as guard:
            guard.call({"a": 1}, str)

    found.append(measure(f"new child, {name}", max(1, rounds // 5), restart))
    return found


def main() -> int:
    parser = argparse.ArgumentParser(description="What the guard's isolation costs.")
    parser.add_argument("--rounds", type=int, default=30)
    parser.add_argument("--json", action="store_true")
    arguments = parser.parse_args()
    table = [
        *(rows("namespaces", sandbox(), arguments.rounds) if sandbox().strong else []),
        *rows("limits only", Sandbox(reason="chosen"), arguments.rounds),
    ]
    if arguments.json:
        emit_json(table)
        return 0
    shown = Table(title="the guard's cost", title_justify="left")
    for key in table[0]:
        shown.add_column(key, justify="left" if key == "what" else "right")
    for row in table:
        shown.add_row(*(value if isinstance(value, str) else f"{value:.2f}" for value in row.values()))
    out.print(shown)
    return 0


if __name__ == "__main__":
    sys.exit(main())
