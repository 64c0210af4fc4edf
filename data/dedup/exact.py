"""Exact duplicates: records with the same content id; the survivor keeps the others' source ids."""

from trivium.data.dedup.config import Dedup


class ExactDedup(Dedup, kw_only=True, tag="exact_dedup"):
    """Parameters of exact de-duplication, a shuffle of the whole corpus by content id."""

    WORD = "exact"
