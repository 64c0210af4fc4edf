"""Drawings of data: pure functions, canonical code, parts that can be seen, facts that agree with the picture."""

import math
import re
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.data.svg.conftest import drawn
from trivium.data.longcontext.dice import Dice
from trivium.data.pairs.facts import Part
from trivium.data.pairs.item import sheet_of
from trivium.data.stage import Draft, Raw
from trivium.data.svg.draw import SvgDraw
from trivium.data.svg.editor import canonical
from trivium.data.svg.engine import SvgEngine, settings
from trivium.data.svg.generators import KINDS, maker, maps, molecules, patterns
from trivium.data.svg.generators.canvas import Made
from trivium.pipelines.corpora.sources import Place
from trivium.pipelines.corpora.svg import SvgGenerated


def several(kind: str, count: int) -> list[Made]:
    return [maker(kind)(Dice("test", kind, number)) for number in range(count)]


@pytest.mark.parametrize("kind", KINDS)
def test_each_drawing_is_canonical_and_so_are_its_changes(kind: str) -> None:
    count = 1 if kind == "maps" else 3  # maps are long
    made = several(kind, count)
    assert made == several(kind, count)
    for one in made:
        assert len(one.marks) == len(one.facts.parts)
        code = canonical(one.svg)
        elements = len(re.findall(r"<(?:rect|circle|line|polyline|polygon|path|text)\b", code))
        assert {mark for marks in one.marks for mark in marks} <= set(range(elements))
        changes = [edit.code for edit in (one.edits or one.bugs)[:1] + one.bugs[:1]]
        assert all(canonical(change) not in ("", code) for change in changes)
        for name in one.facts.legible:
            assert name in {*one.facts.sizes, *(key for part in one.facts.parts for key in part.sizes)}
    assert any(one.edits for one in made)
    assert any(one.bugs for one in made) or kind == "gauges"


def test_every_part_of_every_kind_is_seen(engine: SvgEngine) -> None:
    for kind in KINDS:
        (made,) = several(kind, 1)
        seen = engine.locate(canonical(made.svg), settings(448))
        for part, marks in zip(made.facts.parts, made.marks, strict=True):
            assert any(mark in seen for mark in marks), (kind, part)


def test_a_bar_chart_keeps_its_data_on_its_way_to_an_item(stage: SvgDraw, code_of: Callable[..., Draft]) -> None:
    source = SvgGenerated(name="made", count=2, kinds={"bars": 1.0}, seed=5)
    (first,) = source.places(Path())
    place = next(source.split(first))
    assert isinstance(place, Place)
    (raw,) = source.read(place, "c", "d")
    assert isinstance(raw, Raw)
    item = drawn(stage, code_of(raw))
    assert isinstance(item, Draft), item
    assert '"pixels":448' in item.document.meta.drawn[0].settings  # its words could be read at no smaller size
    sheet = sheet_of(item)
    assert "plan.json" not in item.media
    for part in sheet.facts.parts:
        assert part.box is not None, part
        assert 0 <= part.box[0] < part.box[2] <= 448
        assert 0 <= part.box[1] < part.box[3] <= 448
    assert_lengths_are_values([part for part in sheet.facts.parts if part.kind == "bar"])
    made = maker("bars")(dice_of(source))
    assert sheet.changes[0].instruction in {edit.instruction for edit in made.edits}
    assert sheet.changes[1].instruction in {bug.instruction for bug in made.bugs}


def dice_of(source: SvgGenerated) -> Dice:
    """As `chosen` gives it to a generator: after the draw of the kind."""
    dice = Dice("svg_generated", source.seed, 0)
    dice.weighted(source.kinds)
    return dice


def assert_lengths_are_values(bars: list[Part]) -> None:
    """The bars' boxes, measured in the picture, are as long as the values that the facts tell."""
    boxes = [part.box or (0, 0, 0, 0) for part in bars]
    upright = len({box[3] for box in boxes}) == 1
    lengths = [box[3] - box[1] if upright else box[2] - box[0] for box in boxes]
    values = [next(iter(part.sizes.values())) for part in bars]
    unit = max(lengths) / max(values)
    assert all(abs(length - value * unit) <= 1.5 for length, value in zip(lengths, values, strict=True))


def test_molecules_have_the_atoms_of_their_formulas() -> None:
    for molecule in molecules.table():
        counts: dict[str, int] = {"H": sum(hydrogens for _, hydrogens in molecule.atoms)}
        for element, _ in molecule.atoms:
            counts[element] = counts.get(element, 0) + 1
        formula = {name: int(number or 1) for name, number in re.findall(r"([A-Z][a-z]?)(\d*)", molecule.formula)}
        assert {name: count for name, count in counts.items() if count} == formula
        valence = {"C": 4, "N": 3, "O": 2}
        for number, (element, hydrogens) in enumerate(molecule.atoms):
            bonds = sum(order for one, two, order in molecule.bonds if number in (one, two))
            assert element not in valence or bonds + hydrogens == valence[element]


def test_no_map_has_a_country_across_it_or_a_line_along_its_edge(engine: SvgEngine) -> None:
    """Fiji, Russia and what lies on both sides of the 180th meridian were drawn as bars across the whole picture."""
    boxes = {one.name: [(min(p)[0], max(p)[0]) for p in one.land] for one in maps.world() if one.name != "Antarctica"}
    assert max(east - west for land in boxes.values() for west, east in land) < 170
    assert any(west < 180 < east < 181 for west, east in boxes["Fiji"])
    for window, (west, south, east, north) in maps._WINDOWS.items():
        made = maps.draw(maps.Map(window, (), sea=True))
        paths = re.findall(r'<path d="([^"]+)"', made.svg)
        shrink = math.cos(math.radians((south + north) / 2))
        scale = 300 / max((east - west) * shrink, north - south)
        for ring in (ring for path in paths for ring in path.split("M")[1:]):
            x, y = map(float, ring.partition("l")[0].rstrip("Z").split())
            places = [(x, y)]
            for step in ring.rstrip("Z").split("l")[1:]:
                right, down = map(float, step.split())
                places.append((places[-1][0] + right, places[-1][1] + down))
            assert all(-2.1 * scale < y < (north - south + 2.1) * scale for _, y in places), window
            assert all(-2.1 * scale * shrink < x < (east - west + 2.1) * scale * shrink for x, _ in places), window
        assert f'<rect x="0" y="{round((north - south) * scale)}"' in made.svg
    shown = maps.draw(maps.Map("Southern Africa", (("Lesotho", "#ff0000"), ("South Africa", "#0000ff")), sea=True))
    seen = engine.locate(canonical(shown.svg), settings(448))
    assert all(any(mark in seen for mark in marks) for marks in shown.marks)


def test_every_row_and_column_of_a_grid_holds_a_shape() -> None:
    seen = 0
    for index in range(300):
        facts = maker("patterns")(Dice("test", index)).facts
        said = re.fullmatch(r"a grid of shapes with (\d+) rows and (\d+) columns", facts.what)
        if said is None:
            continue
        places = [re.search(r"row (\d+), column (\d+)", part.name) for part in facts.parts]
        for at in (1, 2):
            assert {int(found[at]) for found in places if found} == set(range(1, int(said[at]) + 1)), index
        seen += len(facts.parts) < int(said[1]) * int(said[2])
    assert seen > 20, "grids with empty cells are still drawn"


def test_the_report_of_a_grid_s_mistake_suffices_only_where_one_place_fits() -> None:
    seen = set()
    for index in range(200):
        made = maker("patterns")(Dice("test", index))
        places = re.findall(r"\d+", made.facts.what)
        cells = [(part.kind, part.color) for part in made.facts.parts]
        for bug in made.bugs if places else ():
            found = re.fullmatch(r"An? (\w+) that should be \w+ is (\w+)\.", bug.instruction)
            if found:
                fits = 1 + cells.count((found[1], patterns.NAMED[found[2]]))
            else:
                fits = 1 + int(places[0]) * int(places[1]) - len(cells)
            assert bug.enough == (fits == 1), (index, bug.instruction)
            seen.add((bool(found), bug.enough))
    assert len(seen) == 4


def test_the_questions_of_a_flow_chart_are_counted_once() -> None:
    for index in range(20):
        facts = maker("flow")(Dice("test", index)).facts
        assert not any("question" in key for key in facts.sizes)
        asked = sum(part.text.endswith("?") for part in facts.parts if part.kind == "diamond")
        assert asked == sum(part.text.endswith("?") for part in facts.parts)


def test_a_pie_is_whole_and_a_circuit_adds_up() -> None:
    for made in several("pie", 30):
        assert sum(part.sizes["share %"] for part in made.facts.parts if part.kind in ("slice", "segment")) == 100
    for made in several("circuits", 30):
        ohms = [part.sizes["resistance Ω"] for part in made.facts.parts if part.kind == "resistor"]
        total = sum(ohms) if "series" in made.facts.what else 1 / sum(1 / ohm for ohm in ohms)
        assert abs(made.facts.sizes["total resistance Ω"] - total) < 0.001


def test_a_kind_that_nobody_draws_is_refused_by_name() -> None:
    with pytest.raises(ValueError, match="'bar' is no kind of drawing; did you mean 'bars'"):
        SvgGenerated(name="made", count=1, kinds={"bar": 1.0})
    with pytest.raises(ValueError, match="weights are 0"):
        SvgGenerated(name="made", count=1, kinds={"bars": 0.0})
