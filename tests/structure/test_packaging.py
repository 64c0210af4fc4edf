"""The folders at the root are one package: in a bare checkout, and in a wheel."""

import os
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
FOLDERS = ("data", "vision", "model", "kernels", "curriculum", "pipelines")
SITE = Path(os.path.dirname(os.path.dirname(pytest.__file__)))

WHERE = """
import trivium.data.records, trivium.cli
print(trivium.__file__, trivium.data.records.__file__, sep="\\n")
"""


@pytest.fixture(scope="module")
def tree(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of the checkout, so that building leaves nothing in it."""
    target = tmp_path_factory.mktemp("tree") / "checkout"
    code = "import sys; from pathlib import Path; import tree; tree.copy(Path(sys.argv[1]))"
    subprocess.run([sys.executable, "-c", code, str(target)], cwd=ROOT / "scripts", check=True)
    return target


@pytest.fixture(scope="module")
def wheel(tree: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    target = tmp_path_factory.mktemp("wheel")
    command = [sys.executable, "-m", "pip", "wheel", "-q", "--no-deps", "--no-build-isolation", "-w", str(target), "."]
    done = subprocess.run(command, cwd=tree, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[-3000:]
    (found,) = target.glob("*.whl")
    return found


def isolated(arguments: list[str], path: Path, cwd: Path) -> str:
    """Runs Python without the editable install: -S reads no .pth files, the libraries come by PYTHONPATH."""
    environment = {"PATH": os.environ["PATH"], "PYTHONPATH": f"{path}{os.pathsep}{SITE}"}
    command = [sys.executable, "-S", "-P", *arguments]
    done = subprocess.run(command, cwd=cwd, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[-3000:]
    return done.stdout


def test_a_bare_checkout_works_with_pythonpath(tree: Path, tmp_path: Path) -> None:
    assert isolated(["-m", "trivium", "--version"], tree, tmp_path) == "trivium 0.1.0\n"
    places = isolated(["-c", WHERE], tree, tmp_path).split()
    assert places == [str(tree / "trivium/__init__.py"), str(tree / "data/records.py")]


def test_the_wheel_holds_every_file_of_the_package(tree: Path, wheel: Path) -> None:
    with zipfile.ZipFile(wheel) as opened:
        names = {name for name in opened.namelist() if ".dist-info/" not in name}
    wanted = {
        str(path.relative_to(tree)) if folder == "trivium" else f"trivium/{path.relative_to(tree)}"
        for folder in ("trivium", *FOLDERS)
        for path in (tree / folder).rglob("*")
        if path.is_file() and "__pycache__" not in path.parts
    }
    assert len(wanted) > 50
    assert wanted - names == set(), "give these kinds of file to [tool.setuptools.package-data], or add __init__.py"
    assert names - wanted == set()


def test_the_wheel_works_by_itself(wheel: Path, tmp_path: Path) -> None:
    with zipfile.ZipFile(wheel) as opened:
        opened.extractall(tmp_path / "site")
    assert isolated(["-m", "trivium", "--version"], tmp_path / "site", tmp_path) == "trivium 0.1.0\n"
    places = isolated(["-c", WHERE], tmp_path / "site", tmp_path).split()
    assert places == [str(tmp_path / "site/trivium/__init__.py"), str(tmp_path / "site/trivium/data/records.py")]


def test_every_pinned_requirement_is_one_version() -> None:
    lines = (ROOT / "constraints.txt").read_text().splitlines()
    pins = [line for line in lines if line and not line.startswith("#")]
    assert all(line.count("==") == 1 and " " not in line for line in pins)
    names = [line.partition("==")[0].lower().replace("_", "-") for line in pins]
    assert len(names) == len(set(names))
    # A pin of triton would contradict the one that a CUDA build of torch brings.
    assert "triton" not in names


def test_every_requirement_is_pinned() -> None:
    from trivium.needs import requirements

    pins = {
        line.partition("==")[0].lower().replace("_", "-")
        for line in (ROOT / "constraints.txt").read_text().splitlines()
    }
    wanted = {name.lower().replace("_", "-") for names in requirements().values() for name in names}
    assert wanted - pins == {"triton"}
