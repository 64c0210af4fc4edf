"""Generators of real part families: each draws sound proportions and writes a readable build123d script.

A family is one file with `FAMILY`; all lengths are whole millimetres and stand as named parameters before the code.
"""

from trivium.data.cad.families import (
    beam,
    block,
    bolt,
    bracket,
    bushing,
    clamp,
    crank,
    elbow,
    enclosure,
    flange,
    gear,
    handwheel,
    heat_sink,
    hinge,
    housing,
    knob,
    nut,
    pipe,
    plate,
    pulley,
    shaft,
    standoff,
)
from trivium.data.cad.families.family import Family

FAMILIES: dict[str, Family] = {
    module.FAMILY.name: module.FAMILY
    for module in (
        *(block, bolt, bracket, bushing, clamp, crank, elbow, enclosure, flange, gear, handwheel, heat_sink, hinge),
        *(housing, knob, nut, pipe, plate, beam, pulley, shaft, standoff),
    )
}
