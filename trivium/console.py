"""What every command prints through: facts as JSON on standard output or a rich table, notes on standard error."""

import re
import sys
from typing import TYPE_CHECKING, Any

import msgspec
from rich.console import Console

if TYPE_CHECKING:
    from rich.progress import Progress, ProgressColumn

out = Console()
err = Console(stderr=True)
_emitted = False  # whether JSON was written: one value a process

# All control characters but tab and newline, and the marks that turn the direction of writing: a terminal obeys them.
_COMMANDS = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069\ud800-\udfff]")

_BREAKS = re.compile("[\t\n\x0b\x0c\r\x1c-\x1e\x85\u2028\u2029]")  # what begins another line or column


def printable(text: str) -> str:
    """Text of strangers (or of a model) with everything that a terminal would obey written out, as `\\x1b`."""
    return _COMMANDS.sub(lambda found: found[0].encode("unicode_escape").decode(), text)


def inline(name: str) -> str:
    """An address, id or path of strangers as one line of one thing: `printable`, ends of lines and tabs written out."""
    return printable(_BREAKS.sub(lambda found: found[0].encode("unicode_escape").decode(), name))


def say(text: str, *, raw: bool = False, end: str = "\n") -> None:
    """Text of strangers on standard output: exact into a file or a pipe, `printable` on a terminal unless `raw`."""
    sys.stdout.write((text if raw or not sys.stdout.isatty() else printable(text)) + end)
    sys.stdout.flush()


def counted(count: int, thing: str, things: str = "") -> str:
    """`1 shard`, `2,000 shards`; `things` where the plural is not made by an s."""
    return f"{count:,} {thing if count == 1 else things or thing + 's'}"


def size(count: float) -> str:
    """Bytes for people, in decimal units: `5.56 TB`."""
    for unit in ("bytes", "kB", "MB", "GB", "TB"):
        if count < 999.5 or unit == "TB":
            return f"{count:,.3g} {unit}" if count < 999.5 else f"{count:,.0f} {unit}"
        count /= 1000
    raise AssertionError("the last unit holds everything")


def emit_json(facts: Any) -> None:
    """Facts for scripts: one JSON value, indented, on standard output and nothing else there."""
    global _emitted
    raw = msgspec.json.format(msgspec.json.encode(facts), indent=2)
    _emitted = True
    sys.stdout.write(raw.decode() + "\n")


def emit_failure(message: str, exit_code: int) -> None:
    """The error of a command that was asked for JSON, for scripts; facts that stand on standard output stay alone."""
    if not _emitted:
        emit_json({"error": {"message": message, "exit_code": exit_code}})
        sys.stdout.flush()


def note(message: str) -> None:
    """One line for people, on standard error, so that standard output stays clean for facts."""
    err.print(printable(message), highlight=False, soft_wrap=True)


def progress(*columns: "ProgressColumn") -> "Progress":
    """A bar on standard error that goes when its work is done; nothing at all where that is no terminal."""
    from rich.progress import Progress  # a fifth of this module's import time, for commands that show none

    return Progress(*columns, console=err, transient=True, disable=not err.is_terminal)
