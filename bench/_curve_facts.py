"""What bench/curves.py found: the curves, and whether two of them keep the rules that its docstring gives."""

import statistics

from torch import Tensor

from trivium.data.config import Strict

NEAR, FIRST = 0.005, 100  # (a): nats, steps
CLOSE, LAST = 0.01, 50  # (b)


class Curve(Strict):
    """One training run: its loss a step, and how long it took."""

    preset: str
    experts: bool
    path: str  # "triton", "reference", or "rounded": the reference with other roundings
    losses: list[float]
    seconds: float
    taken: list[str]  # "operator: path"


class Comparison(Strict):
    """Two runs that differ in their path alone; `verdict` is pass, FAIL, or missing when they are too short."""

    preset: str
    experts: bool
    what: str
    found: float | None
    bound: float
    flips: dict[str, float]  # step → share of (token, layer) whose experts differ
    verdict: str
    median: float | None = None  # |Δ loss| of a step
    floor: float | None = None  # what `found` is between the reference and itself with other roundings
    floor_median: float | None = None
    floor_flips: dict[str, float] = {}


class Facts(Strict):
    """What one run of this command leaves in curves.json."""

    command: str
    commit: str
    device: str
    versions: dict[str, str]
    comparisons: list[Comparison]
    curves: list[Curve]


def flip_rates(a: dict[int, Tensor], b: dict[int, Tensor]) -> dict[str, float]:
    """By step: the share of (layer, token) whose sets of experts differ."""
    return {str(step): float((a[step] != b[step]).any(-1).float().mean()) for step in sorted(a.keys() & b.keys())}


def distance(experts: bool, a: list[float], b: list[float]) -> float:
    """What the rule bounds: (a) without experts, (b) with; shorter runs are measured as far as they go."""
    if experts:
        length = min(len(a), len(b))
        last = slice(max(0, length - LAST), length)
        return abs(sum(a[last]) - sum(b[last])) / max(1, min(LAST, length))
    return max((abs(x - y) for x, y in zip(a[:FIRST], b[:FIRST], strict=False)), default=float("nan"))


def middle(a: list[float], b: list[float]) -> float | None:
    """The median step's |Δ loss|."""
    gaps = [abs(x - y) for x, y in zip(a, b, strict=False)]
    return statistics.median(gaps) if gaps else None


def judge(
    preset: str,
    experts: bool,
    a: list[float],
    b: list[float],
    flips: dict[str, float],
    floor: list[float] | None = None,
) -> Comparison:
    """Kernels `a` beside the reference `b`; runs too short for the rule are missing; `floor` decides nothing."""
    what, bound, needed = (
        (f"|difference of the means of the last {LAST} losses|", CLOSE, LAST)
        if experts
        else (f"largest |Δ loss| over the first {FIRST} steps", NEAR, FIRST)
    )
    found = distance(experts, a, b)
    whole = min(len(a), len(b)) >= needed and len(a) == len(b)
    return Comparison(
        preset=preset, experts=experts, what=what, found=found, bound=bound, flips=flips, median=middle(a, b),
        verdict="missing" if not whole else "pass" if found <= bound else "FAIL",
        floor=None if floor is None else distance(experts, floor, b),
        floor_median=None if floor is None else middle(floor, b),
    )  # fmt: skip
