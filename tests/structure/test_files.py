"""Habits that keep the tree readable, held by reading it."""

import ast
import re
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
PACKAGES = ("trivium", "data", "vision", "model", "kernels", "curriculum", "pipelines")
FILE_LINES = 400
FUNCTION_LINES = 60
KERNEL_LINES = 120  # a Triton kernel


def sources(*folders: str) -> list[Path]:
    return sorted(p for folder in folders for p in (ROOT / folder).rglob("*.py") if "__pycache__" not in p.parts)


def name_of(path: Path) -> str:
    return str(path.relative_to(ROOT))


def test_no_file_is_longer_than_one_idea() -> None:
    files = sources(*PACKAGES, "tests", "scripts", "bench")
    long = {name_of(path): count for path in files if (count := len(path.read_text().splitlines())) > FILE_LINES}
    assert not long, "two ideas in one file? split it"


def functions(path: Path) -> Iterator[ast.FunctionDef]:
    yield from (node for node in ast.walk(ast.parse(path.read_text())) if isinstance(node, ast.FunctionDef))


def test_no_function_is_longer_than_a_screen() -> None:
    long = {}
    for path in sources(*PACKAGES, "scripts"):
        for node in functions(path):
            kernel = any("jit" in ast.unparse(decorator) for decorator in node.decorator_list)
            length = (node.end_lineno or node.lineno) - node.lineno + 1
            if length > (KERNEL_LINES if kernel else FUNCTION_LINES):
                long[f"{name_of(path)}:{node.name}"] = length
    assert not long


def test_no_module_is_named_after_the_standard_library() -> None:
    names = [path for path in sources(*PACKAGES) if path.stem in sys.stdlib_module_names]
    assert not [name_of(path) for path in names]


def test_every_module_says_what_it_is() -> None:
    silent = [
        name_of(path)
        for path in sources(*PACKAGES, "scripts")
        if path.read_text().strip() and ast.get_docstring(ast.parse(path.read_text())) is None
    ]
    assert not silent


@pytest.mark.parametrize(
    ("pattern", "what"),
    [
        (r"\b(TODO|FIXME|XXX)\b", "an open end"),
        (r"pytest\.mark\.(skip|xfail)\b", "a test that does not run"),
        (r"(MagicMock|mock\.patch)", "a mock where the real part can run"),
    ],
)
def test_nothing_is_left_open(pattern: str, what: str) -> None:
    files = [path for path in sources(*PACKAGES, "scripts", "tests") if path != Path(__file__)]
    found = [name_of(path) for path in files if re.search(pattern, path.read_text())]
    assert not found, what
