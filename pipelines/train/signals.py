"""SIGTERM and SIGINT: the first asks the run to leave its step and save, the second stops at once.

Lost by the first: the step under way, which the next start trains again. By the second: all since the last checkpoint.
An evaluation under way is finished first, since its line belongs to the step that is saved.

Among several ranks one that is asked is enough: all leave the same step. There further signals are not obeyed: torchrun
and a batch system may both send the same one, and torchrun kills what has not ended 30 seconds later.
"""

import os
import signal
import sys
from types import FrameType

from trivium.pipelines.train.ranks import ALONE, Ranks

WATCHED = (signal.SIGTERM, signal.SIGINT)


class StopRequest:
    """Inside `with`, `requested` turns true at the first signal; the second ends the process with 128 + its number.

    Of several ranks (`ranks`) only the first says so, and the second signal does nothing.
    """

    def __init__(self, ranks: Ranks = ALONE) -> None:
        self.signal: signal.Signals | None = None
        self._alone, self._says = ranks.world == 1, ranks.first
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
            if self._alone:
                os._exit(128 + number)
            return
        self.signal = signal.Signals(number)
        if not self._says:
            return
        again = "once more stops at once" if self._alone else "all ranks do"
        # os.write: safe at any place where the signal may have come, inside another print too
        os.write(
            sys.__stderr__.fileno() if sys.__stderr__ else 2,
            f"\n{self.signal.name}: leaving the step under way (it is trained again when the run goes on) and saving; "
            f"{again}\n".encode(),
        )
