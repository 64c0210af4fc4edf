"""Every error that a user can meet, and its exit code.

Each message says what is wrong, what was found and what to do.

    TriviumError                 1   the work failed
    ├── UsageError               2   the command or its arguments are wrong
    │   └── ConfigError          2   a YAML file or --set value is wrong; names key, what was found, nearest name
    ├── InputError               2   an input file or folder is missing or not what it should be
    ├── MissingDependencyError   1   a package or program is absent; names the command that brings it
    ├── FetchError               1   an input could not be fetched, or is not the one that was asked for
    ├── ShardError               1   a shard, index or manifest is damaged or of another version
    ├── StorageError             1   an address can't be reached, refuses, or did not answer in time
    ├── DigestError              1   parts made with different tokenizers, picture rules or recipes were mixed
    ├── BuildError               1   a Beam job failed: error budget spent, worker died, disk full
    ├── GuardError               1   a guarded child process was killed or refused its input (becomes a reject)
    ├── CheckpointError          1   a checkpoint is damaged or belongs to another run configuration
    ├── StoppedError           130   interrupted by the user; the message says how to go on
    └── TrainError               1   training can't go on: loss not finite, corpus exhausted, disk full
"""

__all__ = [
    "BuildError",
    "CheckpointError",
    "ConfigError",
    "DigestError",
    "FetchError",
    "GuardError",
    "InputError",
    "MissingDependencyError",
    "ShardError",
    "StoppedError",
    "StorageError",
    "TrainError",
    "TriviumError",
    "UsageError",
]


class TriviumError(Exception):
    """Base of all; `str(error)` is what the user reads, `exit_code` what the process returns."""

    exit_code = 1


class UsageError(TriviumError):
    exit_code = 2


class ConfigError(UsageError):
    """A configuration value is wrong; the message begins with `FILE:LINE: path.of.key`.

    Code that does not know the file gives `keys`, the way down to the value (an item of a list by place or by name);
    `trivium.data.config.located` then names file and line.
    """

    def __init__(self, message: str, keys: tuple[str | int, ...] = ()) -> None:
        super().__init__(message)
        self.keys = keys


class InputError(TriviumError):
    exit_code = 2


class MissingDependencyError(TriviumError):
    """A package or program is absent; the message holds the command that brings it."""


class FetchError(TriviumError):
    pass


class ShardError(TriviumError):
    pass


class StoppedError(TriviumError):
    """Ctrl-C, where the command knows what the next run will do."""

    exit_code = 130


class StorageError(TriviumError):
    """Storage failed, which says nothing of the bytes in it; `waited` is the seconds spent, `address` where."""

    def __init__(self, message: str, address: str = "", waited: float = 0.0) -> None:
        super().__init__(message)
        self.address, self.waited = address, waited

    def __reduce__(self) -> tuple[type["StorageError"], tuple[str, str, float]]:
        return type(self), (str(self), self.address, self.waited)


class DigestError(TriviumError):
    pass


class BuildError(TriviumError):
    pass


class GuardError(TriviumError):
    """A guarded child refused or did not finish its input; `reason` is the reject's short code.

    `transient` says that the machine, not the input, may be to blame (killed from outside, late by the wall clock): the
    same input may pass at another time.
    """

    def __init__(self, reason: str, message: str, transient: bool = False) -> None:
        super().__init__(message)
        self.reason, self.transient = reason, transient

    def __reduce__(self) -> tuple[type["GuardError"], tuple[str, str, bool]]:
        return type(self), (self.reason, str(self), self.transient)


class CheckpointError(TriviumError):
    pass


class TrainError(TriviumError):
    pass
