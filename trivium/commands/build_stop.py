"""Ctrl-C and SIGTERM in a build: one message that says what is finished and what the same command will do.

Odd: a second SIGTERM changes nothing, since batch systems send several and the report of what was done is written after
the first; Ctrl-C ends that too.
"""

import contextlib
import logging
import signal
import threading
from collections.abc import Iterator
from pathlib import Path
from types import FrameType

from trivium.console import counted
from trivium.errors import StoppedError, TriviumError


@contextlib.contextmanager
def stoppable(folder: Path, *, writes: bool = True) -> Iterator[None]:
    """Inside, the signals end the work with StoppedError, exit code 128 + the signal's number; `writes` is False where
    nothing is written into `folder`."""
    asked: list[signal.Signals] = []

    def receive(number: int, frame: FrameType | None) -> None:
        if not asked:
            asked.append(signal.Signals(number))
            raise KeyboardInterrupt("stopped by SIGTERM")  # ends what Ctrl-C ends, in the same way

    def failed(thread: threading.ExceptHookArgs) -> None:
        """The thread that waits for a worker complains of its end, which may come when the job is left already."""
        if not asked:
            hook(thread)

    hook = threading.excepthook
    threading.excepthook = failed
    watched = threading.current_thread() is threading.main_thread()  # no other may ask for signals
    before = signal.signal(signal.SIGTERM, receive) if watched else None
    try:
        yield
    except (KeyboardInterrupt, TriviumError) as error:  # a worker that got the signal too ends its job with an error
        if not asked and not isinstance(error, KeyboardInterrupt):
            raise
        asked.append(signal.SIGINT)  # unless another came first
        logging.disable(logging.CRITICAL)  # Beam's threads complain of the job that was left
        raise _told(asked[0], folder, writes) from None
    finally:
        if not asked:
            threading.excepthook = hook
        if watched:  # one that came may come again while the process ends
            again = signal.SIG_IGN if signal.SIGTERM in asked else before or signal.SIG_DFL
            signal.signal(signal.SIGTERM, again)


def _told(asked: signal.Signals, folder: Path, writes: bool) -> StoppedError:
    how = "interrupted" if asked == signal.SIGINT else f"stopped by {asked.name}"
    stopped = StoppedError(f"{how}; a dry run writes nothing" if not writes else _where_again(folder, how))
    stopped.exit_code = 128 + asked
    return stopped


def _where_again(folder: Path, how: str) -> str:
    """What is done, and what the same command will do."""
    from trivium.pipelines.corpora.unfinished import done_jobs

    jobs, last = done_jobs(folder)
    if not jobs:
        return f"{how} in the first job; the same command begins anew, and nothing half-written is left"
    return (
        f"{how}; {counted(jobs, 'job')} done in {folder}/.build: the same command goes on behind {last!r} "
        "(--fresh begins anew)"
    )
