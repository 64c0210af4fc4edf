"""`trivium train` in processes of their own, forked from one that has imported all that it needs.

A process that starts from nothing spends more time in imports than in training; what befalls one is the same.
"""

import multiprocessing
import runpy
from pathlib import Path

SCRIPT = str(Path(__file__).with_name("rank_job.py"))


class Started:
    """A process that was started, with the part of Popen's methods that `scripts/soak_kill.py` needs."""

    def __init__(self, process):
        self._process = process
        self.pid = process.pid
        self.kill = process.kill

    @property
    def returncode(self):
        return self._process.exitcode

    def poll(self):
        return self._process.exitcode

    def wait(self, seconds=400):
        self._process.join(seconds)
        assert self._process.exitcode is not None, "the process hangs"
        return self._process.exitcode


def start(run, out, log, changes=(), *, environment=None, mischief=None):
    """Starts `trivium train RUN --out OUT`; what it says goes to `log`; `mischief` as rank_job.py has it."""
    context = multiprocessing.get_context("forkserver")
    command = ["train", str(run), "--out", str(out), *(word for change in changes for word in ("--set", change))]
    given = (log, mischief or {}, command, environment or {})
    process = context.Process(target=runpy.run_path, args=(SCRIPT, {"ARGUMENTS": given}), daemon=True)
    process.start()
    return Started(process)
