"""The error tree drawn in the docstring is the one in the code."""

import pickle
import re

import trivium.errors as errors


def drawn() -> dict[str, tuple[str | None, int]]:
    """Name → (parent, exit code), read from the drawing by its indentation."""
    found: dict[str, tuple[str | None, int]] = {}
    above: list[tuple[int, str]] = []
    for line in (errors.__doc__ or "").splitlines():
        match = re.match(r"^([\s│├└─]*)(\w+Error)\s+(\d+)\s+\S", line)
        if match:
            depth, name = len(match[1]), match[2]
            above = [(d, n) for d, n in above if d < depth]
            found[name] = (above[-1][1] if above else None, int(match[3]))
            above.append((depth, name))
    return found


def test_the_drawing_is_the_tree() -> None:
    tree = drawn()
    assert len(tree) > 8
    assert set(tree) == set(errors.__all__)
    for name, (parent, code) in tree.items():
        kind = getattr(errors, name)
        assert kind.exit_code == code
        assert kind.__bases__ == ((getattr(errors, parent) if parent else Exception),)


def test_every_error_of_the_module_is_exported() -> None:
    defined = {
        name for name, value in vars(errors).items() if isinstance(value, type) and value.__module__ == errors.__name__
    }
    assert defined == set(errors.__all__)
    assert errors.__all__ == sorted(errors.__all__)


def test_errors_cross_a_process_border_whole() -> None:
    for name in errors.__all__:
        kind = getattr(errors, name)
        error = kind("timeout", "no end after 3 s") if kind is errors.GuardError else kind("no end after 3 s")
        back = pickle.loads(pickle.dumps(error))  # noqa: S301 (our own bytes)
        assert type(back) is kind
        assert str(back) == "no end after 3 s"
        assert getattr(back, "reason", None) == getattr(error, "reason", None)
