import os
import signal
import subprocess
import sys

import pytest

from trivium.errors import InputError, TrainError
from trivium.pipelines.train.folder import RunFolder, code_version, machine, read_starts, record_start, write_atomically
from trivium.pipelines.train.signals import StopRequest

HOLD = """
import sys
from pathlib import Path
from trivium.pipelines.train.folder import RunFolder
with RunFolder(Path(sys.argv[1])):
    print("held", flush=True)
    sys.stdin.read()
"""


def test_two_processes_on_one_folder_are_refused_by_name(tmp_path):
    holder = subprocess.Popen(
        [sys.executable, "-c", HOLD, str(tmp_path / "run")], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    assert holder.stdin is not None
    assert holder.stdout is not None
    assert holder.stdout.readline() == "held\n"
    with (
        pytest.raises(TrainError, match=rf"process {holder.pid} on .* is training in this folder"),
        RunFolder(tmp_path / "run"),
    ):
        pass
    holder.kill()  # SIGKILL: the lock must die with its process
    holder.wait()
    holder.stdin.close()
    holder.stdout.close()
    with RunFolder(tmp_path / "run") as folder:
        assert folder.root.is_dir()


def test_a_file_in_place_of_the_folder(tmp_path):
    (tmp_path / "run").write_text("x")
    with pytest.raises(InputError, match="is not a folder"), RunFolder(tmp_path / "run"):
        pass


def test_starts_and_versions(tmp_path):
    with RunFolder(tmp_path / "run") as folder:
        record_start(folder, {"step": 0, "code": code_version(), "machine": machine()})
        record_start(folder, {"step": 7})
        first, second = read_starts(folder)
    assert first["code"]["trivium"]
    assert first["machine"]["torch"]
    assert second["step"] == 7


def test_write_atomically_leaves_nothing_beside(tmp_path):
    write_atomically(tmp_path / "a.txt", "one")
    write_atomically(tmp_path / "a.txt", "two")
    assert [path.name for path in tmp_path.iterdir()] == ["a.txt"]
    assert (tmp_path / "a.txt").read_text() == "two"


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_the_first_signal_asks(number, capfd):
    before = signal.getsignal(number)
    with StopRequest() as stop:
        assert not stop.requested
        os.kill(os.getpid(), number)
        assert stop.requested
    assert signal.getsignal(number) is before
    assert "leaving the step under way" in capfd.readouterr().err


TWICE = """
import os, signal
from trivium.pipelines.train.signals import StopRequest
with StopRequest():
    os.kill(os.getpid(), signal.SIGTERM)
    os.kill(os.getpid(), signal.SIGTERM)
    print("not reached")
"""


def test_the_second_signal_stops_at_once():
    done = subprocess.run([sys.executable, "-c", TWICE], capture_output=True, text=True, check=False, timeout=60)
    assert done.returncode == 128 + signal.SIGTERM
    assert "not reached" not in done.stdout
