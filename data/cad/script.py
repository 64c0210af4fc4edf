"""What a CAD script may say: an allow-list over its syntax tree, before anything of it runs.

The walls are the guard's; this list keeps out what no part needs (files, clocks, other modules) with a clear reason.
"""

import ast

import msgspec

MODULES = ("build123d", "math", "itertools", "functools", "collections", "copy", "dataclasses", "enum", "typing")
_MOST_NODES = 20_000
_NAMES_TEXT = """
    open exec eval compile input breakpoint globals locals vars getattr setattr delattr dir help exit quit
    memoryview __import__ __builtins__ __loader__ __spec__ __file__ gi_frame gi_code cr_frame ag_frame tb_frame
    tb_next f_back f_globals f_locals f_builtins f_code mro
"""
_NAMES = frozenset(_NAMES_TEXT.split())
# Parts of build123d and of its modules that reach files or the machine.
_OUTSIDE_TEXT = """
    Mesher ExportSVG ExportDXF Text import_step import_stl import_brep import_svg import_svg_as_buildline_code
    export_step export_stl export_brep export_gltf export_svg FontManager available_fonts
"""
_OUTSIDE = frozenset(_OUTSIDE_TEXT.split())
# Modules that other modules hold; as plain names they are nobody's.
_INNER_TEXT = """
    importers exporters exporters3d mesher os sys io pathlib shutil subprocess socket ctypes importlib builtins
    inspect logging warnings pickle tempfile write_text write_bytes read_text read_bytes
"""
_INNER = frozenset(_INNER_TEXT.split())


class ScriptRefusedError(Exception):
    """`reason` is a short code: `syntax`, `too_complex`, `forbidden_import`, `forbidden_name`, `external_reference`."""

    def __init__(self, reason: str, detail: str) -> None:
        super().__init__(detail)
        self.reason, self.detail = reason, detail


class Checked(msgspec.Struct, frozen=True, kw_only=True):
    """A script that may be run: `code` with plain line ends; `title` is the first line of its docstring."""

    code: str
    title: str


def check(source: str) -> Checked:
    """Raises ScriptRefusedError."""
    code = (
        "\n".join(line.rstrip() for line in source.replace("\r\n", "\n").replace("\r", "\n").split("\n")).strip() + "\n"
    )
    try:
        tree = ast.parse(code)
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        raise ScriptRefusedError("syntax", f"no Python: {error}") from None
    nodes = list(ast.walk(tree))
    if len(nodes) > _MOST_NODES:
        raise ScriptRefusedError("too_complex", f"{len(nodes):,} syntax nodes, limit {_MOST_NODES:,}")
    for node in nodes:
        _judge(node)
    words = (ast.get_docstring(tree) or "").strip().splitlines()
    return Checked(code=code, title=words[0].strip().rstrip(".") if words else "")


def _judge(node: ast.AST) -> None:
    line = getattr(node, "lineno", 0)
    if isinstance(node, ast.Import):
        for alias in node.names:
            _import(alias.name, line)
    elif isinstance(node, ast.ImportFrom):
        _import(node.module or "", line, relative=node.level > 0)
        for alias in node.names:
            _name(alias.name, line, inner=True)
    elif isinstance(node, ast.Name):
        _name(node.id, line)
    elif isinstance(node, ast.Attribute):
        _name(node.attr, line, inner=True)
    elif isinstance(node, ast.AsyncFunctionDef | ast.Await | ast.AsyncFor | ast.AsyncWith):
        raise ScriptRefusedError("forbidden_name", f"line {line}: asynchronous code; a part needs none")


def _import(name: str, line: int, *, relative: bool = False) -> None:
    if relative or name not in MODULES:
        raise ScriptRefusedError(
            "forbidden_import", f"line {line}: imports {name or 'its own package'}; allowed are {', '.join(MODULES)}"
        )


def _name(name: str, line: int, *, inner: bool = False) -> None:
    if name in _OUTSIDE or (inner and name in _INNER):
        raise ScriptRefusedError("external_reference", f"line {line}: {name} reaches files or the machine")
    if name in _NAMES or (name.startswith("__") and name not in ("__name__", "__init__")):
        raise ScriptRefusedError("forbidden_name", f"line {line}: {name} is not let into a script")
    if inner and name.startswith("_") and name != "__init__":
        raise ScriptRefusedError("forbidden_name", f"line {line}: {name} is an inner part of another module")
