"""The set-up refuses by name what it can't work with, before it has made anything.

It runs for real up to the point where it would install, with a PATH that holds only what the case allows.
"""

import hashlib
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pip
import pytest

ROOT = Path(__file__).resolve().parents[2]
TOOLS = (
    "bash",
    "cat",
    "cut",
    "dirname",
    "env",
    "find",
    "flock",
    "grep",
    "id",
    "mktemp",
    "rm",
    "sed",
    "sha256sum",
    "tail",
)


class Machine:
    """A checkout with the set-up's own files, and a PATH of a few programs."""

    def __init__(self, folder: Path) -> None:
        self.checkout, self.path = folder / "checkout", folder / "bin"
        (self.checkout / "scripts").mkdir(parents=True)
        self.path.mkdir()
        for name in ("scripts/setup.sh", "pyproject.toml", "setup.py", "constraints.txt"):
            shutil.copy(ROOT / name, self.checkout / name)
        for tool in TOOLS:
            place = shutil.which(tool)
            assert place, tool
            (self.path / tool).symlink_to(place)

    def program(self, name: str, text: str) -> None:
        path = self.path / name
        path.unlink(missing_ok=True)
        path.write_text(f"#!{shutil.which('bash')}\n{text}\n")
        path.chmod(0o755)

    def python(self, name: str, version: str) -> None:
        """An interpreter that says it is `version` and has all modules and libraries."""
        self.program(name, f'case "$2" in *version_info*) echo {version};; esac')

    def setup(self, **environment: str) -> "subprocess.CompletedProcess[str]":
        return subprocess.run(
            [str(self.checkout / "scripts/setup.sh")],
            env={"PATH": str(self.path), **environment},
            capture_output=True,
            text=True,
            check=False,
        )


@pytest.fixture
def machine(tmp_path: Path) -> Machine:
    return Machine(tmp_path)


def test_no_python_at_all(machine: Machine) -> None:
    done = machine.setup()
    assert done.returncode == 1
    assert "needs Python 3.11 or 3.12; found: none that runs" in done.stderr
    assert "make setup PYTHON=/path/to/python3.12" in done.stderr


def test_another_python_is_refused_by_name(machine: Machine) -> None:
    machine.python("python3", "3.13")
    done = machine.setup()
    assert done.returncode == 1
    assert "found: python3 is 3.13;" in done.stderr
    machine.python("python3.9", "3.9")
    done = machine.setup(PYTHON="python3.9")
    assert "found: python3.9 is 3.9;" in done.stderr
    assert not (machine.checkout / ".venv").exists()


def test_without_root_the_exact_command_is_printed_and_nothing_made(machine: Machine) -> None:
    machine.python("python3.12", "3.12")
    machine.program("id", "echo 1000")
    machine.program("apt-get", "echo apt-get must not run; exit 1")
    done = machine.setup()
    assert done.returncode == 1
    assert "system packages are missing: bubblewrap\n" in done.stderr
    command = "sudo apt-get update && sudo apt-get install -y --no-install-recommends bubblewrap\n"
    assert f"run: {command}" in done.stderr
    assert not (machine.checkout / ".venv").exists()


def test_a_python_without_venv_and_no_cairo(machine: Machine) -> None:
    machine.program("python3.11", 'case "$2" in *version_info*) echo 3.11;; *) exit 1;; esac')
    machine.program("id", "echo 1000")
    done = machine.setup()
    assert "system packages are missing: python3.11-venv libcairo2 bubblewrap\n" in done.stderr


@pytest.mark.parametrize("user", [0, 1000])
def test_root_or_passwordless_sudo_installs_through_apt(machine: Machine, user: int, tmp_path: Path) -> None:
    log = tmp_path / "log"
    machine.python("python3.11", "3.11")
    machine.program("id", f"echo {user}")
    machine.program("sudo", f'echo "sudo $*" >> {log}; [ "$1" = -n ] && exit 0; exec "$@"')
    machine.program("apt-get", f'echo "apt-get $*" >> {log}')  # and still no bwrap: the set-up must notice
    done = machine.setup()
    assert done.returncode == 1
    assert "setup: installing system packages: bubblewrap\n" in done.stdout
    assert "still missing after apt: bubblewrap" in done.stderr
    calls = log.read_text()
    assert "apt-get update -qq\n" in calls
    assert "apt-get install -y -qq --no-install-recommends bubblewrap\n" in calls
    assert ("sudo env DEBIAN_FRONTEND=noninteractive apt-get install" in calls) == (user != 0)


def test_an_apt_that_fails_shows_its_words(machine: Machine) -> None:
    machine.python("python3.11", "3.11")
    machine.program("id", "echo 0")
    machine.program("apt-get", "echo 'E: Unable to locate package bubblewrap' >&2; exit 100")
    done = machine.setup()
    assert done.returncode == 1
    assert "E: Unable to locate package bubblewrap\n" in done.stderr
    assert "apt could not install: bubblewrap" in done.stderr


def key(checkout: Path) -> str:
    """What the set-up stamps an environment with: its own files, the interpreter and the place."""
    files = ("pyproject.toml", "setup.py", "constraints.txt", "scripts/setup.sh")
    told = "".join((checkout / name).read_text() for name in files)
    told += f"{sys.version} {sys.executable}\n{checkout.resolve()}\n"
    return hashlib.sha256(told.encode()).hexdigest()


def test_an_interrupted_installation_is_mended_and_a_pip_failure_is_shown(machine: Machine, tmp_path: Path) -> None:
    """A package without RECORD, left by a killed pip, is removed; no network then is an error that is seen.

    Engines are installed beside: one that apt does not know stops neither the others nor the set-up.
    """
    machine.program("bwrap", "true")
    machine.program("id", "echo 0")
    log = tmp_path / "log"
    machine.program("apt-get", f'echo "$*" >> {log}; case "$*" in *povray*) exit 100;; esac')
    (machine.path / "python3.11").symlink_to(sys.executable)
    # pip by a link: unpacking one takes most of the test's time.
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", str(machine.checkout / ".venv")], check=True)
    version = f"python{sys.version_info[0]}.{sys.version_info[1]}"
    site = machine.checkout / ".venv/lib" / version / "site-packages"
    (site / "half-1.0.dist-info").mkdir()
    (site / "half-1.0.dist-info/METADATA").write_text("Metadata-Version: 2.1\nName: half\nVersion: 1.0\n")
    (site / "~ld").mkdir()
    (site / "pip").symlink_to(Path(pip.__file__).parent)
    # The stamp of a set-up that was whole once does not say that it still is.
    (machine.checkout / ".venv/bin/trivium").write_text("#!/bin/sh\n")
    (machine.checkout / ".venv/bin/trivium").chmod(0o755)
    (machine.checkout / ".venv/.trivium-setup").write_text(key(machine.checkout))
    environment = {"PIP_NO_INDEX": "1", "PIP_CONFIG_FILE": os.devnull, "PYTHON": sys.executable}
    done = machine.setup(**environment)
    assert done.returncode == 1
    assert "pip could not install: torch==" in done.stderr
    assert "installing what draws pictures: " in done.stdout
    asked = [line.rpartition(" --no-install-recommends ")[2].split() for line in log.read_text().splitlines()[1:]]
    assert {"povray", "povray-includes", "openscad"} <= set(asked[0])
    assert asked[1:] == [[package] for package in asked[0]]
    assert "ERROR: " in done.stderr
    assert "no network?" in done.stderr
    assert not (site / "half-1.0.dist-info").exists()
    assert not (site / "~ld").exists()
    assert not (machine.checkout / ".venv/.trivium-setup").exists()
