"""What is true of a solid, in words and numbers, from its geometry alone; imported only inside the guarded child."""

from trivium.data.cad.features import CYLINDER, HOLES, Feature
from trivium.data.cad.solid import Measures
from trivium.data.pairs.facts import Facts, Part

_MOST = 100  # features of a kind; a kind with more is counted and not listed
_NUMBERS = ("no", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve")


def facts(
    found: Measures, around: list[Feature], *, title: str, turned: bool, flat: bool, legible: tuple[str, ...] = ()
) -> Facts:
    """`turned`: all surfaces turn about one axis; `flat`: all faces are plane."""
    counts = {kind: sum(one.kind == kind for one in around) for kind in (*HOLES, CYLINDER)}
    sizes = {f"size along {axis} mm": exact(side) for axis, side in zip("xyz", found.sides, strict=True)}
    if found.volume is not None:
        sizes["volume mm³"] = exact(found.volume)
        sizes["surface area mm²"] = exact(found.area)
    sizes["number of faces"] = float(found.faces)
    if found.solids > 1:
        sizes["number of solids"] = float(found.solids)
    for kind, count in counts.items():
        if count > _MOST:
            sizes[f"number of {kind}s"] = float(count)
    shown = listed(around)
    parts = tuple(part(one, shown) for one in shown)
    what = noun(found, counts, turned=turned, flat=flat)
    return Facts(what=what, title=title, parts=parts, sizes=sizes, legible=legible)


def listed(around: list[Feature]) -> list[Feature]:
    """The features that the facts list, in their order."""
    return [one for one in around if sum(other.kind == one.kind for other in around) <= _MOST]


def part(one: Feature, beside: list[Feature]) -> Part:
    """Named by its diameter, as drawings name it, where no other of its kind has the same."""
    length = "height mm" if one.kind == CYLINDER else "depth mm"
    diameter = exact(one.diameter)
    alone = sum(other.kind == one.kind and exact(other.diameter) == diameter for other in beside) == 1
    wide = "outer diameter mm" if one.kind == CYLINDER else "diameter mm"
    return Part(
        kind=one.kind,
        name=f"Ø{diameter:g}" if alone else "",
        sizes={wide: diameter, length: exact(one.length)},
    )


def noun(found: Measures, counts: dict[str, int], *, turned: bool, flat: bool) -> str:
    """One noun phrase with its article."""
    thin = sorted(found.sides)
    if found.solids > 1:
        what = f"an assembly of {_count(found.solids)} solids"
    elif turned:
        what = "a turned part"
    elif thin[0] * 6 <= thin[1]:
        what = "a flat plate-like part"
    elif flat:
        what = "a part with flat faces only"
    else:
        what = "a solid part"
    told = [f"{_count(counts[kind])} {kind}{'s' if counts[kind] > 1 else ''}" for kind in HOLES if counts[kind]]
    if not told:
        return what
    return f"{what} {'and' if flat and not turned and found.solids == 1 and 'only' in what else 'with'} {_and(told)}"


def exact(value: float) -> float:
    """Rounded to what a drawing gives: micrometres, or six digits of large numbers."""
    rounded = round(value, 3) if abs(value) < 1000 else float(f"{value:.7g}")
    return rounded + 0.0


def _count(number: int) -> str:
    return _NUMBERS[number] if number < len(_NUMBERS) else str(number)


def _and(words: list[str]) -> str:
    return words[0] if len(words) == 1 else f"{', '.join(words[:-1])} and {words[-1]}"
