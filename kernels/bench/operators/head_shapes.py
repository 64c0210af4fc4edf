"""Shapes of the head's loss: those of the target, and small ones for a CPU and for first calls."""

from dataclasses import dataclass

__all__ = ["COLD_HEADS", "HEAD", "HEAD_LONG", "TINY_HEADS", "HeadShape"]


@dataclass(frozen=True, kw_only=True)
class HeadShape:
    """Tokens of `width`, all with a target, before a vocabulary."""

    tokens: int
    width: int
    vocabulary: int

    @property
    def name(self) -> str:
        return f"T{self.tokens} D{self.width} V{self.vocabulary}"


HEAD, HEAD_LONG = (HeadShape(tokens=tokens, width=2048, vocabulary=163840) for tokens in (8192, 32768))
TINY_HEADS = (HeadShape(tokens=67, width=64, vocabulary=515),)
COLD_HEADS = tuple(HeadShape(tokens=tokens, width=512, vocabulary=16384) for tokens in (1024, 2048, 777, 5003))
