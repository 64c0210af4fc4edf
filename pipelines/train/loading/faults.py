"""Records that can't be used, by reason; each reason is a function of the bytes and of nothing else."""

from typing import Literal

import msgspec

from trivium.errors import InputError

Reason = Literal[
    "bytes",  # changed or cut since they were written
    "vocabulary",  # a token that the vocabulary does not have
    "picture",  # a picture that can't be decoded
    "clip",  # a clip that does not decode to its end
    "record",  # a clip that is not what its record states: its patches were counted from that
    "decoder",  # a picture or clip that ends the decoder, or takes it too long
    "layout",  # pictures that don't fill the media tokens
]


class BadRecordError(InputError):
    """A record that every run leaves out; `reason` is one of `Reason`."""

    def __init__(self, reason: Reason, message: str) -> None:
        super().__init__(message)
        self.reason: Reason = reason

    def __reduce__(self) -> tuple[type["BadRecordError"], tuple[Reason, str]]:
        return type(self), (self.reason, str(self))


class Skip(msgspec.Struct, frozen=True, kw_only=True):
    """One piece that a step leaves out: the `key` (corpus/id) replays it alone; tokens [start, stop) of its record."""

    key: str
    reason: Reason
    detail: str
    start: int
    stop: int

    @property
    def tokens(self) -> int:
        return self.stop - self.start
