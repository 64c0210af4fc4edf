"""Units: an amount of the rewrite is one of the source's, in that unit or converted to an equal amount."""

from trivium.data.rephrase.gate.pair import Finding
from trivium.data.rephrase.gate.read.units import Quantity
from trivium.data.rephrase.gate.reading import Comparison, Reading, shown


def check(both: Comparison) -> Finding:
    """Each amount of the rewrite is one of the source's, in that unit or converted without loss."""
    source, rewrite = both.source, both.rewrite
    wrong: list[tuple[Quantity | None, Quantity]] = []
    for mine, other in ((rewrite, source), (source, rewrite)):
        for quantity in mine.quantities:
            if any(quantity.equals(theirs) for theirs in other.quantities):
                continue
            same = [theirs for theirs in other.quantities if quantity.number.meets(theirs.number)]
            if same:
                wrong.append((quantity, same[0]) if mine is rewrite else (same[0], quantity))
            elif mine is source and quantity.unit.dimension not in ("calendar", "angle") and _bare(quantity, other):
                wrong.append((None, quantity))
    total = max(1, len(source.quantities) + len(rewrite.quantities))
    if not wrong:
        changed = _vague(source, rewrite)
        if changed:
            return Finding(check="units", score=0.0, passed=False, reason="unit_changed", detail=changed)
        return Finding(check="units", score=1.0, passed=True)
    new, old = wrong[0]
    said = _written(rewrite, new) if new else "the bare number"
    return Finding(
        check="units",
        score=max(0.0, 1.0 - len(wrong) / total),
        passed=False,
        reason="unit_changed",
        detail=f"the source has {_written(source, old)}, the rewrite {said}",
    )


def _bare(quantity: Quantity, other: Reading) -> bool:
    with_unit = {theirs.number.start for theirs in other.quantities}
    meeting = [number for number in other.numbers if number.meets(quantity.number) and number.sort == "number"]
    return bool(meeting) and all(number.start not in with_unit for number in meeting)


def _written(reading: Reading, quantity: Quantity) -> str:
    return shown(reading.text[quantity.start : quantity.stop])


def _vague(source: Reading, rewrite: Reading) -> str:
    """What is wrong with amounts without a number: one has another unit of the dimension, and the source's is gone."""
    ours = {unit for unit, _ in source.vague} | {quantity.unit for quantity in source.quantities}
    theirs = {unit for unit, _ in rewrite.vague} | {quantity.unit for quantity in rewrite.quantities}
    for unit, written in rewrite.vague:
        gone = [text for old, text in source.vague if old.dimension == unit.dimension and old not in theirs]
        if unit not in ours and gone:
            return f"the source has {shown(gone[0])}, the rewrite {shown(written)}"
    return ""
