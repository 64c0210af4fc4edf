"""SIGTERM and SIGINT: the first asks for a stop at the next step border, the second stops at once."""

import os
import signal
import sys
from types import FrameType

WATCHED = (signal.SIGTERM, signal.SIGINT)


class StopRequest:
    """Inside `with`, `requested` turns true at the first signal; the second ends the process with 128 + its number."""

    def __init__(self) -> None:
        self.signal: signal.Signals | None = None
        self._before: dict[signal.Signals, object] = {}

    @property
    def requested(self) -> bool:
        return self.signal is not None

    def __enter__(self) -> "StopRequest":
        for number in WATCHED:
            self._before[number] = signal.signal(number, self._receive)
        return self

    def __exit__(self, *raised: object) -> None:
        for number, handler in self._before.items():
            signal.signal(number, handler)  # type: ignore[arg-type]

    def _receive(self, number: int, frame: FrameType | None) -> None:
        if self.signal is not None:
            os._exit(128 + number)
        self.signal = signal.Signals(number)
        # os.write: safe at any place where the signal may have come, inside another print too
        os.write(
            sys.__stderr__.fileno() if sys.__stderr__ else 2,
            f"\n{self.signal.name}: saving at the end of this step; once more stops at once\n".encode(),
        )
