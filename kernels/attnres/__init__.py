"""Attention Residuals: each sublayer reads a softmax mixture of the embedding, earlier blocks and the running sum."""

from trivium.kernels.attnres.reference import attnres_reference

__all__ = ["attnres", "attnres_reference"]

attnres = attnres_reference
