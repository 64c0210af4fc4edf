"""`trivium shards redraw`: draws pictures again from the code beside them and compares pixels."""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Annotated, Any

import typer

from trivium.commands.shards_damage import complain
from trivium.console import counted, emit_json, note, out
from trivium.errors import StoppedError

if TYPE_CHECKING:
    from trivium.data.pairs.redraw import Again
    from trivium.data.records import Document
    from trivium.data.shards import ShardSet

LISTED = 20  # pictures that differ


def redraw(
    path: Annotated[str, typer.Argument(metavar="SET", help="A shard set; a path or an address.")],
    limit: Annotated[
        int | None, typer.Option("--limit", min=1, help="Draw so many records, the first that hold code.")
    ] = None,
    jobs: Annotated[int, typer.Option("--jobs", min=1, help="Pictures that are drawn at once.")] = 1,
    unsafe: Annotated[
        bool, typer.Option("--unsafe-no-isolation", help="Run code of strangers where no namespaces hold.")
    ] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print facts as JSON.")] = False,
) -> None:
    """Draws each picture again from the record's code, files and settings, and compares pixels exactly.

    Exit code 1 when one differs or can't be drawn; Ctrl-C tells what was compared until then. A
    machine with other engines or fonts than those that drew it is named: there pictures may differ.
    """
    from trivium.commands.build_progress import RECORD, shown
    from trivium.data.pairs.redraw import redraw as draw_again
    from trivium.data.shards import ShardSet, place

    shards = ShardSet.open(place(path))
    tally = _Tally()
    total = len(shards.entries.id) if limit is None else limit
    stopped = False
    try:
        with shown(True) as told:
            for some in draw_again(_records(shards, limit, unsafe, tally), jobs):
                tally.found += some
                tally.done += 1
                told("redraw", tally.done + (tally.without_code if limit is None else 0), total, 0, RECORD)
    except KeyboardInterrupt:
        stopped = True
    facts = _facts(tally.found, tally.left_out)
    if as_json:
        damaged = [str(fault) for fault in tally.faults.found]
        emit_json({"set": path, **facts, "damaged": damaged, "stopped": stopped})
    else:
        _print(facts)
    complain(tally.faults.found)
    if stopped:
        raise _stopped(facts)
    if facts["different"] or facts["not_drawn"]:
        raise typer.Exit(1)


class _Tally:
    """What was compared so far, and what the records hold that can't be drawn again, by engine."""

    def __init__(self) -> None:
        from trivium.data.shards.sound import Faults

        self.found: list[Again] = []
        self.left_out: Counter[str] = Counter()
        self.faults = Faults()
        self.done = self.without_code = 0  # records


def _stopped(facts: dict[str, Any]) -> StoppedError:
    told = f"{counted(facts['pictures'], 'picture')} of {counted(facts['records'], 'record')}"
    return StoppedError(f"interrupted; above is what was compared until then, {told}; the rest was not looked at")


def _records(
    shards: "ShardSet", limit: int | None, unsafe: bool, tally: _Tally
) -> Iterator[tuple["Document", Mapping[str, bytes]]]:
    """Records with pictures that can be drawn again; engines that run code of strangers are refused by `demand`."""
    from trivium.data.guard.layers import demand
    from trivium.data.pairs.engine import EXECUTING
    from trivium.data.shards.sound import each_document

    allowed: set[str] = set()
    count = 0
    for number, document in each_document(shards, tally.faults):
        if count == limit:
            return
        able = {drawn.engine for drawn in document.meta.drawn if drawn.code >= 0}
        tally.left_out.update(drawn.engine for drawn in document.meta.drawn if drawn.code < 0)
        if not able:
            tally.without_code += 1
            continue
        demand(sorted((able & EXECUTING) - allowed), unsafe=unsafe)
        allowed |= able
        count += 1
        yield shards.read(number)


def _facts(found: Iterable["Again"], left_out: Counter[str]) -> dict[str, Any]:
    """Counts by engine, the environments, and every picture that is not the same."""
    engines: dict[str, dict[str, Any]] = {}
    for one in found:
        row = engines.setdefault(
            one.engine, {"same": 0, "different": 0, "not_drawn": {}, "without_code": 0, "here": "", "drawn_with": {}}
        )
        if one.outcome == "not_drawn":
            row["not_drawn"][one.reason] = row["not_drawn"].get(one.reason, 0) + 1
        else:
            row[one.outcome] += 1
        row["here"] = row["here"] or one.here
        row["drawn_with"][one.environment] = row["drawn_with"].get(one.environment, 0) + 1
    for name, count in left_out.items():
        empty = {"same": 0, "different": 0, "not_drawn": {}, "without_code": 0, "here": "", "drawn_with": {}}
        engines.setdefault(name, empty)["without_code"] = count
    unlike = [
        {"record": one.record, "media": one.media, "engine": one.engine, "reason": one.reason, "detail": one.detail}
        | {"environment": one.environment, "here": one.here}
        for one in found
        if one.outcome != "same"
    ]
    return {
        "records": len({one.record for one in found}),
        "pictures": sum(1 for _ in found),
        "same": sum(row["same"] for row in engines.values()),
        "different": sum(row["different"] for row in engines.values()),
        "not_drawn": sum(sum(row["not_drawn"].values()) for row in engines.values()),
        "engines": dict(sorted(engines.items())),
        "unlike": unlike,
    }


def _print(facts: dict[str, Any]) -> None:
    from trivium.commands import shards_view as view

    rows = []
    for name, row in facts["engines"].items():
        reasons = ", ".join(f"{reason} {count:,}" for reason, count in sorted(row["not_drawn"].items()))
        rows.append([name, row["same"], row["different"], reasons or 0, row["without_code"]])
    out.print(view.table("", ["engine", "same", "different", "not drawn", "no code held"], rows))
    for name, row in facts["engines"].items():
        for environment, count in sorted(row["drawn_with"].items()):
            if row["here"] and environment != row["here"]:
                note(f"{name}: {counted(count, 'picture')} drawn with {environment}; here is {row['here']}")
    for one in facts["unlike"][:LISTED]:
        said = f"{one['record']} {one['media']} ({one['engine']}): {one['reason']}: {one['detail']}"
        out.print(said, markup=False, highlight=False, soft_wrap=True)
    if len(facts["unlike"]) > LISTED:
        note(f"{len(facts['unlike']) - LISTED:,} more are not the same; --json lists all")
