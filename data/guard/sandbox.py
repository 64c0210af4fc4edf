"""Which walls this machine can put around a guarded child, found out once, and the command line that puts them up.

`bubblewrap`: own namespaces for user, pid, network, mounts, IPC and host name; of the file system only the interpreter,
its packages, shared libraries and fonts, read-only, and an empty folder in memory. `limits only`: where bubblewrap is
absent or forbidden, resource limits, the system-call filter, and Landlock's rule that nothing but the same places can
be opened; on a kernel without Landlock (before 5.13) the child can read what its user can read.
"""

import functools
import json
import os
import shutil
import subprocess
import sys
import sysconfig
from collections.abc import Sequence
from pathlib import Path

import msgspec

import trivium
from trivium.console import note
from trivium.data.guard.limits import Limits

BOOT = (
    "import json, sys; c = json.loads(sys.argv[1]); sys.path += c['path']; "
    "from trivium.data.guard.child import main; main(c)"
)
# One thread in a numeric library: a child is one of many, and each thread takes address space. Large blocks stay in the
# heap between requests: to give a picture's pages back and fault them in again takes as long as decoding it.
ENVIRONMENT = {
    "LANG": "C.UTF-8",
    "OPENBLAS_NUM_THREADS": "1",
    "OMP_NUM_THREADS": "1",
    "MALLOC_MMAP_THRESHOLD_": str(1 << 30),
    "MALLOC_TRIM_THRESHOLD_": str(1 << 30),
}
_LIBRARIES = ("/usr/lib", "/usr/lib32", "/usr/lib64", "/etc/ld.so.cache")
_FONTS = ("/usr/share/fonts", "/usr/share/fontconfig", "/etc/fonts")
_LINKED = ("/lib", "/lib32", "/lib64")  # links into /usr on most systems, folders on the rest


class Sandbox(msgspec.Struct, frozen=True, kw_only=True):
    """What the probe found: `program` is bubblewrap's path or empty, `reason` says why it is not used."""

    program: str = ""
    reason: str = ""

    @property
    def strong(self) -> bool:
        return bool(self.program)


@functools.cache
def sandbox() -> Sandbox:
    """Tries bubblewrap with this interpreter once a process; says so in one line when it can't be used."""
    found = _probe()
    if not found.strong:
        note(
            f"guard: weaker isolation, a system-call filter and Landlock without namespaces ({found.reason}); on a "
            "kernel without Landlock a guarded child can read your files. `apt-get install bubblewrap` brings more."
        )
    return found


def _probe() -> Sandbox:
    program = shutil.which("bwrap")
    if program is None:
        return Sandbox(reason="bubblewrap is not installed")
    command = [*_walls(program, Limits(), ()), "--", *_interpreter(), "-c", "import msgspec"]
    command[-1] = f"import sys; sys.path += {search_path(())!r}; import msgspec"
    try:
        done = subprocess.run(command, capture_output=True, timeout=30, env={}, stdin=subprocess.DEVNULL)
    except (OSError, subprocess.TimeoutExpired) as error:
        return Sandbox(reason=f"bubblewrap did not start: {error}")
    if done.returncode != 0:
        lines = done.stderr.decode(errors="replace").strip().splitlines()
        return Sandbox(reason=f"bubblewrap failed: {lines[-1] if lines else f'exit {done.returncode}'}")
    return Sandbox(program=program)


def command(limits: Limits, found: Sandbox, task: str, extra: Sequence[Path], info_fd: int | None) -> list[str]:
    """The command that starts a guarded child for `task`; bubblewrap reports the inner pid on `info_fd`."""
    config = {
        "task": task,
        "path": search_path(extra),
        "limits": msgspec.to_builtins(limits),
        "parent": 0 if found.strong else os.getpid(),
        "places": [] if found.strong else [*_LINKED, *readable(extra)],
    }
    run = [*_interpreter(), "-c", BOOT, json.dumps(config)]
    if not found.strong:
        return run
    info = [] if info_fd is None else ["--info-fd", str(info_fd)]
    return [*_walls(found.program, limits, extra), *info, "--", *run]


def search_path(extra: Sequence[Path]) -> list[str]:
    """Where a child looks for modules beyond the standard library: packages, Trivium's root, `extra`."""
    packages = [sysconfig.get_path("purelib"), sysconfig.get_path("platlib")]
    packages += [entry for entry in sys.path if entry.endswith(("site-packages", "dist-packages"))]
    root = str(Path(trivium.__file__).resolve().parent.parent)
    return [entry for entry in dict.fromkeys([*packages, root, *map(str, extra)]) if os.path.isdir(entry)]


def _interpreter() -> list[str]:
    # The real program behind a virtual environment's link; -S: no .pth file of a package runs in the child.
    base = getattr(sys, "_base_executable", None) or sys.executable
    return [os.path.realpath(base), "-I", "-S", "-B"]


def _walls(program: str, limits: Limits, extra: Sequence[Path]) -> list[str]:
    walls = [program, "--unshare-all", "--die-with-parent", "--new-session", "--cap-drop", "ALL", "--clearenv"]
    walls += ["--setenv", "HOME", "/scratch", "--hostname", "guard"]
    for name, value in ENVIRONMENT.items():
        walls += ["--setenv", name, value]
    for place in _LINKED:
        if os.path.islink(place):
            walls += ["--symlink", os.readlink(place), place]
        else:
            walls += ["--ro-bind-try", place, place]
    for place in readable(extra):
        walls += ["--ro-bind-try", place, place]
    for device in ("/dev/null", "/dev/urandom"):
        walls += ["--dev-bind-try", device, device]
    walls += ["--size", str(limits.scratch_bytes), "--tmpfs", "/scratch", "--chdir", "/scratch"]
    return [*walls, "--remount-ro", "/"]  # folders on the way to a bound one are in memory, without a limit


def readable(extra: Sequence[Path]) -> list[str]:
    """All that a child may read."""
    return list(dict.fromkeys([*_LIBRARIES, *_FONTS, *_python_places(), *_trivium_places(), *map(str, extra)]))


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
