"""The gate: all checks of the policy over one pair, and the first that fails gives the reason."""

from collections.abc import Callable, Sequence

from trivium.data.rephrase.gate.checks import (
    bindings,
    chatter,
    copies,
    coverage,
    dates,
    denials,
    ending,
    formulas,
    language,
    length,
    literals,
    loops,
    names,
    opposites,
    protected,
    quantities,
    units,
)
from trivium.data.rephrase.gate.config import CHECKS, GateConfig
from trivium.data.rephrase.gate.embed import Embedder
from trivium.data.rephrase.gate.likeness import Likeness
from trivium.data.rephrase.gate.needs import EMBEDDED, require
from trivium.data.rephrase.gate.pair import Finding, Pair, Verdict
from trivium.data.rephrase.gate.reading import Comparison
from trivium.data.text.language import Identifier

_CHECKS: dict[str, Callable[[Comparison], Finding]] = {
    "protected": protected.check,
    "length": length.check,
    "copies": copies.check,
    "loops": loops.check,
    "chatter": chatter.check,
    "ending": ending.check,
    "literals": literals.check,
    "formulas": formulas.check,
    "dates": dates.check,
    "units": units.check,
    "numbers": quantities.check,
    "names": names.check,
    "bindings": bindings.check,
    "denials": denials.check,
    "opposites": opposites.check,
    "coverage": coverage.check,
}


class Gate:
    """`open` once a worker, `judge` each pair, `close`; a pure function of the pair, the policy and the models."""

    def __init__(self, config: GateConfig) -> None:
        self.config = config
        self._identifier: Identifier | None = None
        self._embedder: Embedder | None = None

    def open(self) -> None:
        """Loads what the checks need. Raises MissingDependencyError when a package is absent."""
        require(self.config)
        if "language" in self.config.checks:
            self._identifier = Identifier()
        if EMBEDDED & set(self.config.checks):
            self._embedder = Embedder()

    def close(self) -> None:
        self._identifier = self._embedder = None

    def judge(self, pair: Pair) -> Verdict:
        """Runs every cheap check, so that a reject shows all that was seen; those with a model where these passed."""
        if not any(character.isalnum() for character in pair.rewrite):
            finding = Finding(
                check="empty", score=0.0, passed=False, reason="empty", detail="the rewrite has no letter"
            )
            return verdict([finding])
        both = Comparison(pair, self.config, self._embed)
        findings: list[Finding] = []
        for name in CHECKS:
            if name not in self.config.checks or (name in EMBEDDED and not all(found.passed for found in findings)):
                continue
            if name == "language":
                if self._identifier is None:
                    raise RuntimeError("the gate was not opened")
                findings.append(language.check(both, self._identifier))
            elif name in _CHECKS:
                findings.append(_CHECKS[name](both))
        return verdict(findings)

    def _embed(self, texts: Sequence[str]) -> Likeness:
        if self._embedder is None:
            raise RuntimeError("the gate was not opened")
        return self._embedder(texts)


def verdict(findings: list[Finding]) -> Verdict:
    """The decision that findings make."""
    failed = next((finding for finding in findings if not finding.passed), None)
    return Verdict(
        accepted=failed is None,
        reason=failed.reason if failed else "",
        detail=failed.detail if failed else "",
        scores={finding.check: round(finding.score, 4) for finding in findings},
        findings=tuple(findings),
    )
