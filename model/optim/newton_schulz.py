"""Muon's orthogonalisation: the kernel folder's operator under the optimizer's name."""

from trivium.kernels.newton_schulz import orthogonalize

__all__ = ["orthogonalize"]
