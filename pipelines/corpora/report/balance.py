"""What a record of a programmatic corpus counts as: its engine, its task, what it shows, how large its picture is."""

from trivium.data.records import Document, Text

TRAITS = ("engine", "task", "shows", "picture")
SIDES = (64, 128, 256, 512, 1024, 2048)  # pixels of the longer side that a class ends at
_TASKS = "pair_tasks"
_ARTICLES = ("a ", "an ", "the ")
_FOLLOWS = (" with ", " of ", " from ", " in ", " on ", ", ", ": ")


def traits(document: Document) -> dict[str, str]:
    """The class of a record by each of TRAITS; empty for records that no engine drew."""
    meta = document.meta
    tasks = any(step.name == _TASKS for step in meta.lineage.steps)
    if not meta.drawn and not tasks:
        return {}
    sides = [max(part.width, part.height) for part in document.segments if not isinstance(part, Text)]
    return {
        "engine": meta.drawn[0].engine if meta.drawn else "(no picture)",
        "task": meta.address.rpartition("#")[2].partition("-")[0] if tasks else "(none)",
        "shows": kind_of(meta.declared.get("shows", "")) or "(not said)",
        "picture": size_class(sides[0]) if sides else "(no picture)",
    }


def kind_of(what: str) -> str:
    """The thing that a noun phrase names: "a flange with six holes" is a flange."""
    for article in _ARTICLES:
        what = what.removeprefix(article)
    ends = [what.find(follow) for follow in _FOLLOWS if follow in what]
    return what[: min(ends)] if ends else what


def size_class(side: int) -> str:
    """The class of a picture whose longer side has `side` pixels."""
    lower = 1
    for upper in SIDES:
        if side <= upper:
            return f"{lower:,} – {upper:,} px"
        lower = upper + 1
    return f"over {SIDES[-1]:,} px"
