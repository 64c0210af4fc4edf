"""A script run to the shape that it makes; imported only inside the guarded child, called only in a fork of it.

Odd: the same module list as in `script` is held again while the script runs, since a checked text is not a checked run.
"""

import builtins
import math
import sys
from collections.abc import Mapping, Sequence
from types import ModuleType

import build123d
from OCP.TopoDS import TopoDS_Shape

from trivium.data.cad.script import MODULES, ScriptRefusedError, check
from trivium.errors import GuardError

_BUILTINS_TEXT = """
    abs all any bool bytes callable chr classmethod complex dict divmod enumerate filter float format frozenset
    hash hex id int isinstance issubclass iter len list map max min next object oct ord pow print property range
    repr reversed round set slice sorted staticmethod str sum super tuple type zip __build_class__
    ArithmeticError AssertionError AttributeError Exception IndexError KeyError LookupError NotImplementedError
    RuntimeError StopIteration TypeError ValueError ZeroDivisionError True False None NotImplemented
"""
_BUILTINS = frozenset(_BUILTINS_TEXT.split())


def execute(code: str) -> TopoDS_Shape:
    """The shape that the script leaves as `result`, or else in the last name that holds one.

    Raises GuardError: the reasons of `check`, `script_error`, `no_solid`.
    """
    try:
        checked = check(code)
    except ScriptRefusedError as error:
        raise GuardError(error.reason, error.detail) from None
    names: dict[str, object] = {"__name__": "part", "__builtins__": _builtins()}
    try:
        exec(compile(checked.code, "part.py", "exec", dont_inherit=True), names)  # noqa: S102  behind the guard
    except ScriptRefusedError as error:
        raise GuardError(error.reason, error.detail) from None
    except MemoryError:
        raise
    except BaseException as error:  # SystemExit of a stranger's script too
        raise GuardError(
            "script_error", f"{_where(error)}{type(error).__name__}: {' '.join(str(error).split())[:200]}"
        ) from None
    return _shape(names)


def _builtins() -> dict[str, object]:
    kept: dict[str, object] = {name: getattr(builtins, name) for name in _BUILTINS if hasattr(builtins, name)}
    kept["__import__"] = _import
    return kept


def _import(
    name: str,
    globals: Mapping[str, object] | None = None,
    locals: Mapping[str, object] | None = None,
    fromlist: Sequence[str] | None = (),
    level: int = 0,
) -> ModuleType:
    if level or name not in MODULES:
        raise ScriptRefusedError("forbidden_import", f"imports {name!r} while it runs")
    return __import__(name, None, None, tuple(fromlist or ()), 0)


def _where(error: BaseException) -> str:
    """`line 12: ` of the script."""
    found, trace = 0, error.__traceback__
    while trace is not None:
        if trace.tb_frame.f_code.co_filename == "part.py":
            found = trace.tb_lineno
        trace = trace.tb_next
    return f"line {found}: " if found else ""


def _shape(names: Mapping[str, object]) -> TopoDS_Shape:
    given = [names["result"]] if "result" in names else list(names.values())[::-1]
    for value in given:
        held = value.part if isinstance(value, build123d.BuildPart) else value
        if isinstance(held, build123d.Shape) and held.wrapped is not None and _thick(held):
            return held.wrapped
        if isinstance(held, list | tuple) and held and all(isinstance(one, build123d.Shape) for one in held):
            joined = build123d.Compound(children=list(held))
            if joined.wrapped is not None and _thick(joined):
                return joined.wrapped
    raise GuardError("no_solid", "the script leaves no solid; name it `result`")


def _thick(shape: build123d.Shape) -> bool:
    return any(math.isfinite(solid.volume) for solid in shape.solids())


def version() -> str:
    """Of Python, since `exec` and the order of sets are its own."""
    return f"python {sys.version_info.major}.{sys.version_info.minor}"
