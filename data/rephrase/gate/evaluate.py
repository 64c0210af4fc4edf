"""How well a gate tells faithful rewrites from unfaithful ones, on labelled pairs: counts by kind of error.

Odd: what share of accepted rewrites is faithful hangs on how many unfaithful ones there are, and labelled sets hold
many. So there are two figures: `precision` of the pairs as they are, and `balanced`, as if half of them were faithful.
"""

from collections import Counter
from collections.abc import Iterable
from pathlib import Path

import msgspec

from trivium.data.rephrase.gate.gate import Gate
from trivium.data.rephrase.gate.pair import Pair, Verdict
from trivium.errors import InputError

FAITHFUL = "faithful"


class Labelled(msgspec.Struct, frozen=True, kw_only=True):
    """A line of `pairs.jsonl`: `half` is `choice` (of thresholds), `held-out` or `fresh`; `kind` says what is wrong."""

    id: str
    family: str  # pairs of one source: all in one half
    half: str
    language: str
    target: str
    style: str
    faithful: bool
    kind: str
    note: str
    source: str
    rewrite: str
    origin: str
    license: str

    @property
    def pair(self) -> Pair:
        return Pair(
            source=self.source, rewrite=self.rewrite, language=self.language, target=self.target, style=self.style
        )


class Report(msgspec.Struct, frozen=True, kw_only=True):
    """`kinds`: pairs and accepted ones by kind; `reasons`: why faithful ones were rejected."""

    kinds: dict[str, tuple[int, int]]
    reasons: dict[str, int]
    recall: float
    precision: float
    balanced: float
    caught: float  # share of the unfaithful ones that were rejected


def load(path: Path) -> list[Labelled]:
    """The labelled pairs of a file. Raises InputError."""
    try:
        return [msgspec.json.decode(line, type=Labelled) for line in path.read_bytes().splitlines() if line.strip()]
    except OSError as error:
        raise InputError(f"{path} can't be read ({error.strerror}); give a file of labelled pairs") from None
    except msgspec.DecodeError as error:
        raise InputError(f"{path} holds a line that is no labelled pair ({error}); mend that line") from None


def evaluate(pairs: Iterable[Labelled], gate: Gate) -> tuple[Report, list[tuple[Labelled, Verdict]]]:
    """The report, and the pairs that were judged wrongly. `gate` is open."""
    seen: Counter[str] = Counter()
    accepted: Counter[str] = Counter()
    reasons: Counter[str] = Counter()
    wrong = []
    for labelled in pairs:
        verdict = gate.judge(labelled.pair)
        seen[labelled.kind] += 1
        accepted[labelled.kind] += verdict.accepted
        if verdict.accepted != labelled.faithful:
            wrong.append((labelled, verdict))
            if labelled.faithful:
                reasons[verdict.reason] += 1
    return _report(seen, accepted, reasons), wrong


def _report(seen: Counter[str], accepted: Counter[str], reasons: Counter[str]) -> Report:
    good, kept = seen[FAITHFUL], accepted[FAITHFUL]
    bad, passed = seen.total() - good, accepted.total() - kept
    recall = kept / good if good else 0.0
    missed = passed / bad if bad else 0.0
    return Report(
        kinds={kind: (seen[kind], accepted[kind]) for kind in sorted(seen)},
        reasons=dict(sorted(reasons.items())),
        recall=recall,
        precision=kept / (kept + passed) if kept + passed else 0.0,
        balanced=recall / (recall + missed) if recall + missed else 0.0,
        caught=1.0 - missed,
    )
