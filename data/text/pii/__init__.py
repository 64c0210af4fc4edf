"""Personal data and secrets in text: one finder a file, each from a cheap search to an exact check; then the masking.

Odd: a finder looks for the one byte sequence that its kind can't do without (`@`, four numbers with dots, a token's
prefix) and only then parses, so that prose costs next to nothing.
"""

from trivium.data.text.pii.find import KINDS, Kind, Span, find

__all__ = ["KINDS", "Kind", "Span", "find"]
