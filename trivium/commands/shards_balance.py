"""How a programmatic corpus is balanced, read from the report that its build left beside the shards."""

from pathlib import Path
from typing import Any

import msgspec

MOST = 64 << 20  # bytes of a report that is read


class Row(msgspec.Struct):
    """Records of one class."""

    name: str
    records: int
    characters: int
    bytes: int


class Report(msgspec.Struct):
    """The part of a build's report that is read here."""

    balance: dict[str, list[Row]] = {}


def balance_of(folder: object) -> dict[str, list[dict[str, Any]]]:
    """Rows by engine, task, what is shown and size; empty where no report lies beside the shards, or says nothing."""
    path = Path(folder) / "report" / "report.json" if isinstance(folder, Path) else None
    try:
        if path is None or path.stat().st_size > MOST:
            return {}
        found = msgspec.json.decode(path.read_bytes(), type=Report)
    except (OSError, msgspec.DecodeError, msgspec.ValidationError):
        return {}
    rows: dict[str, list[dict[str, Any]]] = msgspec.to_builtins(found.balance)
    return rows
