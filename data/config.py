"""Strict YAML into frozen typed structs.

Odd: errors carry the file and line of the wrong key, found again in the YAML node tree, since msgspec knows only the
path of keys (`$.stages[0].tokens`); `trivium.data.config_errors` turns its messages into ours.
"""

import contextlib
import hashlib
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, TypeVar, dataclass_transform

import msgspec
import yaml

from trivium.data.yaml_text import item_names, line_of, places, read_yaml, write_yaml
from trivium.errors import ConfigError, InputError


@dataclass_transform(frozen_default=True, field_specifiers=(msgspec.field,))
class Strict(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Base of every configuration: frozen, unknown keys refused; both hold for subclasses without saying so again.

    A ValueError of `__post_init__` begins with the key that it is about, as seen from its struct (`rows is 0; …`,
    `stages[1].kind: …`), so that the message can name that key's line; at the file's top level there is no other.
    """


S = TypeVar("S")


def load_yaml(path: Path, kind: type[S], *, overrides: Sequence[str] = ()) -> S:
    """Reads one YAML file as `kind`; `overrides` are `dotted.key=yaml value`.

    Raises InputError when the file is missing, ConfigError when it is not valid YAML or does not fit `kind`.
    """
    try:
        text = path.read_text(encoding="utf-8-sig")
    except OSError as error:
        raise InputError(
            f"{path}: can't be read ({error.strerror}); give the path of a YAML file that exists"
        ) from None
    except UnicodeDecodeError as error:
        raise ConfigError(f"{path}: not UTF-8 text (byte {error.start}); save it as UTF-8") from None
    return parse_yaml(text, kind, name=str(path), overrides=overrides)


def parse_yaml(text: str, kind: type[S], *, name: str, overrides: Sequence[str] = ()) -> S:
    """Like `load_yaml`, from text; `name` stands for the file in messages. Raises ConfigError."""
    raw, node = read_yaml(text, name)
    raw = {} if raw is None else raw
    if overrides:
        raw = _copy(raw)
    for override in overrides:
        raw = _set(raw, override)
    return from_mapping(raw, kind, name=name, node=node, overrides=overrides)


def from_mapping(
    raw: Any, kind: type[S], *, name: str, node: yaml.Node | None = None, overrides: Sequence[str] = ()
) -> S:
    """Converts plain data to `kind`. Raises ConfigError naming the key, what was found, and the nearest right name."""
    try:
        return msgspec.convert(raw, kind, strict=True)
    except msgspec.ValidationError as error:
        message, ours = str(error), isinstance(error.__cause__, ValueError)
    from trivium.data.config_errors import explain, pointed_at

    keys, what = explain(message, raw, kind)
    place = keys
    if ours:
        keys, place, what = pointed_at(what, keys, raw, kind)
    where = _where(name, node, place, overrides)
    dotted = ".".join(str(key) for key in keys)
    head = dotted or ("" if place else "top level")
    raise ConfigError(f"{where}: {head}: {what}" if head else f"{where}: {what}")


def locate(path: Path, keys: Sequence[str | int], *, overrides: Sequence[str] = ()) -> str:
    """`FILE:LINE` of a key in a file that was read before, or the override that gave it."""
    _, node = read_yaml(path.read_text(encoding="utf-8-sig"), str(path))
    return _where(str(path), node, places(node, keys), overrides)


def given_by(path: Path, keys: Sequence[str | int], overrides: Sequence[str]) -> str | None:
    """The override that gave the value at `keys` of a file that was read before; None: the file did."""
    _, node = read_yaml(path.read_text(encoding="utf-8-sig"), str(path))
    return _given_by(node, keys, overrides)


@contextlib.contextmanager
def located(path: Path, *, overrides: Sequence[str] = ()) -> Iterator[None]:
    """Adds `FILE:LINE` to a ConfigError that comes out of the block and names its keys in that file."""
    try:
        yield
    except ConfigError as error:
        if not error.keys:
            raise
        raise ConfigError(f"{locate(path, error.keys, overrides=overrides)}: {error}") from None


def _where(name: str, node: yaml.Node | None, keys: Sequence[str | int], overrides: Sequence[str]) -> str:
    override = _given_by(node, keys, overrides)
    if override is not None:
        return f"--set {override}"
    line = line_of(node, keys)
    return name if line is None else f"{name}:{line}"


def _given_by(node: yaml.Node | None, keys: Sequence[str | int], overrides: Sequence[str]) -> str | None:
    dotted = ".".join(str(key) for key in keys)
    given = None
    for override in overrides:
        key = ".".join(map(str, places(node, override.partition("=")[0].split("."))))
        if dotted == key or dotted.startswith(key + "."):
            given = override
    return given


def to_mapping(config: msgspec.Struct) -> dict[str, Any]:
    """The plain-data form with every default spelled out: what a resolved config file holds."""
    built: dict[str, Any] = msgspec.to_builtins(config)
    return built


def dump_yaml(config: msgspec.Struct) -> str:
    """The resolved form as YAML text, keys in field order."""
    return write_yaml(to_mapping(config))


def digest(value: Any) -> str:
    """The first 16 hex digits of sha256 over the canonical JSON of a struct or plain data."""
    raw = msgspec.to_builtins(value)
    return hashlib.sha256(msgspec.json.encode(raw, order="sorted")).hexdigest()[:16]


def nearest(name: str, allowed: Sequence[str]) -> str:
    """The end of a message about a wrong name: `; did you mean 'x'?`, else `; known: x, y`, else nothing."""
    import difflib

    close = difflib.get_close_matches(name, allowed, n=1)
    if close:
        return f"; did you mean {close[0]!r}?"
    return f"; known: {', '.join(allowed)}" if allowed else ""


def _copy(raw: Any) -> Any:
    """A deep copy in which aliased parts are separate, so that --set changes one place only."""
    if isinstance(raw, dict):
        return {key: _copy(value) for key, value in raw.items()}
    return [_copy(value) for value in raw] if isinstance(raw, list) else raw


def _set(raw: Any, override: str) -> Any:
    key, sign, text = override.partition("=")
    parts = key.split(".")
    if not sign or not all(parts):
        raise ConfigError(f"--set {override!r}: expected key=value, such as --set optimizer.momentum=0.9")
    value, _ = read_yaml(text, f"--set {key}")
    if not isinstance(raw, dict):
        raise ConfigError(f"--set {key}: the file's top level is not a mapping")
    target: Any = raw
    for depth, part in enumerate(parts[:-1]):
        place = _place(part, target, key)
        child = target.get(place) if isinstance(target, dict) else target[place]
        if child is None:
            child = target[place] = {}
        if not isinstance(child, dict | list):
            raise ConfigError(f"--set {key}: {'.'.join(parts[: depth + 1])} holds {child!r}, not a mapping")
        target = child
    target[_place(parts[-1], target, key)] = value
    return raw


def _named(item: Any) -> tuple[str | None, str | None]:
    found = item if isinstance(item, dict) else {}
    name, kind = (None if found.get(key) is None else str(found[key]) for key in ("name", "kind"))
    return name, kind


def _place(part: str, target: dict[str, Any] | list[Any], key: str) -> Any:
    """The key of a mapping, or the place in a list: its number, or the name or kind of the item there."""
    if isinstance(target, dict):
        return part
    known_as = item_names([_named(item) for item in target])
    names = [name for name in known_as if name is not None]
    named = [place for place, name in enumerate(known_as) if name == part]
    if len(named) == 1:
        return named[0]
    if part.isascii() and part.isdigit() and int(part) < len(target):
        return int(part)
    known = f", nor a name there ({', '.join(names)})" if names else ""
    raise ConfigError(f"--set {key}: {part!r} is not a place in a list of {len(target)}{known}; count from 0")
