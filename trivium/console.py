"""What every command prints through: facts as JSON on standard output or a rich table, notes on standard error."""

import sys
from typing import Any

import msgspec
from rich.console import Console

out = Console()
err = Console(stderr=True)


def emit_json(facts: Any) -> None:
    """Facts for scripts: one JSON value, indented, on standard output and nothing else there."""
    raw = msgspec.json.format(msgspec.json.encode(facts), indent=2)
    sys.stdout.write(raw.decode() + "\n")


def note(message: str) -> None:
    """One line for people, on standard error, so that standard output stays clean for facts."""
    err.print(message, highlight=False, soft_wrap=True)
