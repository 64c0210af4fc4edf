"""Layouts that several operators share: those of the targets, and a small one for a CPU."""

from trivium.kernels.bench.case import Layout

__all__ = ["EVEN", "LONG", "ONE", "RAGGED", "TINY"]

ONE = (8192,)
RAGGED = (1300, 547, 2048, 963, 271, 3063)
EVEN = (1024,) * 8
LONG = (65536,)
TINY = (Layout(lengths=(65, 0, 1, 30), heads=2, width=64),)
