"""The fidelity gate of rephrasing: whether a rewrite still says what its source says.

A `Gate` judges a `Pair` by the checks of its `GateConfig`, cheap ones first; its `Verdict` holds the reason of a reject
in words, and the score of every check.
"""

from trivium.data.rephrase.gate.config import GateConfig
from trivium.data.rephrase.gate.gate import Gate
from trivium.data.rephrase.gate.pair import REASONS, Finding, Pair, Verdict

__all__ = ["REASONS", "Finding", "Gate", "GateConfig", "Pair", "Verdict"]
