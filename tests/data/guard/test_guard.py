"""The guard on real misbehaviour, with bubblewrap where it works and with limits only."""

import os
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import msgspec
import psutil
import pytest

from trivium.data.guard import Guard, Limits, Profile, Sandbox, sandbox
from trivium.data.guard.sandbox import _interpreter, _walls, readable
from trivium.errors import BuildError, GuardError, MissingDependencyError

TASKS = Path(__file__).parent
ROOT = TASKS.parents[2]
WEAK = Sandbox(reason="chosen by the test")
LIMITS = Limits(wall_seconds=0.5, cpu_seconds=5, output_bytes=1 << 20)


def guard(task: str, limits: Limits = LIMITS, isolation: Sandbox | None = None) -> Guard:
    return Guard(f"guard_tasks:{task}", limits, isolation=isolation, extra=[TASKS])


@pytest.fixture(params=["sandbox", "limits"])
def isolation(request: pytest.FixtureRequest) -> Sandbox:
    return sandbox() if request.param == "sandbox" else WEAK


@pytest.fixture(autouse=True)
def nothing_left() -> Iterator[None]:
    """Every test ends with the descriptors and children that it began with."""
    me = psutil.Process()
    sandbox()
    files, children = me.num_fds(), {child.pid for child in me.children(recursive=True)}
    yield
    assert me.num_fds() == files
    assert {child.pid for child in me.children(recursive=True)} <= children


def strong() -> None:
    if not sandbox().strong:
        pytest.skip(f"no namespaces here: {sandbox().reason}")


def test_answers_come_back_typed_from_one_lasting_child(isolation: Sandbox) -> None:
    class Answer(msgspec.Struct):
        length: int
        pid: int

    with guard("measure", isolation=isolation) as g:
        answers = [g.call("x" * n, Answer) for n in (0, 1, 100_000)]
    assert [answer.length for answer in answers] == [0, 1, 100_000]
    assert len({answer.pid for answer in answers}) == 1
    assert g.starts == 1


MISBEHAVIOUR = {
    ("hold_the_gil", 20): "timeout",
    ("spin_in_c", 0): "timeout",
    ("allocate", 10 << 30): "memory",
    ("segfault", 0): "crashed",
    ("abort", 0): "crashed",
    ("leave", 0): "crashed",
    ("big", 4 << 20): "output_too_large",
    ("lie", 0): "output_too_large",
    ("complain", 0): "odd",
    ("recurse", 1_000_000): "refused",
    ("fork", 3): "refused",
    ("execute", "/usr/bin/env"): "refused",
    ("read", "/nonexistent"): "refused",
}


def test_each_misbehaviour_has_its_reason_and_the_next_call_works(isolation: Sandbox) -> None:
    with guard("perform", isolation=isolation) as g:
        for request, reason in MISBEHAVIOUR.items():
            began = time.monotonic()
            with pytest.raises(GuardError) as caught:
                g.call(request, int)
            assert caught.value.reason == reason, f"{request}: {caught.value}"
            assert time.monotonic() - began < 10 * LIMITS.wall_seconds + LIMITS.start_seconds
        assert g.call(("echo", 7), int) == 7


def test_only_what_came_from_outside_is_transient(isolation: Sandbox) -> None:
    transient = {}
    for task, argument in (("segfault", 0), ("read", "/nonexistent"), ("spin_in_c", 0)):
        with guard(task, isolation=isolation) as g, pytest.raises(GuardError) as caught:
            g.call(argument, int)
        transient[task] = caught.value.transient
    assert transient == {"segfault": False, "read": False, "spin_in_c": True}
    with guard("spin_in_c", Limits(wall_seconds=60), isolation=isolation) as g:
        victim = max(psutil.Process().children(recursive=True), key=lambda child: child.create_time())
        timer = threading.Timer(0.2, victim.kill)
        timer.start()
        with pytest.raises(GuardError, match="SIGKILL") as caught:
            g.call(0, int)
        timer.join()
    assert (caught.value.reason, caught.value.transient) == ("crashed", True)


def test_processor_time_is_limited_for_each_request() -> None:
    with (
        guard("spin_in_c", Limits(wall_seconds=60, cpu_seconds=1)) as g,
        pytest.raises(GuardError, match="processor time") as caught,
    ):
        g.call(0, int)
    assert caught.value.reason == "timeout"


def test_no_connection_leaves_the_child(isolation: Sandbox) -> None:
    import socket

    with socket.create_server(("127.0.0.1", 0)) as server:
        server.settimeout(0.2)
        address = server.getsockname()
        with guard("connect", isolation=isolation) as g, pytest.raises(GuardError) as caught:
            g.call(address, str)
        assert caught.value.reason == "refused"
        with pytest.raises(TimeoutError):
            server.accept()
        with socket.create_connection(address):  # the listener does hear those who can speak
            server.accept()[0].close()


def test_the_file_system_holds_only_the_interpreter_and_its_libraries(tmp_path: Path) -> None:
    strong()
    secret = tmp_path / "secret"
    secret.write_text("x")
    with guard("read") as g:
        for path in ("/etc/passwd", str(secret), "/proc/self/environ", str(ROOT / "Makefile")):
            with pytest.raises(GuardError, match="No such file"):
                g.call(path, str)
    with guard("strangers") as g:
        places = ["/lib", "/lib32", "/lib64", "/dev", "/scratch", *readable(Profile(), [TASKS])]
        assert g.call(places, list[str]) == []
        (found,) = g.call([place for place in places if place != str(TASKS)], list[str])
        assert TASKS.is_relative_to(found)
    with guard("write") as g:
        assert g.call("here.txt", int) == 100
        for path in (str(secret), str(Path(sys.prefix) / "x"), "/usr/lib/x", "/x"):
            with pytest.raises(GuardError) as caught:
                g.call(path, int)
            assert caught.value.reason == "refused"
    assert secret.read_text() == "x"
    # By the mounts alone, whoever asks: neither a lent user nor Landlock stands behind them here.
    walls = _walls(Sandbox(program=sandbox().program), LIMITS, Profile(), [])
    code = "open('/scratch/x', 'w'); open('/x', 'w')"
    done = subprocess.run([*walls, "--", *_interpreter(), "-c", code], capture_output=True, text=True, check=False)
    assert "Read-only file system: '/x'" in done.stderr


def test_without_namespaces_landlock_keeps_files_away(tmp_path: Path) -> None:
    secret = tmp_path / "secret"
    secret.write_text("x")
    with guard("read", isolation=WEAK) as g:
        if not g.confined:
            pytest.skip("this kernel has no Landlock")
        for path in ("/etc/passwd", str(secret), "/proc/self/environ"):
            with pytest.raises(GuardError, match="Permission denied"):
                g.call(path, str)
    with guard("write", isolation=WEAK) as g, pytest.raises(GuardError, match="Permission denied"):
        g.call(str(secret), int)
    assert secret.read_text() == "x"
    with guard("write", isolation=WEAK) as g:
        assert g.call("here.txt", int) == 100
        assert list(Path(tempfile.gettempdir()).glob("trivium-guard-*/here.txt"))
    assert not list(Path(tempfile.gettempdir()).glob("trivium-guard-*/here.txt"))


def test_threads_work_and_what_a_library_prints_stays_out_of_the_protocol(isolation: Sandbox) -> None:
    with guard("thread", isolation=isolation) as g:
        assert g.call(1, int) == 2
        assert g.filtered
    with guard("chatter", isolation=isolation) as g:
        assert [g.call(50_000, str) for _ in range(5)] == ["quiet"] * 5


def test_a_child_that_dies_between_calls_costs_no_record(isolation: Sandbox) -> None:
    before = set(psutil.Process().children(recursive=True))  # of other tests, which still need them
    with guard("echo", isolation=isolation) as g:
        assert g.call(1, int) == 1
        for child in reversed(psutil.Process().children(recursive=True)):
            if child not in before:
                child.kill()
        time.sleep(0.1)
        assert g.call(2, int) == 2
        assert g.starts == 2


def test_a_child_is_replaced_after_its_share_of_requests() -> None:
    with guard("echo", msgspec.structs.replace(LIMITS, requests=3)) as g:
        assert [g.call(n, int) for n in range(7)] == list(range(7))
        assert g.starts == 3


def test_close_twice_and_use_again(isolation: Sandbox) -> None:
    g = guard("echo", isolation=isolation)
    g.close()
    assert g.call("a", str) == "a"
    g.close()
    g.close()
    assert g.call("b", str) == "b"
    g.close()


def test_a_guard_started_in_a_thread_outlives_the_thread(isolation: Sandbox) -> None:
    g = guard("echo", isolation=isolation)
    starter = threading.Thread(target=g.start)
    starter.start()
    starter.join()
    time.sleep(0.1)
    assert g.call(1, int) == 1
    assert g.starts == 1
    g.close()


@pytest.mark.parametrize("task", ["echo", "hold_the_gil"])
def test_the_child_dies_with_a_killed_parent(task: str, isolation: Sandbox, tmp_path: Path) -> None:
    script = (
        "import sys; from pathlib import Path; from trivium.data.guard import Guard, Limits, Sandbox\n"
        f"g = Guard('guard_tasks:{task}', Limits(wall_seconds=60), extra=[Path({str(TASKS)!r})],"
        f" isolation=Sandbox(program={isolation.program!r}))\n"
        "g.start(); print('up', flush=True); g.call(60, int); print('back', flush=True); sys.stdin.read()\n"
    )
    parent = subprocess.Popen([sys.executable, "-c", script], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    assert parent.stdout is not None
    assert parent.stdin is not None
    parent.stdout.readline()
    family = psutil.Process(parent.pid).children(recursive=True)
    assert family
    os.kill(parent.pid, signal.SIGKILL)
    parent.wait()
    parent.stdin.close()
    parent.stdout.close()
    _, alive = psutil.wait_procs(family, timeout=10)
    assert [p for p in alive if p.status() != psutil.STATUS_ZOMBIE] == []


def test_a_task_that_is_not_there_is_said_at_start(isolation: Sandbox) -> None:
    with pytest.raises(MissingDependencyError, match="No module named 'guard_nothing'"):
        Guard("guard_nothing:run", LIMITS, isolation=isolation).start()


def test_a_sandbox_that_cannot_start_is_a_build_error() -> None:
    with pytest.raises(BuildError, match="did not start"):
        Guard("guard_tasks:echo", LIMITS, isolation=Sandbox(program="/bin/false"), extra=[TASKS]).start()


def test_a_recipe_can_require_the_sandbox() -> None:
    with pytest.raises(MissingDependencyError, match="bubblewrap"):
        guard("echo", msgspec.structs.replace(LIMITS, require_sandbox=True), WEAK).start()


def test_the_weak_form_is_said_in_one_line(monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setenv("PATH", "/nonexistent")
    sandbox.cache_clear()
    try:
        assert not sandbox().strong
        assert not sandbox().strong
    finally:
        sandbox.cache_clear()
    err = capfd.readouterr().err
    assert err.count("guard: weaker isolation") == 1
    assert "apt-get install bubblewrap" in err
