"""YAML text to plain data and back, by the YAML 1.2 core schema and within bounds.

Odd: PyYAML follows YAML 1.1, in which `1e-3` is a string, `no` is false and `12:30` is 750. Configurations mean what
they look like, so scalars are resolved by version 1.2 here, for reading and for writing alike.
"""

import re
from collections.abc import Sequence
from typing import Any

import yaml

from trivium.errors import ConfigError

MAX_DEPTH = 64  # nested mappings and lists
MAX_NODES = 200_000  # counted with every alias expanded, so that a few lines can't stand for billions of values


class _Loader(yaml.SafeLoader):
    yaml_implicit_resolvers: dict[Any, Any] = {}


class _Dumper(yaml.SafeDumper):
    yaml_implicit_resolvers: dict[Any, Any] = {}

    def ignore_aliases(self, data: Any) -> bool:
        return True


for _class in (_Loader, _Dumper):
    for _tag, _pattern, _first in (
        ("bool", r"true|True|TRUE|false|False|FALSE", "tTfF"),
        ("null", r"~|null|Null|NULL|", ["~", "n", "N", ""]),
        ("int", r"[-+]?[0-9][0-9_]*|0x[0-9a-fA-F]+|0o[0-7]+", "-+0123456789"),
        (
            "float",
            r"[-+]?(\.[0-9]+|[0-9][0-9_]*(\.[0-9]*)?)([eE][-+]?[0-9]+)?|[-+]?\.(inf|Inf|INF)|\.(nan|NaN|NAN)",
            "-+.0123456789",
        ),
        ("merge", r"<<", "<"),
    ):
        _class.add_implicit_resolver(f"tag:yaml.org,2002:{_tag}", re.compile(rf"^(?:{_pattern})$"), list(_first))


def _construct_int(loader: _Loader, node: yaml.ScalarNode) -> int:
    text = str(loader.construct_scalar(node)).replace("_", "")
    return int(text, 0) if text[:2].lower() in ("0x", "0o") else int(text)


def _represent_str(dumper: _Dumper, text: str) -> yaml.ScalarNode:
    # PyYAML writes these line breaks plainly and then reads them as spaces; in double quotes it escapes them.
    style = '"' if any(mark in text for mark in "\x85\u2028\u2029") else None
    return dumper.represent_scalar("tag:yaml.org,2002:str", text, style=style)


_Loader.add_constructor("tag:yaml.org,2002:int", _construct_int)
_Dumper.add_representer(str, _represent_str)


def read_yaml(text: str, name: str) -> tuple[Any, yaml.Node | None]:
    """The plain data of one document and its node tree (None when empty); `name` stands for the file in messages.

    Raises ConfigError when the text is not YAML, repeats a key, or is nested or expanded beyond the bounds above.
    """
    try:
        loader = _Loader(text)
        node = loader.get_single_node()
        if node is None:
            return None, None
        _check(node, name)
        return loader.construct_document(node), node
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        where = f"{name}:{mark.line + 1}" if mark else name
        problem = getattr(error, "problem", None) or str(error).splitlines()[0]
        raise ConfigError(f"{where}: not valid YAML: {problem}") from None
    except RecursionError:
        raise ConfigError(f"{name}: nested deeper than {MAX_DEPTH} levels; flatten it") from None
    except ValueError as error:  # an integer of thousands of digits
        raise ConfigError(f"{name}: a value can't be read: {error}") from None


def write_yaml(value: Any) -> str:
    """YAML text that `read_yaml` reads back as an equal value; keys keep their order."""
    text: str = yaml.dump(value, Dumper=_Dumper, sort_keys=False, allow_unicode=True, width=120)
    return text


def places(node: yaml.Node | None, keys: Sequence[str | int]) -> list[str | int]:
    """`keys` with each name of a list's item (see `item_names`) replaced by its place in the list."""
    found: list[str | int] = []
    for key in keys:
        if isinstance(node, yaml.SequenceNode):
            names = item_names([(_child(child, "name"), _child(child, "kind")) for child in node.value])
            key = next((at for at, name in enumerate(names) if key in (at, name)), key)
            node = node.value[key] if isinstance(key, int) and key < len(node.value) else None
        elif isinstance(node, yaml.MappingNode):
            node = next((value for name, value in node.value if name.value == key), None)
        found.append(key)
    return found


def item_names(items: Sequence[tuple[str | None, str | None]]) -> list[str | None]:
    """What the items of a list are called, from each one's `name` and `kind`: its name; without one its kind, and
    `kind-2` for the second of a kind, as the stages of a recipe are."""
    times: dict[str, int] = {}
    found: list[str | None] = []
    for name, kind in items:
        if name is None and kind is not None:
            times[kind] = times.get(kind, 0) + 1
            name = kind if times[kind] == 1 else f"{kind}-{times[kind]}"
        found.append(name)
    return found


def _child(node: yaml.Node, key: str) -> Any:
    """The text of a mapping's scalar."""
    if not isinstance(node, yaml.MappingNode):
        return None
    return next((value.value for name, value in node.value if name.value == key), None)


def line_of(node: yaml.Node | None, keys: Sequence[str | int]) -> int | None:
    """The 1-based line of the deepest of `keys` that exists in the file; None when not even the first does."""
    line: int | None = None
    for key in keys:
        if isinstance(node, yaml.MappingNode):
            found = {k.value: (k, v) for k, v in node.value if isinstance(k, yaml.ScalarNode)}
            if key not in found:
                return line
            head, node = found[key]
            line = head.start_mark.line + 1
        elif isinstance(node, yaml.SequenceNode) and isinstance(key, int) and key < len(node.value):
            node = node.value[key]
            line = node.start_mark.line + 1
        else:
            return line
    return line


def _check(root: yaml.Node, name: str) -> None:
    """Refuses repeated keys (YAML keeps the last silently), recursion, too deep nesting, too many values."""
    sizes: dict[int, int] = {}  # by id of the node; aliases share a node, so each is visited once
    open_nodes: set[int] = set()

    def size(node: yaml.Node, depth: int) -> int:
        where = f"{name}:{node.start_mark.line + 1}"
        if id(node) in open_nodes:
            raise ConfigError(f"{where}: an alias points into itself; write the value out")
        if depth > MAX_DEPTH:
            raise ConfigError(f"{where}: nested deeper than {MAX_DEPTH} levels; flatten it")
        if id(node) in sizes:
            return sizes[id(node)]
        open_nodes.add(id(node))
        total = 1
        if isinstance(node, yaml.MappingNode):
            _refuse_repeated_keys(node, name)
            total += sum(size(key, depth + 1) + size(value, depth + 1) for key, value in node.value)
        elif isinstance(node, yaml.SequenceNode):
            total += sum(size(child, depth + 1) for child in node.value)
        open_nodes.discard(id(node))
        if total > MAX_NODES:
            raise ConfigError(f"{where}: more than {MAX_NODES} values once its aliases are expanded; write less")
        sizes[id(node)] = total
        return total

    size(root, 0)


def _refuse_repeated_keys(node: yaml.MappingNode, name: str) -> None:
    seen: set[str] = set()
    for key, _ in node.value:
        if not isinstance(key, yaml.ScalarNode):
            continue
        if key.value in seen:
            raise ConfigError(f"{name}:{key.start_mark.line + 1}: key {key.value!r} stands twice; keep one")
        seen.add(key.value)
