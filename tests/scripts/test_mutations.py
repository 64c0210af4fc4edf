"""Every deliberate defect still applies, and the script that tries them can tell red from green."""

import ast
import importlib.util
import json
import subprocess
import sys
from pathlib import Path
from types import ModuleType

import pytest

from trivium.errors import InputError

ROOT = Path(__file__).resolve().parents[2]
LIST = ROOT / "tests" / "mutations.yaml"


@pytest.fixture(scope="module")
def mutate() -> ModuleType:
    """scripts/mutate.py, imported by its place; it finds its neighbour tree.py as a script would."""
    sys.path.insert(0, str(ROOT / "scripts"))
    try:
        spec = importlib.util.spec_from_file_location("mutate", ROOT / "scripts" / "mutate.py")
        assert spec is not None
        assert spec.loader is not None
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
    finally:
        sys.path.remove(str(ROOT / "scripts"))
    return module


def test_every_defect_applies_and_its_test_exists(mutate: ModuleType) -> None:
    mutations = mutate.read(LIST)
    assert len(mutations) >= 5
    problems = []
    for mutation in mutations:
        try:
            mutate.mutated(mutation, ROOT)
        except InputError as error:
            problems.append(str(error))
        file, _, rest = mutation.test.partition("::")
        if not (ROOT / file).is_file():
            problems.append(f"{mutation.name}: no test file {file}")
        elif not defines(ROOT / file, rest.partition("[")[0].split("::")):
            problems.append(f"{mutation.name}: no test {rest} in {file}")
    assert not problems


def defines(path: Path, names: list[str]) -> bool:
    body: list[ast.stmt] = ast.parse(path.read_text()).body
    for name in names:
        found = [node for node in body if isinstance(node, ast.FunctionDef | ast.ClassDef) and node.name == name]
        if not found:
            return False
        body = found[0].body
    return True


def script(tmp_path: Path, entries: str, *more: str) -> subprocess.CompletedProcess[str]:
    path = tmp_path / "list.yaml"
    path.write_text(entries)
    command = [sys.executable, "scripts/mutate.py", "--list", str(path), *more]
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)


TEST = '"tests/structure/test_errors.py::test_the_drawing_is_the_tree"'


def test_a_defect_that_matters_is_red_and_one_that_does_not_is_found_out(tmp_path: Path) -> None:
    matters = (
        f"- {{name: a, file: trivium/errors.py, find: 'exit_code = 130', replace: 'exit_code = 131', test: {TEST}}}\n"
    )
    vain = f"- {{name: b, file: trivium/errors.py, find: 'Base of all;', replace: 'The base of all;', test: {TEST}}}\n"
    away = f"- {{name: c, file: trivium/errors.py, find: 'no such text', replace: 'x', test: {TEST}}}\n"
    done = script(tmp_path, matters + vain + away, "--json", str(tmp_path / "results.json"))
    assert done.returncode == 1, done.stderr
    assert "b: GREEN" in done.stdout
    assert "'no such text' stands 0 times in trivium/errors.py, not once" in done.stdout
    assert "1 of 3 defects turn their test red" in done.stdout
    facts = json.loads((tmp_path / "results.json").read_text())
    assert facts["verdicts"] == {"GREEN": 1, "does not apply": 1, "red": 1}
    assert [result["mutation"]["name"] for result in facts["results"]] == ["a", "b", "c"]


def test_a_test_that_is_red_without_a_defect_proves_nothing(tmp_path: Path) -> None:
    entry = (
        "- {name: a, file: trivium/errors.py, find: 'exit_code = 1', replace: 'exit_code = 3', test: 'tests/none.py'}\n"
    )
    done = script(tmp_path, entry)
    assert done.returncode == 1
    assert "not green without a defect" in done.stderr


def test_only_the_red_of_the_sound_tree_are_left_out(mutate: ModuleType) -> None:
    said = (
        "...\nFAILED tests/a.py::test_x[1-b c] - assert 1 == 2\nERROR tests/b.py::test_y\n2 failed, 3 passed in 1 s\n"
    )
    done = subprocess.CompletedProcess([], 1, said, "")
    tests = ["tests/a.py::test_x", "tests/a.py::test_xy", "tests/b.py::test_y", "tests/c.py::test_z"]
    assert mutate.red_tests(done, tests) == {"tests/a.py::test_x", "tests/b.py::test_y"}


def test_a_part_of_the_list(mutate: ModuleType, tmp_path: Path) -> None:
    every = mutate.read(LIST)
    drawn = mutate.choose(every, "", None, 10, 7)
    assert len(drawn) == 10
    assert drawn == mutate.choose(every, "", None, 10, 7) != mutate.choose(every, "", None, 10, 8)
    assert [m.name for m in every if m in drawn] == [m.name for m in drawn]
    file, test = every[0].file, every[1].test.partition("::")[0]
    since = mutate.choose(every, "", {file, test}, None, 0)
    assert since == [m for m in every if m.file == file or m.test.startswith(f"{test}::")]

    git = ["git", "-C", str(tmp_path), "-c", "user.name=a", "-c", "user.email=a@b"]
    for name in ("kept", "edited"):
        (tmp_path / name).write_text("x")
    for arguments in (["init", "-q"], ["add", "."], ["commit", "-qm", "x"]):
        subprocess.run([*git, *arguments], check=True)
    (tmp_path / "edited").write_text("y")
    (tmp_path / "new").write_text("z")
    assert mutate.changed("HEAD", tmp_path) == {"edited", "new"}
    with pytest.raises(InputError, match="--changed nowhere"):
        mutate.changed("nowhere", tmp_path)


def test_a_name_that_stands_twice_is_refused(tmp_path: Path, mutate: ModuleType) -> None:
    entry = "- {name: a, file: x, find: y, replace: z, test: t}\n"
    (tmp_path / "list.yaml").write_text(entry * 2)
    with pytest.raises(InputError, match="stands twice"):
        mutate.read(tmp_path / "list.yaml")
