"""OpenSCAD parts as people print them: parameters on top, one module, comments that say what is what."""

from collections.abc import Mapping

from trivium.data.longcontext.dice import Dice
from trivium.data.scene.generators.made import Made


def _made(title: str, parameters: Mapping[str, float], body: str, notes: Mapping[str, str]) -> Made:
    wide = max(len(f"{name} = {value:g};") for name, value in parameters.items())
    head = [f"// {title}", ""]
    for name, value in parameters.items():
        line = f"{name} = {value:g};"
        head.append(f"{line.ljust(wide)}  // {notes[name]}" if name in notes else line)
    return Made(name="scene.scad", code="\n".join(head) + "\n\n" + body.strip() + "\n", title=title)


def plate(dice: Dice) -> Made:
    """A plate with a grid of holes and rounded corners."""
    columns, rows = dice.between(1, 5), dice.between(1, 4)
    pitch = dice.pick((10, 12, 15, 20))
    values = {
        "columns": columns, "rows": rows, "pitch": pitch, "hole": dice.pick((3, 4, 5, 6)),
        "thickness": dice.pick((2, 3, 4, 5)), "corner": dice.pick((2, 3, 4)), "$fn": dice.pick((24, 32, 48)),
    }  # fmt: skip
    notes = {"pitch": "distance from hole to hole", "hole": "diameter of a hole", "corner": "radius of the corners"}
    body = """
width = columns * pitch;
depth = rows * pitch;

module outline() {
  hull()
    for (x = [corner, width - corner], y = [corner, depth - corner])
      translate([x, y]) circle(corner);
}

difference() {
  linear_extrude(thickness) outline();
  for (column = [0 : columns - 1], row = [0 : rows - 1])
    translate([(column + 0.5) * pitch, (row + 0.5) * pitch, -1])
      cylinder(h = thickness + 2, d = hole);
}
"""
    return _made(f"Plate with {columns} by {rows} holes", values, body, notes)


def case(dice: Dice) -> Made:
    """An open box with posts for screws, a row of slots, sometimes a lid beside it."""
    slots, lid = dice.between(0, 5), dice.below(2) == 1
    values = {
        "length": dice.pick((40, 50, 60, 80)), "width": dice.pick((30, 40, 50)), "height": dice.pick((15, 20, 30)),
        "wall": dice.pick((2, 3)), "post": dice.pick((6, 8)), "screw": dice.pick((2.5, 3)), "slots": slots, "$fn": 24,
    }  # fmt: skip
    notes = {
        "wall": "thickness of walls and floor",
        "post": "diameter of the posts",
        "screw": "diameter of their holes",
    }
    cover = """
// lid
translate([0, width + 10, 0]) cube([length, width, wall]);
"""
    body = """
module posts(diameter, from) {
  for (x = [wall + post / 2, length - wall - post / 2], y = [wall + post / 2, width - wall - post / 2])
    translate([x, y, from]) cylinder(h = height - from, d = diameter);
}

difference() {
  union() {
    difference() {
      cube([length, width, height]);
      translate([wall, wall, wall]) cube([length - 2 * wall, width - 2 * wall, height]);
    }
    posts(post, 0);
  }
  posts(screw, wall + 1);
  // slots for air
  for (slot = [1 : 1 : slots])
    translate([slot * length / (slots + 1) - 1, -1, height * 0.3]) cube([2, wall + 2, height * 0.45]);
}
"""
    what = f"Case with {slots} slot{'s' if slots > 1 else ''}" if slots else "Case without slots"
    return _made(what + (" and a lid" if lid else ""), values, body + (cover if lid else ""), notes)


def wheel(dice: Dice) -> Made:
    """A toothed or spoked wheel with a hub."""
    if dice.below(2):
        teeth = dice.between(8, 28)
        values = {
            "teeth": teeth,
            "radius": dice.pick((15, 20, 25)),
            "tooth": dice.pick((2, 3)),
            "thickness": dice.pick((4, 6, 8)),
        }
        values |= {"bore": dice.pick((4, 6, 8)), "$fn": 64}
        notes = {"tooth": "height of a tooth", "bore": "diameter of the hole for the axle", "radius": "without teeth"}
        body = """
module cog() {
  cylinder(h = thickness, r = radius);
  for (number = [0 : teeth - 1])
    rotate(number * 360 / teeth)
      translate([radius - 1, 0, 0])
        linear_extrude(thickness)
          polygon([[0, -tooth * 0.8], [tooth + 1, -tooth * 0.4], [tooth + 1, tooth * 0.4], [0, tooth * 0.8]]);
}

difference() {
  union() {
    cog();
    cylinder(h = thickness * 1.6, d = bore * 2);
  }
  translate([0, 0, -1]) cylinder(h = thickness * 2, d = bore);
}
"""
        return _made(f"Cog wheel with {teeth} teeth", values, body, notes)
    spokes = dice.between(3, 9)
    values = {
        "spokes": spokes,
        "radius": dice.pick((20, 25, 30)),
        "rim": dice.pick((3, 4, 5)),
        "thickness": dice.pick((5, 8)),
    }
    values |= {"hub": dice.pick((10, 12, 14)), "bore": dice.pick((4, 5, 6)), "$fn": 64}
    notes = {"rim": "width of the rim", "hub": "diameter of the hub", "bore": "diameter of the hole for the axle"}
    body = """
difference() {
  union() {
    difference() {
      cylinder(h = thickness, r = radius);
      translate([0, 0, -1]) cylinder(h = thickness + 2, r = radius - rim);
    }
    for (number = [0 : spokes - 1])
      rotate(number * 360 / spokes)
        translate([0, -rim / 2, thickness * 0.25]) cube([radius - rim / 2, rim, thickness * 0.5]);
    cylinder(h = thickness, d = hub);
  }
  translate([0, 0, -1]) cylinder(h = thickness + 2, d = bore);
}
"""
    return _made(f"Wheel with {spokes} spokes", values, body, notes)


def vase(dice: Dice) -> Made:
    """A turned vase or bowl, round or of some sides, sometimes twisted."""
    sides = dice.pick((4, 5, 6, 8, 12, 48))
    if dice.below(2):
        points = [[0, 0], [dice.between(10, 16), 0], [dice.between(14, 26), dice.between(8, 18)]]
        points += [[dice.between(8, 14), dice.between(26, 36)], [dice.between(10, 20), dice.between(40, 52)]]
        values = {"wall": dice.pick((1.5, 2, 3)), "sides": sides}
        outline = ", ".join(f"[{x}, {y}]" for x, y in points)
        body = f"""
// half of the outline, from the middle of the foot to the lip
outline = [{outline}];
top = outline[len(outline) - 1];

difference() {{
  rotate_extrude($fn = sides) polygon(concat(outline, [[0, top[1]]]));
  translate([0, 0, wall])
    rotate_extrude($fn = sides)
      polygon(concat([for (point = outline) [max(point[0] - wall, 0), point[1]]], [[0, top[1] + 1]]));
}}
"""
        return _made(f"Turned vase of {sides} sides", values, body, {"wall": "thickness"})
    twist = dice.pick((-120, -60, 0, 45, 90, 180))
    values = {"sides": sides, "radius": dice.pick((12, 16, 20)), "height": dice.pick((30, 40, 60)), "twist": twist}
    values |= {"flare": dice.pick((0.6, 0.8, 1.2, 1.5)), "wall": 2}
    body = """
module outline(r) { circle(r, $fn = sides); }

difference() {
  linear_extrude(height, twist = twist, scale = flare, slices = 40) outline(radius);
  translate([0, 0, wall])
    linear_extrude(height, twist = twist, scale = flare, slices = 40) outline(radius - wall);
}
"""
    notes = {"twist": "degrees from foot to lip", "flare": "width of the lip, of the foot's"}
    return _made(f"Extruded vase of {sides} sides", values, body, notes)


def stand(dice: Dice) -> Made:
    """Steps, a bracket, or a table."""
    form = dice.pick(("steps", "bracket", "table"))
    if form == "steps":
        count = dice.between(3, 9)
        values = {
            "steps": count,
            "tread": dice.pick((6, 8, 10)),
            "rise": dice.pick((4, 5, 6)),
            "width": dice.pick((20, 30, 40)),
        }
        body = """
for (step = [0 : steps - 1])
  translate([0, step * tread, 0]) cube([width, tread, (step + 1) * rise]);
"""
        return _made(f"Stairs of {count} steps", values, body, {"tread": "depth of a step", "rise": "height of a step"})
    if form == "bracket":
        holes = dice.between(1, 3)
        values = {"length": dice.pick((30, 40, 50)), "width": dice.pick((20, 24, 30)), "wall": dice.pick((3, 4, 5))}
        values |= {"holes": holes, "hole": dice.pick((4, 5)), "rib": dice.pick((0, 10, 15)), "$fn": 32}
        body = """
module leg() {
  difference() {
    cube([length, width, wall]);
    for (number = [1 : holes])
      translate([wall + number * (length - wall) / (holes + 1), width / 2, -1]) cylinder(h = wall + 2, d = hole);
  }
}

leg();
translate([wall, 0, 0]) rotate([0, -90, 0]) leg();
// rib between the legs
if (rib > 0)
  translate([wall, width / 2 + wall / 2, wall])
    rotate([90, 0, 0]) linear_extrude(wall) polygon([[0, 0], [rib, 0], [0, rib]]);
"""
        return _made(f"Bracket with {2 * holes} holes", values, body, {"rib": "length of the rib, 0 for none"})
    legs = dice.pick((3, 4, 5, 6))
    values = {
        "legs": legs,
        "radius": dice.pick((20, 25, 30)),
        "height": dice.pick((25, 35, 45)),
        "top": dice.pick((3, 4)),
    }
    values |= {"leg": dice.pick((4, 5, 6)), "$fn": 48}
    body = """
translate([0, 0, height]) cylinder(h = top, r = radius);
for (number = [0 : legs - 1])
  rotate(number * 360 / legs)
    translate([radius * 0.75, 0, 0]) cylinder(h = height + 1, d1 = leg * 0.7, d2 = leg);
"""
    return _made(
        f"Round table with {legs} legs", values, body, {"leg": "diameter of a leg", "top": "thickness of the top"}
    )
