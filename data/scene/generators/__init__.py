"""Scenes that a program writes from a seed: readable code whose objects, colours and places are known exactly."""

from collections.abc import Callable, Mapping

from trivium.data.longcontext.dice import Dice
from trivium.data.scene.generators import carved, mosaic, parts, sculpture, still, terrain
from trivium.data.scene.generators.made import Made

__all__ = ["KINDS", "USUAL", "Made", "scene"]

KINDS: Mapping[str, Callable[[Dice], Made]] = {
    "still-life": still.scene,
    "carved": carved.scene,
    "mosaic": mosaic.scene,
    "terrain": terrain.scene,
    "sculpture": sculpture.scene,
    "plate": parts.plate,
    "case": parts.case,
    "wheel": parts.wheel,
    "vase": parts.vase,
    "stand": parts.stand,
    "market": still.market,
}
USUAL = tuple(kind for kind in KINDS if kind != "market")  # a market is long, for sessions


def scene(kind: str, seed: int, index: int) -> Made:
    """The scene of this number; equal arguments give equal code. Raises KeyError for a kind that is none."""
    return KINDS[kind](Dice("scene", kind, seed, index))
