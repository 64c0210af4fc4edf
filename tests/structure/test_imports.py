"""Who may import whom: read from the source, and seen in fresh interpreters."""

import ast
import importlib.util
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]

# design.md, "The house": an arrow is left out when it is not here.
MAY_IMPORT = {
    "kernels": set(),
    "data": set(),
    "vision": {"kernels", "data"},
    "model": {"kernels", "vision", "data"},
    "curriculum": {"data"},
    "pipelines": {"kernels", "data", "vision", "model", "curriculum"},
    "trivium": {"kernels", "data", "vision", "model", "curriculum", "pipelines"},
}
FOLDERS = [folder for folder in MAY_IMPORT if folder != "trivium"]
FROM_ANYWHERE = {"trivium", "trivium.errors", "trivium.console", "trivium.needs"}

TRAINING = ["kernels", "model", "vision", "curriculum", "pipelines/train"]
# What a machine that trains must have, and what it may have: the latter is imported where it is used.
CORE = {"torch", "triton", "numpy", "PIL", "webdataset", "msgspec", "yaml", "typer", "rich"}
PEERS = {"fla", "liger_kernel", "cut_cross_entropy"}
OPTIONAL = {"tokenizers", "tensorboard", "matplotlib", "jinja2", "ray", "safetensors", *PEERS}
LIGHT = {"typer", "rich", "msgspec"}  # what the command line may load before it knows the command


def sources(folder: str) -> list[Path]:
    return sorted(path for path in (ROOT / folder).rglob("*.py") if "__pycache__" not in path.parts)


def imports(path: Path) -> Iterator[tuple[str, int, bool]]:
    """Every imported module of a file, its line, and whether it is imported as soon as the file is."""
    yield from _imports(ast.parse(path.read_text(encoding="utf-8")), at_once=True)


def _imports(node: ast.AST, at_once: bool) -> Iterator[tuple[str, int, bool]]:
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.Import):
            yield from ((alias.name, child.lineno, at_once) for alias in child.names)
        elif isinstance(child, ast.ImportFrom):
            if child.level:
                yield "." * child.level, child.lineno, at_once
            elif child.module == "trivium":  # `from trivium import data` imports trivium.data
                yield from ((_member(alias.name), child.lineno, at_once) for alias in child.names)
            else:
                yield child.module or "", child.lineno, at_once
        elif isinstance(child, ast.If) and "TYPE_CHECKING" in ast.unparse(child.test):
            yield from _imports(child, at_once=False)
        else:
            inside = isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda)
            yield from _imports(child, at_once and not inside)


def _member(name: str) -> str:
    is_module = (ROOT / name).is_dir() or (ROOT / "trivium" / f"{name}.py").is_file()
    return f"trivium.{name}" if is_module else "trivium"


def violations(folder: str) -> Iterator[str]:
    for path in sources(folder):
        owner = folder.partition("/")[0]
        for module, line, _ in imports(path):
            where = f"{path.relative_to(ROOT)}:{line}"
            top, _, rest = module.partition(".")
            if module.startswith("."):
                yield f"{where}: relative import; write the whole name, `from trivium.…`"
            elif top in FOLDERS:
                yield f"{where}: `{module}` under its bare name; write trivium.{module}"
            elif top == "trivium" and module not in FROM_ANYWHERE:
                other = rest.partition(".")[0]
                if other not in FOLDERS:
                    other = "trivium"
                if other != owner and other not in MAY_IMPORT[owner]:
                    yield f"{where}: {owner} imports {module}; it may import {sorted(MAY_IMPORT[owner]) or 'nothing'}"


@pytest.mark.parametrize("folder", list(MAY_IMPORT))
def test_the_direction_of_imports(folder: str) -> None:
    assert not list(violations(folder))


def test_the_reader_sees_every_form_of_import(tmp_path: Path) -> None:
    path = tmp_path / "x.py"
    path.write_text(
        "import a.b as c, d\nfrom e.f import g\nfrom trivium import data, errors, __version__\nfrom . import h\n"
        "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    import i\n"
        "def f():\n    import j\n    class K:\n        import k\n"
        "class L:\n    import l\n    def m(self):\n        import m\n"
        "try:\n    import n\nexcept ImportError:\n    import o\n"
    )
    found = [(module, at_once) for module, _, at_once in imports(path)]
    assert found == [
        *[(name, True) for name in ("a.b", "d", "e.f", "trivium.data", "trivium.errors", "trivium", ".", "typing")],
        *[("i", False), ("j", False), ("k", False), ("l", True), ("m", False), ("n", True), ("o", True)],
    ]


def uses(folders: list[str], packages: set[str], *, at_once_only: bool = False) -> list[str]:
    return [
        f"{path.relative_to(ROOT)}:{line}: {module}"
        for folder in folders
        for path in sources(folder)
        for module, line, at_once in imports(path)
        if module.partition(".")[0] in packages and (at_once or not at_once_only)
    ]


def test_data_and_curriculum_use_no_torch() -> None:
    assert not uses(["data", "curriculum"], {"torch", "triton"})


def test_the_training_side_uses_no_beam() -> None:
    assert not uses(TRAINING, {"apache_beam"})


def test_beam_and_torch_never_meet_in_a_module() -> None:
    beam = {line.partition(":")[0] for line in uses(["pipelines"], {"apache_beam"})}
    assert not [line for line in uses(["pipelines"], {"torch", "triton"}) if line.partition(":")[0] in beam]


def test_the_training_side_needs_the_core_only_and_imports_the_optional_where_it_is_used() -> None:
    for folder in TRAINING:
        for path in sources(folder):
            for module, line, at_once in imports(path):
                top = module.partition(".")[0]
                if top in sys.stdlib_module_names or top in CORE or top == "trivium":
                    continue
                where = f"{path.relative_to(ROOT)}:{line}: {module}"
                assert top in OPTIONAL, f"{where} is none of what a training machine has: {sorted(CORE | OPTIONAL)}"
                assert not at_once, f"{where} is optional there; import it in the function that uses it"


def loaded_at_start() -> list[Path]:
    """The files below trivium/ that `import trivium.cli` runs."""
    found: list[Path] = []
    waiting = [ROOT / "trivium" / "cli.py"]
    while waiting:
        path = waiting.pop()
        found.append(path)
        for node in ast.parse(path.read_text(encoding="utf-8")).body:
            if isinstance(node, ast.ImportFrom) and (node.module or "").partition(".")[0] == "trivium":
                base = ROOT.joinpath(*(node.module or "").split("."))
                for file in [base.with_suffix(".py"), *(base / f"{alias.name}.py" for alias in node.names)]:
                    if file.is_file() and file not in found and file not in waiting:
                        waiting.append(file)
    return found


def test_the_command_line_imports_nothing_heavy_before_it_knows_the_command() -> None:
    files = loaded_at_start()
    assert len(files) > 10
    for path in files:
        for module, line, at_once in imports(path):
            top, _, rest = module.partition(".")
            light = top in sys.stdlib_module_names or top in LIGHT
            ours = top == "trivium" and rest.partition(".")[0] not in FOLDERS
            assert not at_once or light or ours, f"{path.relative_to(ROOT)}:{line}: import {module} in the command"


def modules(folder: str) -> list[str]:
    """Dotted names of all modules of a folder."""
    names = []
    for path in sources(folder):
        parts = path.relative_to(ROOT).with_suffix("").parts
        names.append("trivium." + ".".join(parts).removesuffix(".__init__"))
    return [name for name in names if not name.endswith("__main__")]


def python(code: str, *, cwd: Path = ROOT) -> str:
    done = subprocess.run([sys.executable, "-c", code], cwd=cwd, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[-3000:]
    return done.stdout


IMPORT_ALL = """
import importlib, sys
for name in {names}:
    importlib.import_module(name)
print([name for name in {unwanted} if name in sys.modules])
"""


def test_importing_all_of_data_and_curriculum_loads_no_torch(tmp_path: Path) -> None:
    names = modules("data") + modules("curriculum")
    assert len(names) > 20
    unwanted = ["torch", "triton", "apache_beam"]
    assert python(IMPORT_ALL.format(names=names, unwanted=unwanted), cwd=tmp_path).strip() == "[]"


BLOCKED = """
import sys
class Block:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in {absent}:
            raise ModuleNotFoundError(f"No module named {{name!r}}", name=name)
sys.meta_path.insert(0, Block())
"""


@pytest.mark.slow
def test_all_of_the_training_side_imports_where_only_the_core_is_installed(tmp_path: Path) -> None:
    names = [name for folder in TRAINING for name in modules(folder)]
    assert len(names) > 30
    absent = {"apache_beam", *OPTIONAL, "tiktoken", "cairosvg", "rensa", "xxhash", "pytest"}
    installed = [name for name in absent if importlib.util.find_spec(name)]
    assert len(installed) > 5, "nothing is blocked here that could be missed"
    code = BLOCKED.format(absent=absent) + IMPORT_ALL.format(names=names, unwanted=["apache_beam"])
    assert python(code, cwd=tmp_path).strip() == "[]"


@pytest.mark.parametrize("folder", FOLDERS)
def test_a_folder_refuses_its_bare_name(folder: str) -> None:
    code = f"try:\n    import {folder}\nexcept ImportError as error:\n    print(error)"
    assert f"import this folder as trivium.{folder}" in python(code)
