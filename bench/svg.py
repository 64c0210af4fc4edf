"""How many SVG files a second: sanitised, drawn directly, drawn in the guard, drawn by a process a file.

    python bench/svg.py [--files 200] [--pixels 112] [--json]

The floor that `make bench` holds is on the guarded path; wall clock, one core, real icons and clip art of examples/svg.
"""

import argparse
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path

from rich.table import Table

from trivium.console import emit_json, out
from trivium.data.guard import Guard, Limits, Sandbox, sandbox
from trivium.data.svg.drawings import DrawingRules, draw
from trivium.data.svg.policy import SvgPolicy, SvgRefusedError
from trivium.data.svg.requests import TASK, Picture, RenderRequest, request_for
from trivium.data.svg.sanitise import sanitise

EXAMPLES = Path(__file__).parents[1] / "examples" / "svg"
FLOOR = 70.0  # guarded drawings a second at 112 px, cross-checked: half of what was measured


def clean(payloads: Sequence[bytes]) -> list[str]:
    """Canonical code of the files that the sanitiser keeps."""
    kept = []
    for payload in payloads:
        try:
            kept.append(sanitise(payload, SvgPolicy()).text)
        except SvgRefusedError:
            continue
    return kept


def rate(count: int, work: Callable[[], object]) -> float:
    began = time.perf_counter()
    work()
    return count / (time.perf_counter() - began)


def guarded(requests: Sequence[RenderRequest], isolation: Sandbox) -> float:
    with Guard(TASK, Limits(), isolation=isolation) as guard:
        return rate(len(requests), lambda: [guard.call(request, Picture) for request in requests])


def spawned(requests: Sequence[RenderRequest], isolation: Sandbox) -> float:
    def work() -> None:
        for request in requests:
            with Guard(TASK, Limits(), isolation=isolation) as guard:
                guard.call(request, Picture)

    return rate(len(requests), work)


def direct(requests: Sequence[RenderRequest]) -> float:
    from trivium.data.svg.render import render

    render(requests[0])
    return rate(len(requests), lambda: [render(request) for request in requests])


def measure(name: str, payloads: Sequence[bytes], pixels: int) -> dict[str, float | str]:
    """Files a second of one set by each way."""
    codes = clean(payloads)
    requests = [request_for(code, pixels, (255, 255, 255)) for code in codes]
    weak = Sandbox(reason="chosen")
    return {
        "set": name,
        "files": len(payloads),
        "sanitise": rate(len(payloads), lambda: clean(payloads)),
        "direct": direct(requests),
        "guarded": guarded(requests, sandbox()),
        "guarded, limits only": guarded(requests, weak),
        "spawned": spawned(requests[:8], sandbox()),
    }


def main() -> int:
    parser = argparse.ArgumentParser(description="SVG files a second by each way of drawing them.")
    parser.add_argument("--files", type=int, default=200)
    parser.add_argument("--pixels", type=int, default=112)
    parser.add_argument("--json", action="store_true")
    arguments = parser.parse_args()
    sets = {
        name: [path.read_bytes() for path in sorted((EXAMPLES / name).rglob("*.svg"))[: arguments.files]]
        for name in ("tabler-icons", "openmoji", "openclipart")
    }
    sets["drawings"] = [draw(1, index, DrawingRules()).encode() for index in range(arguments.files)]
    rows = [measure(name, payloads, arguments.pixels) for name, payloads in sets.items()]
    verdict = "pass" if float(rows[-1]["guarded"]) >= FLOOR else "fail"
    if arguments.json:
        emit_json({"pixels": arguments.pixels, "rows": rows, "floor": FLOOR, "verdict": verdict})
    else:
        table = Table(title=f"SVG files a second at {arguments.pixels} px", title_justify="left")
        for key in rows[0]:
            table.add_column(key, justify="left" if key == "set" else "right")
        for row in rows:
            table.add_row(*(f"{value:.3g}" if isinstance(value, float) else str(value) for value in row.values()))
        out.print(table)
        out.print(f"guarded drawings: floor {FLOOR:.0f}/s, {verdict}")
    return 0 if verdict == "pass" else 1


if __name__ == "__main__":
    sys.exit(main())
