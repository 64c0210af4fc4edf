"""The generator of games and animations: scripts whose constants are drawn, and what is known of them by that.

A page of ours is known by its text alone: its title names the kind, its constants are read off it, and only a page that
the kind's own script with these constants gives again is one (`recognise`). So facts follow the code, also when it was
changed, and a page that merely looks like ours says nothing of itself.
"""

import functools
import re
from importlib import resources
from typing import Annotated, NamedTuple

import msgspec
import yaml
from msgspec import Meta

from trivium.data.config import Strict
from trivium.data.longcontext.dice import Dice

Value = int | float | str
Bounds = tuple[int, int]

_CONSTANT = re.compile(r'^const ([A-Z_]+) = (-?[0-9.]+|"[^"]*");(?: // [^\n]*)?$', re.MULTILINE)
_COMMENT = re.compile(r"^ *// [^\n]*\n| +// [^\n]*$", re.MULTILINE)
_TITLE = re.compile(r"<title>([^<]*)</title>")
_PAGE = """<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<title>{title}</title>
<style>
body {{ margin: 0; }}
canvas {{ display: block; }}
</style>
</head>
<body>
<canvas id="scene"></canvas>
<script>
{script}</script>
</body>
</html>
"""


class Constant(Strict, frozen=True, kw_only=True):
    """What a constant may be and what it is called; see kinds.yaml."""

    values: tuple[Value, ...] = ()
    colors: str = ""
    name: str = msgspec.field(name="is")
    unit: str = ""
    fact: bool = True
    lower: str = ""
    higher: str = ""


class Play(Strict, frozen=True, kw_only=True):
    """How a game is played; milliseconds."""

    keys: Annotated[tuple[str, ...], Meta(min_length=1)]
    every: Bounds
    hold: Bounds


class Bug(Strict, frozen=True, kw_only=True):
    """A mistake: `replace` in place of `find`, and what a person sees of it."""

    find: str
    replace: str
    seen: str


class Kind(Strict, frozen=True, kw_only=True):
    """One game or animation."""

    what: str
    title: tuple[str, ...]
    constants: dict[str, Constant]
    parts: str
    play: Play | None = None
    bugs: tuple[Bug, ...] = ()


class Known(NamedTuple):
    """A page of ours: its kind, its constants, its title, and whether its script has lost its comments."""

    kind: str
    constants: dict[str, Value]
    title: str
    plain: bool


@functools.cache
def _read() -> tuple[dict[str, Kind], dict[str, tuple[str, ...]], dict[str, str]]:
    folder = resources.files("trivium.data.web.games")
    found = yaml.safe_load(folder.joinpath("kinds.yaml").read_text(encoding="utf-8"))
    colors = msgspec.convert(found.pop("colors"), dict[str, tuple[str, ...]])
    kinds = msgspec.convert(found, dict[str, Kind])
    scripts = {name: folder.joinpath(f"kinds/{name}.js").read_text(encoding="utf-8") for name in kinds}
    return kinds, colors, scripts


def kinds() -> dict[str, Kind]:
    """All kinds by name."""
    return _read()[0]


def choices(constant: Constant) -> tuple[Value, ...]:
    """What a constant may be."""
    return constant.values or _read()[1][constant.colors]


def variant(seed: int, index: int, names: tuple[str, ...] = ()) -> str:
    """Page number `index`, of the kinds `names` (default: all) in turn: a pure function of its arguments."""
    every = tuple(name for name in kinds() if name in names or not names)
    name = every[index % len(every)]
    kind, dice = kinds()[name], Dice("game", seed, index)
    constants: dict[str, Value] = {}
    for key, constant in kind.constants.items():
        taken = [value for value in constants.values() if isinstance(value, str)]
        constants[key] = dice.pick([value for value in choices(constant) if value not in taken])
    return page(Known(name, constants, dice.pick(kind.title), dice.below(4) == 0))


def page(known: Known) -> str:
    """The page that a kind gives with these constants."""
    script = _CONSTANT.sub(lambda found: _replaced(found, known.constants), _read()[2][known.kind])
    if known.plain:
        script = _COMMENT.sub("", script)
    return _PAGE.format(title=known.title, script=script)


def recognise(code: str) -> Known | None:
    """What a page of ours is made of; None for any other."""
    title = _TITLE.search(code)
    for name, kind in kinds().items():
        if title is None or title[1] not in kind.title:
            continue
        found = {match[1]: _value(match[2]) for match in _CONSTANT.finditer(code)}
        constants = {key: found[key] for key in kind.constants if key in found}
        for plain in (False, True):
            known = Known(name, constants, title[1], plain)
            if len(constants) == len(kind.constants) and page(known) == code:
                return known
    return None


def literal(value: Value) -> str:
    """As JavaScript writes it."""
    return f'"{value}"' if isinstance(value, str) else str(value)


def _replaced(found: re.Match[str], constants: dict[str, Value]) -> str:
    if found[1] not in constants:
        return found[0]
    start = found.start(2) - found.start()
    return found[0][:start] + literal(constants[found[1]]) + found[0][start + len(found[2]) :]


def _value(text: str) -> Value:
    if text.startswith('"'):
        return text[1:-1]
    return float(text) if "." in text else int(text)
