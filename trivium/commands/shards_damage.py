"""How commands that go on over damaged sets end: each fault on standard error, and exit code 1."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

import typer

from trivium.console import counted, note
from trivium.errors import InputError, UsageError

if TYPE_CHECKING:
    from trivium.data.shards import ShardSet
    from trivium.data.shards.sound import Faults


def complain(faults: Sequence[str]) -> None:
    """Names faults on standard error and ends with 1 when there are any, or 2 when nothing is at a place."""
    name(faults)
    if faults:
        raise typer.Exit(max(getattr(fault, "code", 1) for fault in faults))


def name(faults: Sequence[str]) -> None:
    """Names faults on standard error."""
    for fault in faults:
        note(f"{'not read' if hasattr(fault, 'code') else 'damaged'}: {fault}")


def one_set(path: str) -> str:
    """The path, for commands that take one set alone. Raises UsageError for a folder of sets."""
    from trivium.data.shards import place
    from trivium.data.shards.summary import below, find_sets

    where = place(path)
    try:
        found = find_sets([where])
    except InputError:  # opening it says what is wrong
        return path
    if found != [where]:
        some = ", ".join(below(one, where) for one in found[:4]) + (", …" if len(found) > 4 else "")
        raise UsageError(f"{path}: a folder of {counted(len(found), 'set')}: name one: {some}")
    return path


def open_sets(paths: Sequence[str], tell: "Faults") -> "list[ShardSet]":
    """The sets at or below the paths, whole or damaged; those without a sound manifest are told."""
    from trivium.data.shards.sound import opened
    from trivium.data.shards.summary import read_heads

    heads, damaged = read_heads(paths)
    for fault in damaged.values():
        tell(fault)
    return [opened(head) for head in heads]
