"""Strict YAML into frozen typed structs.

Odd: errors carry the file and line of the wrong key, found again in the YAML node tree, since msgspec knows only the
path of keys (`$.stages[0].tokens`).
"""

import difflib
import hashlib
import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, TypeVar

import msgspec
import yaml

from trivium.errors import ConfigError, InputError

_PATH = re.compile(r" - at `\$(?P<path>[^`]*)`$")
_KEY = re.compile(r"\.([A-Za-z_][\w-]*)|\[(\d+|\.\.\.)\]")
_UNKNOWN = re.compile(r"unknown field `(?P<name>[^`]*)`")
_TAG = re.compile(r"Invalid value '(?P<name>[^']*)'")


class Strict(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Base of every configuration: frozen, keyword only, unknown keys refused."""


S = TypeVar("S")


def load_yaml(path: Path, kind: type[S], *, overrides: Sequence[str] = ()) -> S:
    """Reads one YAML file as `kind`; `overrides` are `dotted.key=yaml value`.

    Raises InputError when the file is missing, ConfigError when it is not valid YAML or does not fit `kind`.
    """
    try:
        text = path.read_text(encoding="utf-8")
    except OSError as error:
        raise InputError(
            f"{path}: can't be read ({error.strerror}); give the path of a YAML file that exists"
        ) from None
    except UnicodeDecodeError as error:
        raise ConfigError(f"{path}: not UTF-8 text (byte {error.start}); save it as UTF-8") from None
    return parse_yaml(text, kind, name=str(path), overrides=overrides)


def parse_yaml(text: str, kind: type[S], *, name: str, overrides: Sequence[str] = ()) -> S:
    """Like `load_yaml`, from text; `name` stands for the file in messages. Raises ConfigError."""
    try:
        node = yaml.compose(text, Loader=yaml.SafeLoader)
        raw: Any = yaml.safe_load(text)
    except (yaml.YAMLError, RecursionError) as error:
        mark = getattr(error, "problem_mark", None)
        where = f"{name}:{mark.line + 1}" if mark else name
        raise ConfigError(f"{where}: not valid YAML: {getattr(error, 'problem', None) or error}") from None
    if isinstance(node, yaml.MappingNode):
        _refuse_repeated_keys(node, name)
    raw = {} if raw is None else raw
    for override in overrides:
        raw = _set(raw, override)
    return from_mapping(raw, kind, name=name, node=node)


def from_mapping(raw: Any, kind: type[S], *, name: str, node: yaml.Node | None = None) -> S:
    """Converts plain data to `kind`. Raises ConfigError naming the key, what was found, and the nearest right name."""
    try:
        return msgspec.convert(raw, kind, strict=True)
    except msgspec.ValidationError as error:
        message = str(error)
    match = _PATH.search(message)
    keys = _keys(match["path"]) if match else []
    what = _PATH.sub("", message)
    unknown = _UNKNOWN.search(what)
    if unknown:
        keys = [*keys, unknown["name"]]
        what = f"no such key {unknown['name']!r}" + _nearest(unknown["name"], _names(kind, keys[:-1]))
    else:
        found = _lookup(raw, keys)
        tag = _TAG.search(what)
        if tag:
            what += _nearest(tag["name"], _tags(kind))
        elif found is not None and not isinstance(found, dict | list):
            what += f", found {found!r}"
    line = _line(node, keys)
    where = name if line is None else f"{name}:{line}"
    dotted = ".".join(str(key) for key in keys)
    raise ConfigError(f"{where}: {dotted or 'top level'}: {what[:1].lower()}{what[1:]}")


def to_mapping(config: msgspec.Struct) -> dict[str, Any]:
    """The plain-data form with every default spelled out: what a resolved config file holds."""
    built: dict[str, Any] = msgspec.to_builtins(config)
    return built


def dump_yaml(config: msgspec.Struct) -> str:
    """The resolved form as YAML text, keys in field order."""
    return yaml.safe_dump(to_mapping(config), sort_keys=False, allow_unicode=True, width=120)


def digest(value: Any) -> str:
    """The first 16 hex digits of sha256 over the canonical JSON of a struct or plain data."""
    raw = msgspec.to_builtins(value)
    return hashlib.sha256(msgspec.json.encode(raw, order="sorted")).hexdigest()[:16]


def _set(raw: Any, override: str) -> Any:
    key, sign, text = override.partition("=")
    if not sign or not key:
        raise ConfigError(f"--set {override!r}: expected key=value, such as --set optimizer.lr=0.002")
    try:
        value = yaml.safe_load(text)
    except yaml.YAMLError:
        raise ConfigError(f"--set {key}: {text!r} is not valid YAML") from None
    if not isinstance(raw, dict):
        raise ConfigError(f"--set {key}: the file's top level is not a mapping")
    target = raw
    *parents, last = key.split(".")
    for part in parents:
        child: Any
        if isinstance(target, list):
            child = target[_index(part, len(target), key)]
        else:
            child = target.setdefault(part, {})
        if not isinstance(child, dict | list):
            raise ConfigError(f"--set {key}: {part!r} holds {child!r}, not a mapping")
        target = child  # type: ignore[assignment]
    if isinstance(target, list):
        target[_index(last, len(target), key)] = value
    else:
        target[last] = value
    return raw


def _index(part: str, length: int, key: str) -> int:
    if not part.isdigit() or int(part) >= length:
        raise ConfigError(f"--set {key}: {part!r} is not an index below {length}")
    return int(part)


def _keys(path: str) -> list[str | int]:
    keys: list[str | int] = []
    for match in _KEY.finditer(path):
        name, index = match.groups()
        keys.append(name if name is not None else int(index) if index.isdigit() else 0)
    return keys


def _names(kind: Any, keys: Sequence[str | int]) -> list[str]:
    """All keys allowed at `keys` inside `kind`; falls back to every key of every struct below `kind`."""
    allowed: list[str] = []
    for struct in _structs(kind, set()):
        allowed += [field.encode_name for field in msgspec.structs.fields(struct)]
    return sorted(set(allowed)) if keys else [field.encode_name for field in msgspec.structs.fields(kind)]


def _tags(kind: Any) -> list[str]:
    tags = [struct.__struct_config__.tag for struct in _structs(kind, set())]
    return sorted(tag for tag in tags if isinstance(tag, str))


def _structs(kind: Any, seen: set[Any]) -> Iterator[type[msgspec.Struct]]:
    if isinstance(kind, type) and issubclass(kind, msgspec.Struct):
        if kind in seen:
            return
        seen.add(kind)
        yield kind
        for field in msgspec.structs.fields(kind):
            yield from _structs(field.type, seen)
    for argument in getattr(kind, "__args__", ()):
        yield from _structs(argument, seen)


def _nearest(name: str, allowed: Sequence[str]) -> str:
    close = difflib.get_close_matches(name, allowed, n=1, cutoff=0.5)
    if close:
        return f"; did you mean {close[0]!r}?"
    return f"; known: {', '.join(allowed)}" if allowed else ""


def _lookup(raw: Any, keys: Sequence[str | int]) -> Any:
    for key in keys:
        try:
            raw = raw[key]
        except (KeyError, IndexError, TypeError):
            return None
    return raw


def _line(node: yaml.Node | None, keys: Sequence[str | int]) -> int | None:
    """1-based line of the deepest key that exists in the file."""
    line: int | None = None
    for key in keys:
        if isinstance(node, yaml.MappingNode):
            found: Mapping[Any, tuple[yaml.Node, yaml.Node]] = {k.value: (k, v) for k, v in node.value}
            if key not in found:
                return line
            head, node = found[key]
            line = head.start_mark.line + 1
        elif isinstance(node, yaml.SequenceNode) and isinstance(key, int) and key < len(node.value):
            node = node.value[key]
            line = node.start_mark.line + 1
    return line


def _refuse_repeated_keys(node: yaml.Node, name: str, seen: set[int] | None = None) -> None:
    """YAML keeps the last of two equal keys silently; we refuse. Aliased nodes are visited once."""
    seen = set() if seen is None else seen
    if id(node) in seen:
        return
    seen.add(id(node))
    if isinstance(node, yaml.MappingNode):
        keys: set[str] = set()
        for key, value in node.value:
            if key.value in keys:
                raise ConfigError(f"{name}:{key.start_mark.line + 1}: key {key.value!r} stands twice; keep one")
            keys.add(key.value)
            _refuse_repeated_keys(value, name, seen)
    elif isinstance(node, yaml.SequenceNode):
        for child in node.value:
            _refuse_repeated_keys(child, name, seen)
