"""Which walls this machine can put around a guarded process, found out once, and the command line that puts them up.

`bubblewrap`: own namespaces for pid, network, mounts, IPC and host name; of the file system only the interpreter, its
packages, shared libraries, fonts and what a profile names, read-only, and an empty folder in memory. Who starts it as a
plain user gets a user namespace too; root's processes take a user id that is nobody's instead, which the kernel counts
on its own (in a namespace of root's the kernel would bound no processes). `limits only`: where bubblewrap is absent or
forbidden, resource limits, the system-call filter, and Landlock's rule that nothing but the same places can be opened;
on a kernel without Landlock (before 5.13) the process can read what its user can read.
"""

import functools
import json
import os
import re
import shutil
import subprocess
import sys
import sysconfig
from collections.abc import Sequence
from pathlib import Path

import msgspec

import trivium
from trivium.console import note
from trivium.data.guard import identity
from trivium.data.guard.engine import Profile
from trivium.data.guard.limits import Limits

_BOOT_CHILD = (
    "import json, sys; c = json.loads(sys.argv[1]); sys.path += c['path']; "
    "from trivium.data.guard.child import main; main(c)"
)
# A launcher is started for every run: its packages are there in name only, so that it imports its few modules alone.
_BOOT_LAUNCH = """
import sys
for name, place in {packages!r}.items():
    sys.modules[name] = package = type(sys)(name)
    package.__path__ = [place]
from trivium.data.guard.launch import main
main(**{config!r})
"""
SCRATCH = "/scratch"
# The same in every run and place: language, zone, dates of files, order of hashes. One thread in a numeric library: a
# child is one of many, and each thread takes address space. Large blocks stay in the heap between requests: to give a
# picture's pages back and fault them in again takes as long as decoding it.
ENVIRONMENT = {
    "LANG": "C.UTF-8",
    "TZ": "UTC",
    "SOURCE_DATE_EPOCH": "1735689600",  # 2025-01-01
    "PYTHONHASHSEED": "0",
    "OPENBLAS_NUM_THREADS": "1",
    "OMP_NUM_THREADS": "1",
    "MALLOC_MMAP_THRESHOLD_": str(1 << 30),
    "MALLOC_TRIM_THRESHOLD_": str(1 << 30),
}
_DEVICES = ("/dev/null", "/dev/zero", "/dev/urandom", "/dev/random")
_LINKED = ("/lib", "/lib32", "/lib64")  # links into /usr on most systems, folders on the rest
_COUNTED_APART = (5, 14)  # the first kernel that counts a user's processes by user namespace


class Sandbox(msgspec.Struct, frozen=True, kw_only=True):
    """What the probe found: `program` is bubblewrap's path or empty, `reason` says why it is not used.

    `lends`: processes take a user id of their own, which root alone can give.
    """

    program: str = ""
    reason: str = ""
    lends: bool = False

    @property
    def strong(self) -> bool:
        return bool(self.program)

    @property
    def counted(self) -> bool:
        """Whether the kernel counts the processes of one sandbox apart from everybody else's."""
        return self.lends or (self.strong and os.geteuid() != 0 and _release() >= _COUNTED_APART)


@functools.cache
def sandbox() -> Sandbox:
    """Tries bubblewrap with this interpreter once a process; says so in one line when it can't be used."""
    found = probe()
    if not found.strong:
        note(
            f"guard: weaker isolation, a system-call filter and Landlock without namespaces ({found.reason}); on a "
            "kernel without Landlock a guarded child can read your files. `apt-get install bubblewrap` brings more."
        )
    return found


def probe() -> Sandbox:
    """The strongest walls that stand here, tried by starting the interpreter behind them."""
    program = shutil.which("bwrap")
    lent = [True, False] if identity.lend() else [False]
    complaint = "bubblewrap is not installed"
    for lends in lent if program else []:
        found = Sandbox(program=program or "", lends=lends)
        complaint = _try(found)
        if not complaint:
            return found
    weak = [Sandbox(reason=complaint, lends=lends) for lends in lent]
    return next((found for found in weak[:-1] if not _try(found)), weak[-1])


def _try(found: Sandbox) -> str:
    """What went wrong; empty when the interpreter runs behind these walls and finds its packages."""
    code = f"import sys; sys.path += {search_path(())!r}; from trivium.data.guard import identity; "
    code += f"identity.become({identity.lend() if found.lends else 0}, 0); import trivium.data.guard.child"
    walls = [*_walls(found, Limits(), Profile(), ()), "--"] if found.strong else []
    try:
        done = subprocess.run(
            [*walls, *_interpreter(), "-c", code], capture_output=True, timeout=30, env={}, stdin=subprocess.DEVNULL
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        return f"bubblewrap did not start: {error}"
    if done.returncode == 0:
        return ""
    lines = done.stderr.decode(errors="replace").strip().splitlines()
    return f"bubblewrap failed: {lines[-1] if lines else f'exit {done.returncode}'}"


def _release() -> tuple[int, ...]:
    return tuple(int(part) for part in re.findall(r"\d+", os.uname().release)[:2])


def task_command(
    task: str, limits: Limits, found: Sandbox, profile: Profile, extra: Sequence[Path], *, apart: bool, info_fd: int
) -> list[str]:
    """The command that starts a guarded child for `task`; bubblewrap reports the inner pid on `info_fd`."""
    places, listed = _seen(found, profile, extra)
    config = {
        "path": search_path(extra),
        "task": task,
        "limits": msgspec.to_builtins(limits),
        "user": identity.lend() if found.lends else 0,
        "counted": found.counted,
        "reserves": profile.reserves,
        "apart": apart,
        "parent": 0 if found.strong else os.getpid(),
        "places": places,
        "listed": listed,
    }
    run = [*_interpreter(), "-c", _BOOT_CHILD, json.dumps(config)]
    return [*_walls(found, limits, profile, extra), "--info-fd", str(info_fd), "--", *run] if found.strong else run


def program_command(
    argv: Sequence[str],
    limits: Limits,
    found: Sandbox,
    profile: Profile,
    *,
    control: int,
    pipes: Sequence[int],
    info_fd: int,
    lasting: bool,
) -> list[str]:
    """The command that starts the launcher of `argv`; `control` is its socket, `pipes` go to the program.

    Of a `lasting` program the kernel counts no processor time: it would end a browser in the midst of its pages.

    The launcher is the namespace's first process: nothing in it can send it a signal, and all ends with it.
    """
    extra = [Path(argv[0])]
    allowed = {"programs": True, "processes": limits.processes > 1, "sockets": profile.sockets, "groups": found.strong}
    config = {
        "control": control,
        "parent": 0 if found.strong else os.getpid(),
        "user": identity.lend() if found.lends else 0,
        "argv": list(argv),
        "kept": limits.kept_by_kernel(counted=found.counted, reserves=profile.reserves),
        "cpu_seconds": None if lasting else limits.cpu_seconds,
        "walls": _seen(found, profile, extra),
        "allowed": tuple(name for name, given in allowed.items() if given),
        "pipes": list(pipes),
        "fixed_addresses": profile.fixed_addresses,
    }
    guard = Path(__file__).resolve().parent
    homes = {"trivium": Path(trivium.__file__).parent, "trivium.data": guard.parent, "trivium.data.guard": guard}
    packages = {name: str(home) for name, home in homes.items()}
    run = [*_interpreter(), "-c", _BOOT_LAUNCH.format(packages=packages, config=config)]
    if not found.strong:
        return run
    return [*_walls(found, limits, profile, extra), "--info-fd", str(info_fd), "--as-pid-1", "--", *run]


def _seen(found: Sandbox, profile: Profile, extra: Sequence[Path]) -> tuple[list[str], list[str]]:
    """What Landlock lets be read, and where it lets names be listed: everywhere in a namespace, which hides nothing."""
    places = [*_LINKED, *_DEVICES, *readable(profile, extra), *(["/proc"] if profile.proc and found.strong else [])]
    return places, ["/"] if found.strong else []


def search_path(extra: Sequence[Path]) -> list[str]:
    """Where a child looks for modules beyond the standard library: packages, Trivium's root, `extra`."""
    packages = [sysconfig.get_path("purelib"), sysconfig.get_path("platlib")]
    packages += [entry for entry in sys.path if entry.endswith(("site-packages", "dist-packages"))]
    root = str(Path(trivium.__file__).resolve().parent.parent)
    return [entry for entry in dict.fromkeys([*packages, root, *map(str, extra)]) if os.path.isdir(entry)]


def environment(profile: Profile, scratch: str) -> dict[str, str]:
    """The same for everybody: nothing of the builder's own."""
    return {**ENVIRONMENT, "HOME": scratch, "TMPDIR": scratch, "XDG_RUNTIME_DIR": scratch, **profile.environment}


def _interpreter() -> list[str]:
    # The real program behind a virtual environment's link; -S: no .pth file of a package runs in the child. Not -I: it
    # would ignore PYTHONHASHSEED, and the environment is ours anyway.
    base = getattr(sys, "_base_executable", None) or sys.executable
    return [os.path.realpath(base), "-P", "-s", "-S", "-B"]


def _walls(found: Sandbox, limits: Limits, profile: Profile, extra: Sequence[Path]) -> list[str]:
    walls = [found.program, "--unshare-pid", "--unshare-net", "--unshare-ipc", "--unshare-uts", "--unshare-cgroup-try"]
    walls += ["--die-with-parent", "--new-session", "--cap-drop", "ALL"]
    # Root's own namespace of users would make the processes root's to the kernel; they take a lent user instead.
    walls += ["--cap-add", "CAP_SETUID", "--cap-add", "CAP_SETGID"] if found.lends else ["--unshare-user"]
    walls += ["--clearenv", "--hostname", "guard"]
    for name, value in environment(profile, SCRATCH).items():
        walls += ["--setenv", name, value]
    for place in (*_LINKED, "/bin"):
        if os.path.islink(place):
            walls += ["--symlink", os.readlink(place), place]
        elif place != "/bin":
            walls += ["--ro-bind-try", place, place]
    places = readable(profile, extra)
    for folder in sorted({str(parent) for place in (*places, *_DEVICES) for parent in Path(place).parents} - {"/"}):
        walls += ["--perms", "0755", "--dir", folder]  # else root's alone to enter
    for place in places:
        walls += ["--ro-bind-try", place, place]
    for device in _DEVICES:
        walls += ["--dev-bind-try", device, device]
    walls += ["--proc", "/proc"] if profile.proc else []
    walls += ["--perms", "0777", "--size", str(limits.scratch_bytes), "--tmpfs", SCRATCH]
    walls += [] if any(place.startswith("/tmp/") for place in places) else ["--symlink", SCRATCH, "/tmp"]
    # Folders on the way to a bound one are in memory, without a limit: nobody writes there.
    return [*walls, "--chdir", SCRATCH, "--remount-ro", "/"]


def readable(profile: Profile, extra: Sequence[Path]) -> list[str]:
    """All that a process may read."""
    places = dict.fromkeys([*profile.places, *_python_places(), *_trivium_places(), *map(str, extra)])
    return [place for place in places if not any(str(above) in places for above in Path(place).parents)]


def _python_places() -> list[str]:
    packages = [entry for entry in search_path(()) if entry.endswith(("site-packages", "dist-packages"))]
    library = [sysconfig.get_path("stdlib"), sysconfig.get_path("platstdlib"), sysconfig.get_config_var("LIBDIR")]
    base = os.path.join(sys.base_prefix, f"lib/python{sys.version_info.major}.{sys.version_info.minor}")
    return [_interpreter()[0], base, *(place for place in library if place), *packages]


def _trivium_places() -> list[str]:
    """In a checkout only the two packages that a child imports, never the folder around them; else nothing more."""
    home = Path(trivium.__file__).resolve().parent
    if not (home.parent / "pyproject.toml").is_file():
        return []  # installed: it lies in site-packages
    return [str(home), str(home.parent / "data"), str(home.parent / "pyproject.toml")]
