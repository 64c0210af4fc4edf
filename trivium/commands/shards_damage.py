"""How commands that go on over damaged sets end: each fault on standard error, and exit code 1."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

import typer

from trivium.console import note

if TYPE_CHECKING:
    from trivium.data.shards import ShardSet
    from trivium.data.shards.sound import Faults


def complain(faults: Sequence[str]) -> None:
    """Names faults on standard error and ends with 1 when there are any."""
    name(faults)
    if faults:
        raise typer.Exit(1)


def name(faults: Sequence[str]) -> None:
    """Names faults on standard error."""
    for fault in faults:
        note(f"damaged: {fault}")


def open_sets(paths: Sequence[str], tell: "Faults") -> "list[ShardSet]":
    """The sets at or below the paths, whole or damaged; those without a sound manifest are told."""
    from trivium.data.shards.sound import opened
    from trivium.data.shards.summary import read_heads

    heads, damaged = read_heads(paths)
    for fault in damaged.values():
        tell(fault)
    return [opened(head) for head in heads]
