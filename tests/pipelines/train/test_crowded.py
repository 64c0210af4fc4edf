import os
import subprocess
import sys

import pytest

from trivium.pipelines.train.crowded import SECONDS, SHARE, Crowded, delays


@pytest.mark.parametrize("waited", [SHARE * 0.9, SHARE * 1.2])
def test_it_tells_once_when_a_thread_waits_for_a_core(waited):
    now = [0.0]
    crowded = Crowded(lambda: {"1": int(now[0] * waited * 1e9), "2": 0}, lambda: now[0], threads=2)
    said = []
    for _ in range(5):
        now[0] += SECONDS * 0.6
        said.append(crowded.look())
    assert [one is not None for one in said] == [False, waited > SHARE, False, False, False]
    if waited > SHARE:
        assert "in the last 12 s its 2 threads waited up to 30% of the time" in said[1]


def test_the_system_counts_what_it_says():
    """A thread beside a busy one on the same core waits for it."""
    if not delays():
        pytest.skip("this system does not count waiting")
    script = (
        "import os, signal, time\n"
        "from trivium.pipelines.train.crowded import delays\n"
        "os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})\n"
        "child = os.fork()\n"
        "end = time.monotonic() + 20\n"
        "while time.monotonic() < end and (not child or max(delays().values()) < 1e8): pass\n"
        "if child: print(max(delays().values())); os.kill(child, signal.SIGKILL)\n"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True, timeout=60)
    assert int(done.stdout) >= 1e8, done.stderr


def test_idle_threads_sleep_from_the_start():
    """OpenMP reads its environment when torch is loaded, so it must be set before."""
    script = (
        "import os, sys\n"
        "from trivium.commands.train import settle_environment\n"
        "settle_environment()\n"
        "print(os.environ['OMP_WAIT_POLICY'], 'torch' in sys.modules)\n"
    )
    bare = {name: value for name, value in os.environ.items() if not name.startswith(("OMP", "GOMP"))}
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=True, timeout=60, env=bare
    )
    assert done.stdout.split() == ["passive", "False"]
