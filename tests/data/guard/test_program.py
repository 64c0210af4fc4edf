"""Programs of strangers, each run in a sandbox of its own, on what attackers do; with namespaces and without."""

import os
import pty
import shutil
import socket
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest

from trivium.data.guard import Limits, Outcome, Profile, Sandbox, run, sandbox
from trivium.data.guard.landlock import version
from trivium.data.guard.program import _judge
from trivium.data.guard.running import Report, Running
from trivium.errors import InputError, MissingDependencyError, UsageError

ATTACKS = (Path(__file__).parent / "attacks.py").read_bytes()
PYTHON = os.path.realpath(sys.executable)
WEAK = Sandbox(reason="chosen by the test")
MIB = 1 << 20
LIMITS = Limits(
    wall_seconds=6, cpu_seconds=5, memory_bytes=128 * MIB, output_bytes=MIB, scratch_bytes=8 * MIB, files=250
)
SEES = Profile(proc=True)


def attack(
    *words: str,
    wants: tuple[str, ...] = (),
    isolation: Sandbox | None = None,
    profile: Profile = SEES,
    stdin: bytes = b"",
    **limits: float,
) -> Outcome:
    argv = [PYTHON, "-I", "-S", "-B", "attacks.py", *words]
    bounds = Limits(**{field: getattr(LIMITS, field) for field in LIMITS.__struct_fields__} | limits)  # type: ignore[arg-type]
    return run(argv, {"attacks.py": ATTACKS}, wants, limits=bounds, profile=profile, stdin=stdin, isolation=isolation)


@pytest.fixture(params=["sandbox", "limits"])
def isolation(request: pytest.FixtureRequest) -> Sandbox:
    return walls() if request.param == "sandbox" else WEAK


def walls() -> Sandbox:
    if not sandbox().strong:
        pytest.skip(f"no namespaces here: {sandbox().reason}")
    return sandbox()


def landlock(least: int = 1) -> None:
    if version() < least:
        pytest.skip(f"this kernel's Landlock has version {version()}, the promise needs {least}")


@pytest.fixture(autouse=True)
def nothing_left(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Every run ends with the descriptors, children and folders that it began with."""
    me = psutil.Process()
    sandbox()
    folder = tmp_path / "temporary"
    folder.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(folder))
    files, children = me.num_fds(), {child.pid for child in me.children(recursive=True)}
    yield
    assert me.num_fds() == files
    assert {child.pid for child in me.children(recursive=True)} <= children
    assert not list(folder.iterdir())


def test_files_go_in_and_come_out_and_the_end_is_told(isolation: Sandbox) -> None:
    outcome = run(
        ["sh", "-c", "cat in/a.txt in/b.txt > out.txt; mkdir -p d; echo $0 > d/e.txt; cat >&2; echo said; exit 3", "x"],
        {"in/a.txt": b"one ", "in/b.txt": b"two"},
        ["out.*", "d/*", "missing"],
        limits=Limits(processes=4),
        profile=Profile(read=("/usr/bin",)),
        stdin=b"asked",
        isolation=isolation,
    )
    assert (outcome.reason, outcome.status, outcome.ok) == ("", 3, False)
    assert outcome.files == {"d/e.txt": b"x\n", "out.txt": b"one two"}
    assert (outcome.stdout, outcome.stderr, outcome.left_out) == (b"said\n", b"asked", {})


@pytest.mark.parametrize(
    ("name", "argument", "reason", "limits"),
    [
        ("spin", "", "timeout", {"cpu_seconds": 1}),
        ("sleep", "", "timeout", {"wall_seconds": 0.3}),
        ("eat_memory", "", "memory", {}),
        ("eat_memory_together", "4", "memory", {"processes": 8}),
        ("shout", "stderr", "output_too_large", {}),
        ("sparse_files", "", "output_too_large", {}),
        ("many_files", "", "output_too_large", {}),
        ("fork_some", "5", "processes", {"processes": 3}),
    ],
)
def test_each_excess_is_ended_with_its_reason(name: str, argument: str, reason: str, limits: dict[str, float]) -> None:
    isolation = sandbox() if name != "many_files" else WEAK  # where no file system bounds them
    outcome = attack(name, argument, wants=("sparse*",), isolation=isolation, **limits)
    assert outcome.reason == reason, outcome
    assert not outcome.files
    assert outcome.wall_seconds < 10 * LIMITS.wall_seconds
    assert outcome.peak_bytes < 3 * LIMITS.memory_bytes


def test_a_signal_of_a_limit_is_said_as_the_limit() -> None:
    """The kernel may end a program a tick before our own count of its time reaches the limit."""
    report = Report(status=152, signal=24, cpu_seconds=4.98, filtered=True, confined=True, complaint="")
    assert _judge(report, bytearray(), LIMITS) == ("timeout", "used more than 5 s of processor time")
    other = Report(status=139, signal=11, cpu_seconds=1.0, filtered=True, confined=True, complaint="")
    assert _judge(other, bytearray(), LIMITS) == ("crashed", "ended by SIGSEGV")


def test_a_bomb_of_forks_is_capped_by_the_kernel_and_ended() -> None:
    """Where the watch came late the kernel's bound holds: the watch is given no say here."""
    if not walls().counted:
        pytest.skip("the kernel counts this user's processes together with others'; the watch alone caps them")
    limits = {"processes": 1000, "threads": 20, "wall_seconds": 1.5}
    outcome = attack("fork_bomb", profile=Profile(), **limits)
    assert outcome.reason == "timeout"
    assert 10 < outcome.processes <= 20
    assert int(attack("fork_some", "100", processes=1000, threads=12).stdout.split()[0]) in {10, 11, 12}


def test_a_program_that_is_gone_before_the_parent_goes_on_has_run(
    isolation: Sandbox, monkeypatch: pytest.MonkeyPatch
) -> None:
    """On a machine so full that the parent waits between two calls, as 46 of 551 items once found."""
    send = socket.socket.sendall

    def slow(control: socket.socket, payload: bytes) -> None:
        if not payload:
            time.sleep(1.0)
        send(control, payload)

    monkeypatch.setattr(socket.socket, "sendall", slow)
    outcome = run(["true"], {"a": b"", "b/c": b"x"}, [], limits=LIMITS, isolation=isolation)
    assert (outcome.status, outcome.reason) == (0, "")


def test_no_fork_without_leave(isolation: Sandbox) -> None:
    outcome = attack("fork_some", "3", isolation=isolation)
    assert (outcome.stdout, outcome.processes <= 1) == (b"0\nEPERM\n", True)
    assert outcome.status == 0


def test_shared_pages_count_once(isolation: Sandbox) -> None:
    outcome = attack("share_memory", processes=5, isolation=isolation)
    assert (outcome.reason, outcome.stdout) == ("", b"shared\n"), outcome


def test_one_file_grows_no_further_than_allowed(isolation: Sandbox) -> None:
    outcome = attack("fill_one_file", wants=("big",), isolation=isolation)
    assert not outcome.ok
    assert len(outcome.files.get("big", b"")) <= LIMITS.output_bytes


def test_what_was_left_running_ends_with_the_run(isolation: Sandbox, tmp_path: Path) -> None:
    attack("daemon", "beat", isolation=isolation, processes=6)
    time.sleep(0.15)
    mine = [p for p in psutil.process_iter(["cmdline"]) if "attacks.py" in (p.info["cmdline"] or [])]
    assert [p for p in mine if p.status() != psutil.STATUS_ZOMBIE] == []


def test_links_lead_nowhere(isolation: Sandbox, tmp_path: Path) -> None:
    canary = tmp_path / "canary.txt"
    canary.write_text("canary 7351")
    outcome = attack("links_out", str(canary), "deep_folders", "", wants=("*.txt",), isolation=isolation)
    assert outcome.files == {"good.txt": b"good"}
    assert outcome.left_out == {
        "link.txt": "a link",
        "folder.txt": "a link",
        "pipe.txt": "no plain file",
        "one.txt": "a file of several names",
        "two.txt": "a file of several names",
    }


def test_nothing_outside_is_reached(isolation: Sandbox, tmp_path: Path) -> None:
    """One program tries all of it: files, connections, other processes, the kernel's side doors."""
    if not isolation.strong:
        landlock(6)
    canary = tmp_path / "canary"
    canary.write_text("canary 7351")
    canary.chmod(0o666)
    ours = (canary, Path.home() / ".bashrc", Path(__file__).parents[3] / "Makefile")
    places = ["/etc/passwd", "/etc/shadow", *map(str, ours)]
    with socket.create_server(("127.0.0.1", 0)) as web, socket.socket(socket.AF_UNIX) as abstract:
        port = web.getsockname()[1]
        abstract.bind(f"\0trivium-{port}")
        abstract.listen()
        words = [word for place in places for word in ("read", place)]
        words += [word for place in (str(canary), "/usr/lib/x", "/x") for word in ("write", place)]
        words += ["connect", str(port), "look_around", "", "signal_others", str(os.getpid()), "doors", ""]
        words += ["hide_memory", "", "more_limits", ""]
        shut = attack(*words, isolation=isolation)
        speaking = attack("connect", str(port), isolation=isolation, profile=Profile(sockets=True))
        for server in (web, abstract):
            server.settimeout(0.1)
            with pytest.raises(TimeoutError):
                server.accept()
    assert shut.status == speaking.status == 0, shut
    assert b"7351" not in shut.stdout + shut.stderr
    assert canary.read_text() == "canary 7351"
    lines = shut.stdout.decode().splitlines()
    assert set(lines[:8]) <= {"ENOENT", "EACCES", "EROFS", "EPERM"}
    assert b"'connected'" not in shut.stdout + speaking.stdout
    assert lines[9] == ("2 EACCES" if isolation.strong else "EACCES")
    *signals, alive, doors, hidden, limits = lines[10:]
    # Process 1 takes no signal from inside its namespace: the call is answered, nothing happens.
    assert isolation.strong or all(line.startswith("EPERM") for line in signals)
    assert (alive, doors, hidden) == ("alive", "[]", "[]")
    assert limits == "[]" or os.geteuid() == 0


def test_the_setuid_bit_raises_nobody(isolation: Sandbox) -> None:
    with tempfile.TemporaryDirectory(dir="/tmp") as folder:
        os.chmod(folder, 0o755)
        tool = Path(folder, "id")
        shutil.copy("/usr/bin/id", tool)
        tool.chmod(0o4755)
        told = attack("setuid_program", str(tool), isolation=isolation, profile=Profile(read=(folder,)), processes=2)
    assert int(told.stdout) > 60000 if isolation.lends else int(told.stdout) == os.geteuid()


def test_a_terminal_takes_no_words_from_a_program(isolation: Sandbox) -> None:
    ours, theirs = pty.openpty()
    argv = (PYTHON, "-I", "-S", "-B", "attacks.py", "terminal")
    try:
        with Running(argv, {"attacks.py": ATTACKS}, LIMITS, SEES, isolation, stdin=theirs) as running:
            assert running.process.stdout is not None
            assert running.process.stdout.read() == b"EPERM\n"
    finally:
        os.close(ours)
        os.close(theirs)


def test_runs_are_alike_and_know_nothing_of_the_builder(isolation: Sandbox, monkeypatch: pytest.MonkeyPatch) -> None:
    argv = [PYTHON, "-P", "-s", "-S", "-B", "attacks.py", "settings"]
    monkeypatch.setenv("SECRET_TOKEN", "hunter2")
    monkeypatch.setenv("TZ", "Asia/Tokyo")
    told = [
        run(argv, {"attacks.py": ATTACKS}, limits=LIMITS, profile=SEES, isolation=isolation).stdout for _ in range(2)
    ]
    if not isolation.strong:  # the folder's name differs there
        told = [line.split(b"trivium-guard-")[0] for line in told]
    assert told[0] == told[1]
    assert b"UTC" in told[0]
    assert b"hunter2" not in told[0]


def test_only_the_three_streams_are_open(isolation: Sandbox) -> None:
    if not isolation.strong:
        landlock()
        return  # /proc is not to be read there
    assert attack("descriptors", stdin=b"all of it", isolation=isolation).stdout == b"['0', '1', '2'] b'all of it'\n"


def test_wrong_use_is_said(isolation: Sandbox) -> None:
    with pytest.raises(MissingDependencyError, match="no-such-program is not installed"):
        run(["no-such-program"])
    for name in ("../x", "/x", "", "a/../../x"):
        with pytest.raises(InputError, match="no path inside"):
            run(["true"], {name: b""})
    for place in ("/", "/home", "/etc", "/root", "relative", "/var/../etc"):
        with pytest.raises(UsageError, match="shows"):
            Profile(read=(place,))
    with pytest.raises(MissingDependencyError, match="requires the sandbox"):
        run(["true"], limits=Limits(require_sandbox=True), isolation=WEAK)
    denied = run([str(Path(__file__))], isolation=isolation) if os.access(__file__, os.X_OK) else None
    assert denied is None or denied.reason == "denied"
