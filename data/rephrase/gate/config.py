"""The gate's policy: which checks look, what a style may do, and the thresholds; all of it data in a recipe."""

from fnmatch import fnmatchcase
from typing import Annotated

import msgspec

from trivium.data.config import Strict
from trivium.data.rephrase.gate.pair import Pair
from trivium.data.rephrase.gate.vote import Vote

CHECKS = (
    "protected", "length", "copies", "loops", "chatter", "ending", "language", "literals", "formulas", "dates", "units",
    "numbers", "names", "bindings", "denials", "opposites", "coverage",
)  # fmt: skip

Share = Annotated[float, msgspec.Meta(ge=0.0, le=1.0)]


class Scope(msgspec.Struct, frozen=True, kw_only=True):
    """What a pair's style may do: leave things out, derive steps."""

    condenses: bool = False
    derives: bool = False


class GateConfig(Strict, kw_only=True):
    """Policy of the fidelity gate. `checks` are run in the order of CHECKS; leaving one out lets its faults pass.

    `condensing` and `deriving` are patterns of style names (`summary*`): the first may leave things out but may not
    change or invent any, the others may add formulas and their numbers, which have to hold. Lengths are compared in
    Latin letters: a Han sign counts as three.
    """

    checks: tuple[str, ...] = CHECKS
    condensing: tuple[str, ...] = ("*summary*", "*child*", "*abstract*", "*key_points*")
    deriving: tuple[str, ...] = ("*study*", "*notes*", "*worked*", "*solution*")
    shortest: float = 0.45  # length of the rewrite over the source's, where nothing may be left out
    condensed: float = 0.08  # the same where the style condenses
    longest: float = 3.0  # length of the rewrite over the source's, whatever the style
    copy: Share = 0.9  # Jaccard similarity of word triples from which on it is a copy
    contained: Share = 0.9  # share of the smaller text's word 5-grams in the other from which on it is a copy
    loop: Share = 0.15  # share of characters in repeated 8-grams, beyond the source's own
    lost_names: Share = 0.34  # share of the source's names that may be missing, when none is new
    partner: Share = 0.83  # cosine from which on two sentences are compared as partners
    invented: Share = 0.872  # cosine that a sentence of the rewrite has at least with one of the source
    brief: Share = 0.027  # less is asked of a short sentence
    dropped: Share = 0.86  # the same for a sentence of the source; above it `joined` decides
    joined: Share = 0.93  # cosine from which on a sentence is surely there
    foreign: Share = 0.03  # less is asked of both where two languages are compared
    vote: Vote | None = None  # asks a model for chats (`judge`, or the one that wrote) about what all checks let by

    def __post_init__(self) -> None:
        for place, name in enumerate(self.checks):
            if name not in CHECKS:
                raise ValueError(f"checks[{place}]: no check {name!r}; known: {', '.join(CHECKS)}")
        if not 0 < self.condensed <= self.shortest < self.longest:
            raise ValueError(
                f"shortest is {self.shortest:g}, condensed {self.condensed:g}, longest {self.longest:g}; condensed "
                "lies above 0 and not above shortest, and shortest below longest"
            )

    def scope(self, pair: Pair) -> Scope:
        """What the pair's style may do."""
        style = pair.style.split("@")[0]
        return Scope(
            condenses=any(fnmatchcase(style, pattern) for pattern in self.condensing),
            derives=any(fnmatchcase(style, pattern) for pattern in self.deriving),
        )
