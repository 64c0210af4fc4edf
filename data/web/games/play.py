"""Players by chance: which keys go down when, so that games move. Pure functions of dice."""

from trivium.data.longcontext.dice import Dice
from trivium.data.web.games.kinds import Play
from trivium.data.web.games.settings import Input

# For pages that nobody here knows: a click to begin, then what most games listen to.
STRANGER = Play(keys=("ArrowRight", " ", "ArrowLeft", "ArrowUp", "ArrowDown"), every=(250, 700), hold=(80, 400))
_BEGIN = 150  # milliseconds


def inputs(play: Play, milliseconds: int, dice: Dice, *, begin: int = _BEGIN) -> tuple[Input, ...]:
    """One key at a time for so long, each let go before the next one goes down."""
    found: list[Input] = []
    at = begin + dice.between(0, play.every[0])
    while at < milliseconds:
        key = dice.pick(play.keys)
        up = at + dice.between(*play.hold)
        found += [Input(at=at, act="press", key=key), Input(at=up, act="release", key=key)]
        at = max(up + 20, at + dice.between(*play.every))
    return tuple(found)


def stranger(width: int, height: int, milliseconds: int, dice: Dice) -> tuple[Input, ...]:
    """A click in the middle, the mouse along a line of chance, a click at its end, and keys all the while."""
    found = [
        *_click(width // 2, height // 2, _BEGIN),
        *(Input(at=at, act="press", key="Enter") for at in (_BEGIN + 100,)),
        *(Input(at=at, act="release", key="Enter") for at in (_BEGIN + 160,)),
    ]
    ends = [
        (dice.between(width // 8, width - width // 8), dice.between(height // 8, height - height // 8)) for _ in "ab"
    ]
    steps = 12
    for step in range(steps + 1):
        x, y = (round(a + (b - a) * step / steps) for a, b in zip(*ends, strict=True))
        found.append(Input(at=400 + step * 60, act="move", x=x, y=y))
    found += _click(*ends[1], 400 + (steps + 1) * 60)
    found += inputs(STRANGER, milliseconds, dice, begin=_BEGIN + 200)
    return tuple(sorted(found, key=lambda one: one.at))


def _click(x: int, y: int, at: int) -> tuple[Input, ...]:
    return (
        Input(at=at, act="move", x=x, y=y),
        Input(at=at + 10, act="down", x=x, y=y),
        Input(at=at + 60, act="up", x=x, y=y),
    )
