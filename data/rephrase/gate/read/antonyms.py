"""English words that are each other's opposites, by WordNet 3.0: `permit` and `forbid`, `dense` and `thin`.

Odd: words that everything is said with (`light`) are left out; words/en.yaml has lists of what turns those round.
"""

from functools import cache
from importlib import resources

import msgspec

# Endings that inflection adds, and what stood there before.
_ENDINGS = (
    ("ies", "y"), ("ied", "y"), ("ier", "y"), ("iest", "y"), ("es", ""), ("s", ""), ("ed", ""), ("ed", "e"),
    ("ing", ""), ("ing", "e"), ("er", ""), ("er", "e"), ("est", ""), ("est", "e"),
)  # fmt: skip


@cache
def _table() -> dict[str, frozenset[str]]:
    """Opposites by word."""
    found: dict[str, set[str]] = {}
    held = msgspec.json.decode(resources.files(__package__).joinpath("../words/antonyms.en.json").read_bytes())
    light = frozenset(held["light"].split())
    for line in held["pairs"]:
        one, other = ([word for word in side.split() if word not in light] for side in line.split("|"))
        for first, second in ((one, other), (other, one)):
            for word in first:
                found.setdefault(word, set()).update(second if word == first[0] else second[:1])
    return {word: frozenset(others) for word, others in found.items()}


@cache
def forms(word: str) -> frozenset[str]:
    """The word, and what it may be an inflected form of."""
    found = {word}
    for ending, before in _ENDINGS:
        if word.endswith(ending) and len(word) - len(ending) >= 3:
            base = word[: -len(ending)] + before
            found.add(base)
            if base[-1] == base[-2]:
                found.add(base[:-1])
    return frozenset(found)


def opposed(one: str, other: str) -> bool:
    """Whether two words in lower case are opposites."""
    table = _table()
    return any(theirs in table.get(mine, ()) for mine in forms(one) for theirs in forms(other))
