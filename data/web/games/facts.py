"""What is in a page that moves: of ours exactly, from its constants and its running state; of others their title."""

from typing import Any

import msgspec

from trivium.data.pairs.facts import Facts, Part
from trivium.data.web.games.kinds import Known, kinds

MOST_PARTS = 120  # of one page
_UNITS = {
    "px/s": " in pixels a second",
    "px/s²": " in pixels a second, each second",
    "rad": " in radians",
    "rad/s": " in radians a second",
    "cells": " in cells",
    "depths/s": " in depths a second",
    "": "",
}
_SELF_EVIDENT = ("WIDTH", "HEIGHT")  # the picture's own


def facts(known: Known, parts: Any) -> Facts:
    """Facts of a page of ours; `parts` is what its kind's expression gave in the running page at the first frame."""
    kind = kinds()[known.kind]
    found = [_rounded(part) for part in msgspec.convert(parts, list[Part])]
    sizes = {
        f"{constant.name}{_UNITS.get(constant.unit, ' ' + constant.unit)}": float(value)
        for name, constant in kind.constants.items()
        if constant.fact and name not in _SELF_EVIDENT and not isinstance(value := known.constants[name], str)
    }
    return Facts(
        what=kind.what,
        title="",  # it stands in the page's head, where nobody sees it
        parts=tuple(found[:MOST_PARTS]),
        cut=len(found) > MOST_PARTS,
        sizes=sizes,
    )


def other(title: str, canvases: int) -> Facts:
    """Facts of anybody's page."""
    words = " ".join(title.split())[:80]
    what = "an animation on a canvas" if canvases else "a page with moving parts"
    return Facts(what=f"{what} called “{words}”" if words and "“" not in words else what)


def _rounded(part: Part) -> Part:
    if part.box is None:
        return part
    left, top, right, bottom = (round(side, 2) for side in part.box)
    return msgspec.structs.replace(part, box=(left, top, right, bottom))
