"""Processor time of a job: what a worker's guarded child used counts, also when nobody waits for it."""

import os
import signal
import subprocess
import sys
import time

import pytest

from trivium.pipelines.corpora.usage import Usage

CHILD = """
import time
end = time.process_time() + 0.8
while time.process_time() < end:
    pass
print(1, flush=True)
time.sleep(60)
"""
# A worker whose child burns, then tells and waits: a guard's child lives as long as its worker.
WORKER = f"""
import subprocess, sys, time
child = subprocess.Popen([sys.executable, "-c", {CHILD!r}], stdout=subprocess.PIPE)
child.stdout.readline()
print(child.pid, flush=True)
time.sleep(60)
"""
pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")


def test_a_child_that_nobody_waits_for_counts():
    usage = Usage()
    with subprocess.Popen([sys.executable, "-c", WORKER], stdout=subprocess.PIPE, text=True) as worker:
        child = int(worker.stdout.readline())
        usage.look()
        worker.kill()
    os.kill(child, signal.SIGKILL)
    assert 0.75 <= usage.cpu_seconds() < 0.8 + 1.5


def test_a_child_that_was_seen_and_waited_for_counts_once():
    usage = Usage()
    with subprocess.Popen([sys.executable, "-c", CHILD], stdout=subprocess.PIPE) as child:
        child.stdout.readline()
        usage.look()
        child.kill()
    time.sleep(1.05)
    usage.look()
    assert 0.75 <= usage.cpu_seconds() < 1.5
