"""Manifold blocks: a channel along the block, ports from above, mounting holes."""

from trivium.data.cad.families.family import BOTTOM, BUILDER, Family, Part
from trivium.data.longcontext.dice import Dice


def draw(dice: Dice, mode: str) -> Part:
    channel = 2 * dice.between(3, 6)
    port = channel + 2 * dice.between(2, 4)
    ports = dice.between(2, 5)
    pitch = port + dice.between(8, 16)
    parameters = {
        "length": (ports - 1) * pitch + 2 * port + 16,
        "width": 2 * dice.between(port, port + 8) + 12,
        "height": channel + dice.between(14, 24),
        "edge_chamfer": dice.between(1, 2),
        "channel_diameter": channel,
        "port_count": ports,
        "port_pitch": pitch,
        "port_diameter": port,
        "port_depth": dice.between(5, 9),
        "mounting_hole_diameter": dice.pick((4, 5, 6)),
    }
    title = "Manifold block with a through channel and ports"
    return Part(title=title, parameters=parameters, body=_BUILDER if mode == BUILDER else _ALGEBRA)


_BUILDER = f"""
    with BuildPart() as manifold:
        # the block
        Box(length, width, height, align={BOTTOM})
        # the chamfers of the upper edges
        chamfer(manifold.faces().sort_by(Axis.Z)[-1].edges(), edge_chamfer)
        # the channel
        with Locations(Pos(0, 0, height / 2) * Rot(0, 90, 0)):
            Cylinder(channel_diameter / 2, 2 * length, mode=Mode.SUBTRACT)
        # the ports
        with Locations((0, 0, height)):
            with GridLocations(port_pitch, 1, port_count, 1):
                CounterBoreHole(channel_diameter / 2, port_diameter / 2, port_depth, depth=height / 2)
        # the mounting holes
        with GridLocations(length - 2 * mounting_hole_diameter, width - 2 * mounting_hole_diameter, 2, 2):
            Hole(mounting_hole_diameter / 2)

    result = manifold.part
"""
_ALGEBRA = f"""
    # the block
    manifold = Box(length, width, height, align={BOTTOM})
    # the chamfers of the upper edges
    manifold = chamfer(manifold.faces().sort_by(Axis.Z)[-1].edges(), edge_chamfer)
    # the channel
    manifold -= Pos(0, 0, height / 2) * Rot(0, 90, 0) * Cylinder(channel_diameter / 2, 2 * length)
    # the ports
    for place in GridLocations(port_pitch, 1, port_count, 1):
        manifold -= Pos(0, 0, height) * place * Cylinder(port_diameter / 2, 2 * port_depth)
        manifold -= Pos(0, 0, height / 2) * place * Cylinder(channel_diameter / 2, height, align={BOTTOM})
    # the mounting holes
    corners = GridLocations(length - 2 * mounting_hole_diameter, width - 2 * mounting_hole_diameter, 2, 2)
    manifold -= [corner * Cylinder(mounting_hole_diameter / 2, 4 * height) for corner in corners]

    result = manifold
"""

FAMILY = Family(name="block", draw=draw)
