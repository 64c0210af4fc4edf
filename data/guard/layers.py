"""What isolation this machine gives, layer by layer, each seen in a trial behind the walls and not only supposed.

Also who may work with what is there: a corpus that executes code of strangers needs namespaces, one that only draws
markup runs without them and says so.
"""

import json
import os
import sys
from collections.abc import Iterable

import msgspec

from trivium.console import note
from trivium.data.guard import landlock
from trivium.data.guard.engine import Profile
from trivium.data.guard.limits import Limits
from trivium.data.guard.program import Outcome, run
from trivium.data.guard.sandbox import Sandbox, probe, sandbox
from trivium.errors import MissingDependencyError, TriviumError

UNSAFE = "--unsafe-no-isolation"
_THREADS = 12
# Runs inside: who it is, what network and processes it sees, how many processes it may make.
_TRIAL = """
import json, os, time
def text(path):
    try:
        with open(path) as file: return file.read()
    except OSError: return ""
made = 0
try:
    while made < 40:
        if os.fork() == 0: time.sleep(5); os._exit(0)
        made += 1
except OSError: pass
nets = [line.split(":")[0].strip() for line in text("/proc/net/dev").splitlines()[2:]]
caps = [line.split()[1] for line in text("/proc/self/status").splitlines() if line.startswith("CapEff")]
seen = len([entry for entry in os.listdir("/proc") if entry.isdigit()]) - made if nets else -1
print(json.dumps({"user": os.getuid(), "made": made, "nets": nets, "caps": caps, "seen": seen}))
"""


class Layer(msgspec.Struct, frozen=True, kw_only=True):
    """One wall: whether it stands, what was seen, what to do where it doesn't."""

    name: str
    holds: bool
    found: str
    cure: str = ""


class Trial(msgspec.Struct, frozen=True, kw_only=True):
    """What a program behind the walls reported; `made` of 40 forks with a bound of 12, -1 where nothing was seen."""

    user: int = -1
    made: int = -1
    nets: tuple[str, ...] = ()
    caps: tuple[str, ...] = ()
    seen: int = -1


def layers(found: Sandbox | None = None) -> tuple[Layer, ...]:
    """Every layer of this machine, by one trial run; never raises."""
    found = found or probe()
    argv = [os.path.realpath(sys.executable), "-I", "-S", "-B", "-c", _TRIAL]
    limits = Limits(processes=100, threads=_THREADS, wall_seconds=20)
    trial, trouble = Trial(), ""
    try:
        outcome = run(argv, limits=limits, profile=Profile(proc=True), isolation=found)
        if outcome.ok:
            trial = msgspec.convert(json.loads(outcome.stdout), Trial, strict=False)
        else:
            trouble = f"the trial failed: {outcome.reason or outcome.status} {outcome.detail} {_last(outcome)}".strip()
    except (TriviumError, OSError, ValueError) as error:
        trouble = f"the trial failed: {error}"
    return (
        _namespaces(found, trial, trouble),
        _network(found, trial),
        _user(found, trial),
        _processes(found, trial),
        _filter(found, trouble),
        _landlock(),
        _watch(),
    )


def _namespaces(found: Sandbox, trial: Trial, trouble: str) -> Layer:
    name = "namespaces (bubblewrap)"
    if found.strong and trial.seen > 0:
        text = f"files, processes ({trial.seen} seen), IPC and host name of its own"
        return Layer(name=name, holds=True, found=text)
    installed = "not installed" not in found.reason
    cure = (
        "allow user namespaces: `sysctl kernel.unprivileged_userns_clone=1`; in Docker `--security-opt "
        "seccomp=unconfined --security-opt apparmor=unconfined --security-opt systempaths=unconfined`"
        if installed
        else "sudo apt-get install -y bubblewrap"
    )
    return Layer(name=name, holds=False, found=found.reason or trouble, cure=cure)


def _network(found: Sandbox, trial: Trial) -> Layer:
    name = "no network"
    if found.strong and set(trial.nets) <= {"lo"} and trial.nets:
        return Layer(name=name, holds=True, found="a network namespace with nothing in it; the filter refuses sockets")
    return Layer(name=name, holds=False, found="the filter alone refuses sockets", cure="see namespaces")


def _user(found: Sandbox, trial: Trial) -> Layer:
    name = "a user without rights"
    bare = bool(trial.caps) and int(trial.caps[0], 16) == 0
    if found.lends and trial.user > 60000 and (bare or not trial.caps):
        return Layer(name=name, holds=True, found=f"a lent id such as {trial.user}, no capability")
    if found.strong and os.geteuid() != 0 and bare:
        return Layer(name=name, holds=True, found="your user in a user namespace of its own, no capability")
    cure = "build as a plain user" if os.geteuid() == 0 else "see namespaces"
    return Layer(name=name, holds=False, found="the builder's own user, no capability", cure=cure)


def _processes(found: Sandbox, trial: Trial) -> Layer:
    name = "a bound on processes"
    if found.counted and 0 <= trial.made < _THREADS:
        return Layer(name=name, holds=True, found=f"the kernel refused the fork after {trial.made}, bound {_THREADS}")
    text = "forks are refused where one process is enough; else the watch alone ends a tree that grows"
    return Layer(name=name, holds=False, found=text, cure="a kernel of 5.14 or later, or build as root; see namespaces")


def _filter(found: Sandbox, trouble: str) -> Layer:
    name = "system-call filter (seccomp)"
    code = "import os, sys\ntry: os.fork()\nexcept PermissionError: sys.exit(7)"
    try:
        holds = run([os.path.realpath(sys.executable), "-I", "-S", "-c", code], isolation=found).status == 7
    except (TriviumError, OSError) as error:
        holds, trouble = False, str(error)
    text = "forks, sockets, tracing, mounts and other doors refused" if holds else trouble or "it did not refuse a fork"
    return Layer(name=name, holds=holds, found=text, cure="" if holds else "a kernel with CONFIG_SECCOMP_FILTER")


def _landlock() -> Layer:
    version = landlock.version()
    if not version:
        cure = "a kernel of 5.13 or later with landlock in its list lsm="
        return Layer(name="Landlock", holds=False, found="not in this kernel", cure=cure)
    more = ", TCP" if version >= 4 else ""
    more += ", signals and abstract sockets" if version >= 6 else ""
    return Layer(name="Landlock", holds=True, found=f"version {version}: files{more}")


def _watch() -> Layer:
    name = "memory of a tree (watch)"
    holds = os.path.exists("/proc/self/smaps_rollup")
    text = "shared pages counted once" if holds else "shared pages counted for each process"
    return Layer(name=name, holds=holds, found=text, cure="" if holds else "a kernel of 4.14 or later")


def _last(outcome: Outcome) -> str:
    return " ".join(outcome.stderr[-300:].decode(errors="replace").split())


def demand(executing: Iterable[str], *, unsafe: bool) -> None:
    """Refuses work whose parts `executing` run code of strangers where no namespaces hold, unless told otherwise.

    Raises MissingDependencyError that names stages, reason and cure.
    """
    names = ", ".join(executing)
    if not names or sandbox().strong:
        return
    if not unsafe:
        raise MissingDependencyError(
            f"{names}: runs code of strangers, and this machine gives no namespaces to run it in ({sandbox().reason}); "
            f"`apt-get install bubblewrap` (`trivium doctor` says what else), or take the risk with {UNSAFE}"
        )
    note(f"guard: {names} runs code of strangers without namespaces, as {UNSAFE} says; do this in a throw-away machine")
