"""Runs mypy --strict over data/, curriculum/ and trivium/ as the package that they are.

Odd: the folders at the root are `trivium.data`, `trivium.model`, … only by the mapping in setup.py, which mypy does not
know; checked where they stand, every import across them would silently be `Any`. So a tree of links is made in which
`trivium/data` is the folder `data`, and mypy looks at that.

    python scripts/typecheck.py [ROOT]      ROOT: the checkout, by default this one
"""

import os
import runpy
import shutil
import sys
from pathlib import Path

STRICT = ("trivium.data", "trivium.curriculum")


def folders(root: Path) -> tuple[str, ...]:
    """The mapped folders, as setup.py has them."""
    line = next(line for line in (root / "setup.py").read_text().splitlines() if line.startswith("FOLDERS = "))
    return tuple(name.strip(' "') for name in line.partition("(")[2].rstrip(")").split(",") if name.strip())


def link_tree(root: Path) -> Path:
    """A folder that holds `trivium` as a whole package, made of links into `root`."""
    tree = root / "build" / "types"
    package = tree / "trivium"
    shutil.rmtree(tree, ignore_errors=True)
    package.mkdir(parents=True)
    for entry in (root / "trivium").iterdir():
        if entry.name != "__pycache__":
            (package / entry.name).symlink_to(os.path.relpath(entry, package))
    for folder in folders(root):
        (package / folder).symlink_to(os.path.relpath(root / folder, package))
    return tree


def targets(root: Path) -> list[str]:
    """What is held to strict types: two folders and the modules of trivium/ itself, not all that `trivium` maps."""
    found = ["-p", *" -p ".join(STRICT).split(), "-p", "trivium.commands"]
    for path in sorted((root / "trivium").glob("*.py")):
        found += ["-m", "trivium" if path.stem == "__init__" else f"trivium.{path.stem}"]
    return found


def main() -> None:
    root = Path(sys.argv[1]).resolve() if len(sys.argv) > 1 else Path(__file__).resolve().parent.parent
    os.environ["MYPYPATH"] = str(link_tree(root))
    os.chdir(root)
    sys.argv = ["mypy", "--strict", "--config-file", "pyproject.toml", *targets(root)]
    runpy.run_module("mypy", run_name="__main__")


if __name__ == "__main__":
    main()
