"""A schedule changed between two starts of one run: allowed where it reaches only ahead, recorded, else refused.

Odd: a record is written at every start until a checkpoint holds the new schedule, and an equal one is not repeated; so
a run that is killed in between still tells of the change once.
"""

import shutil
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import msgspec

from trivium.curriculum.change import Change, change
from trivium.curriculum.schedule import Schedule
from trivium.data.config import from_mapping
from trivium.errors import ConfigError
from trivium.pipelines.train.checkpoint import Checkpoint, check_identity
from trivium.pipelines.train.folder import RunFolder
from trivium.pipelines.train.prepare import Prepared


def go_on(found: Checkpoint, prepared: Prepared, folder: RunFolder, note: Callable[[str], None]) -> Change | None:
    """Checks that `prepared` may go on from `found`; returns the schedule's change, which is then recorded, if any.

    The old config is kept as config-STEP.yaml. Raises CheckpointError when anything but the schedule differs,
    ConfigError naming what of the schedule lies behind the checkpoint's step.
    """
    theirs, ours = found.manifest.identity, _plain(prepared.identity)
    if theirs["schedule"] == ours["schedule"]:
        check_identity(found, ours)
        return None
    old = _schedule(theirs["schedule"], prepared.schedule, str(found.folder))
    try:
        made = change(old, prepared.schedule, found.step)
    except ConfigError as error:
        raise ConfigError(f"{prepared.run.schedule}: {error}") from None
    kept = {name: ours["corpora"].get(name, digest) for name, digest in theirs["corpora"].items()}
    check_identity(found, {**ours, "schedule": theirs["schedule"], "corpora": kept})
    if not made.differences:  # limits and folders decide no rows
        return None
    if _record(folder.changes, made) and folder.config.is_file():
        shutil.copyfile(folder.config, folder.root / f"config-{found.step}.yaml")
    keys = ", ".join(one.key for one in made.differences)
    note(f"{folder.root}: the schedule changes from step {made.step} on ({keys}); {made.steps_after} steps in all")
    return made


def _record(path: Path, made: Change) -> bool:
    """Appends the change unless the last line tells it already; says whether it did."""
    line = msgspec.to_builtins(made)
    if path.is_file():
        try:
            last = msgspec.json.decode(path.read_bytes().splitlines()[-1])
        except (msgspec.DecodeError, IndexError):  # a line that was cut short tells nothing
            last = {}
        if {key: value for key, value in last.items() if key != "at"} == _plain(line):
            return False
    stamped = {"at": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()), **line}
    with path.open("ab") as file:
        file.write(msgspec.json.encode(stamped) + b"\n")
    return True


def _schedule(resolved: Mapping[str, Any], today: Schedule, name: str) -> Schedule:
    """The checkpoint's schedule; the corpora's folders, which it does not hold, are today's."""
    raw = _plain(resolved)
    for corpus, settings in raw["corpora"].items():
        settings["path"] = today.corpora[corpus].path if corpus in today.corpora else corpus
    return from_mapping(raw, Schedule, name=name)


def _plain(value: Any) -> Any:
    """As it comes back from a file: no tuples, a copy."""
    return msgspec.json.decode(msgspec.json.encode(value))
