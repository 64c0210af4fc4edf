"""A program that lasts: spoken to over pipes, its tree watched, ended with its reason."""

import os
import subprocess
import sys
import time
from pathlib import Path

import msgspec
import pytest

from trivium.data.guard import Limits, Profile, Sandbox, Service, sandbox
from trivium.data.guard.stand_in import stand_in
from trivium.errors import GuardError

PYTHON = os.path.realpath(sys.executable)
WEAK = Sandbox(reason="chosen by the test")
MIB = 1 << 20
LIMITS = Limits(wall_seconds=0.5, cpu_seconds=5, memory_bytes=128 * MIB, output_bytes=MIB, processes=4)
SERVER = b"""
import os, sys, time
kept = []
for line in os.fdopen(3, "rb", buffering=0):
    word = line.strip().decode()
    if word == "grow":
        for _ in range(3):
            if os.fork() == 0:
                kept = bytearray(os.urandom(1024)) * (60 << 10)
                time.sleep(60)
        time.sleep(60)
    if word == "sleep":
        time.sleep(60)
    if word == "burn":
        began = time.process_time()
        while time.process_time() < began + 0.45:
            pass
    if word == "die":
        sys.exit("gone for good")
    os.write(4, f"{word} {sorted(os.listdir('.'))} {os.getpid()}\\n".encode())
"""
CHROMIUM = "/usr/lib/chromium/chromium"


def start(isolation: Sandbox | None = None, seconds: float = 0.5) -> Service:
    argv = [PYTHON, "-I", "-S", "server.py"]
    return Service(
        argv, {"server.py": SERVER}, limits=msgspec.structs.replace(LIMITS, wall_seconds=seconds), isolation=isolation
    )


def ask(service: Service, word: str) -> str:
    os.write(service.write_fd, f"{word}\n".encode())
    answer = os.read(service.read_fd, 1000)
    if not answer:
        raise EOFError(word)
    return answer.decode()


@pytest.mark.parametrize("isolation", [None, WEAK])
def test_it_answers_for_as_long_as_it_is_needed(isolation: Sandbox | None) -> None:
    before = len(os.listdir("/proc/self/fd"))
    with start(isolation) as service:
        time.sleep(LIMITS.wall_seconds + 0.2)  # the deadline is a piece of work's, not the program's
        for word in ("one", "two"):
            with service.work():
                assert ask(service, word).startswith(f"{word} ['server.py']")
    assert len(os.listdir("/proc/self/fd")) == before


def test_the_processor_time_of_all_its_work_is_nobodys_limit() -> None:
    limits = msgspec.structs.replace(LIMITS, wall_seconds=60, cpu_seconds=1)
    with Service([PYTHON, "-I", "-S", "server.py"], {"server.py": SERVER}, limits=limits) as service:
        for _ in range(3):
            with service.work():
                assert ask(service, "burn").startswith("burn")


@pytest.mark.parametrize(("word", "reason"), [("grow", "memory"), ("sleep", "timeout"), ("die", "crashed")])
def test_a_broken_limit_is_the_reason_of_the_work(word: str, reason: str) -> None:
    with start(seconds=0.5 if reason == "timeout" else 30) as service:
        with pytest.raises(GuardError) as caught, service.work():
            ask(service, word)
        assert caught.value.reason == reason, str(caught.value)
        assert reason != "crashed" or "gone for good" in str(caught.value)
        with pytest.raises(GuardError):
            service.check()


def test_chromium_runs_behind_the_walls() -> None:
    if not Path(CHROMIUM).exists() or not sandbox().strong:
        pytest.skip("needs Debian's chromium and namespaces: apt-get install chromium bubblewrap")
    limits = Limits(memory_bytes=2048 * MIB, processes=20, threads=400, open_files=1024, wall_seconds=60, files=5000)
    read = ("/usr/lib/chromium",)
    profile = Profile(read=read, proc=True, sockets=True, reserves=True)
    argv = [CHROMIUM, "--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--no-zygote"]
    argv += ["--disable-breakpad", "--remote-debugging-pipe", "--user-data-dir=/scratch/user", "about:blank"]
    with Service(argv, limits=limits, profile=profile) as browser, browser.work():
        os.write(browser.write_fd, b'{"id": 1, "method": "Browser.getVersion"}\0')
        assert b'"product":"Chrome/' in os.read(browser.read_fd, 4096)


def test_a_stand_in_is_started_by_others_and_ends_with_them(tmp_path: Path) -> None:
    """As Playwright does it: the tool gives the pipes 3 and 4 and its arguments."""
    limits = msgspec.structs.replace(LIMITS, memory_bytes=128 * MIB)
    (tmp_path / "server.py").write_bytes(SERVER)
    tmp_path.chmod(0o755)
    profile = Profile(read=(str(tmp_path / "server.py"),))
    tool = stand_in(tmp_path / "browser", PYTHON, limits, profile)
    (theirs_in, ours_out), (ours_in, theirs_out) = os.pipe(), os.pipe()
    line = f'exec "$0" -I -S "$1" 3<&{theirs_in} 4>&{theirs_out} {theirs_in}<&- {theirs_out}>&-'
    command = ["bash", "-c", line, str(tool), str(tmp_path / "server.py")]
    with subprocess.Popen(command, pass_fds=(theirs_in, theirs_out), stderr=subprocess.PIPE) as process:
        os.close(theirs_in)
        os.close(theirs_out)
        os.write(ours_out, b"one\n")
        assert os.read(ours_in, 1000).startswith(b"one []")
        os.write(ours_out, b"grow\n")
        assert os.read(ours_in, 1000) == b""
        assert process.wait(20) == 1
    assert (tmp_path / "browser.reason").read_text().startswith("memory: held")
    os.close(ours_in)
    os.close(ours_out)
