"""Turns msgspec's validation messages into ours: the full path of the wrong key, what was found, the nearest name.

Odd: msgspec writes `[...]` for a key of a free-form mapping; which key it was is found by converting the data again
with one key of that mapping at a time.
"""

import re
from collections.abc import Iterator
from decimal import Decimal
from typing import Any

import msgspec
import msgspec.inspect as types

from trivium.data.config import nearest

_PATH = re.compile(r" - at (?:`key` in )?`\$(?P<path>[^`]*)`$")
_STEP = re.compile(r"\.([^.\[\]]+)|\[(\d+|\.\.\.)\]")
_UNKNOWN = re.compile(r"unknown field `(?P<name>[^`]*)`")
_VALUE = re.compile(r"Invalid (?:enum )?value '?(?P<name>.*?)'?$")
_OWN = re.compile(r"(?P<path>[a-z_]\w*(?:\.[^\s.:;,\[\]]+|\[\d+\])*)(?P<end>: |[ ,;])")  # how our own messages begin
_SUFFIXED = re.compile(r"(?P<number>[0-9]{1,6}(?:\.[0-9]{1,12})?) ?(?P<unit>[KkMGT])")
_PLAIN = re.compile(r"[\w./+-]{1,60}")  # a scalar that YAML needs no quotes for inside brackets
_SCALARS = (types.IntType, types.FloatType, types.StrType, types.LiteralType, types.EnumType)
_FOUND_LENGTH = 80  # characters of a wrong value that a message repeats


def explain(message: str, raw: Any, kind: Any) -> tuple[list[str | int], str]:
    """The keys down to the wrong value and what to say of it, from msgspec's message about `raw` as `kind`."""
    match = _PATH.search(message)
    what = _PATH.sub("", message)
    keys = _resolve(match["path"], message, raw, kind) if match else []
    if match and "`key` in" in match[0]:
        return keys, f"a key is not of the right kind: {_plain(what)}; quote it if it should be text"
    unknown = _UNKNOWN.search(what)
    if unknown:
        name = unknown["name"]
        return [*keys, name], f"no such key {name!r}" + nearest(name, list(_fields(kind, raw, keys)))
    value = _VALUE.match(what)
    if value:
        return keys, _plain(what) + nearest(value["name"], list(_choices(kind, raw, keys)))
    found = _lookup(raw, keys)
    if isinstance(found, dict | list) or "missing" in what:
        return keys, _plain(what)
    shown = repr(found)
    shown = shown if len(shown) <= _FOUND_LENGTH else shown[:_FOUND_LENGTH] + "…"
    return keys, f"{_plain(what)}, found {shown}" + _cure(what, found, _type_at(kind, raw, keys))


def _cure(what: str, found: Any, declared: types.Type | None) -> str:
    """How to write what was meant: an integer without a suffix, one value as a list of one."""
    if "xpected `array`" in what and found is not None and _PLAIN.fullmatch(str(found)):
        lists = (part for part in _parts(declared) if isinstance(part, types.CollectionType))
        single = any(isinstance(item, _SCALARS) for part in lists for item in _parts(part.item_type))
        return f"; write [{found}]" if single else ""
    return _written_out(found) if "xpected `int" in what else ""


def _written_out(found: Any) -> str:
    """How to write `16M` or `13e9` where an integer is wanted.

    Hinted and not accepted: 8K of tokens are 8,000 to some and a context of 8,192 to others.
    """
    if isinstance(found, float):
        return f"; write {int(found):_}" if found.is_integer() and abs(found) < 1e18 else ""
    match = _SUFFIXED.fullmatch(found) if isinstance(found, str) else None
    if match is None:
        return ""
    power = 1 + "KMGT".index(match["unit"].upper())
    decimal, binary = (Decimal(match["number"]) * base**power for base in (1000, 1024))
    hints = [f"{int(size):_}" for size in (decimal, binary) if size == int(size)]
    return f"; write {' or '.join(hints)}" if hints else ""


def pointed_at(what: str, keys: list[str | int], raw: Any, kind: Any) -> tuple[list[str | int], list[str | int], str]:
    """Of a message that a struct's own check made: the keys to name, those whose line is meant, what to say.

    `stages[0].kind: no such` names the whole path; `rows is 0` keeps its words and only finds the line.
    """
    match = _OWN.match(what)
    if not match:
        return keys, keys, what
    own = [int(index) if index else name for name, index in _STEP.findall(f".{match['path']}")]
    if str(own[0]) not in _fields(kind, raw, keys):
        return keys, keys, what
    place = [*keys, *own]
    return (place, place, what[match.end() :]) if match["end"] == ": " else (keys, place, what)


def _plain(what: str) -> str:
    """YAML's words instead of JSON's."""
    what = what.replace("Object contains", "contains").replace("Object missing required field", "missing required key")
    what = re.sub(r"\bobject\b", "mapping", re.sub(r"\barray\b", "list", what))
    return what[:1].lower() + what[1:]


def _resolve(path: str, message: str, raw: Any, kind: Any) -> list[str | int]:
    """The steps of `path` with each `[...]` replaced by the key that is wrong there."""
    keys: list[str | int] = []
    for name, index in _STEP.findall(path):
        if name:
            keys.append(name)
        elif index != "...":
            keys.append(int(index))
        else:
            mapping = _lookup(raw, keys)
            if not isinstance(mapping, dict):
                return keys
            guilty = (key for key in mapping if _fails(_replaced(raw, keys, {key: mapping[key]}), kind, message))
            keys.append(next(guilty, "..."))
    return keys


def _fails(raw: Any, kind: Any, message: str) -> bool:
    try:
        msgspec.convert(raw, kind, strict=True)
    except msgspec.ValidationError as error:
        return str(error) == message
    return False


def _replaced(raw: Any, keys: list[str | int], value: Any) -> Any:
    if not keys:
        return value
    first, rest = keys[0], keys[1:]
    if isinstance(raw, list):
        return [_replaced(child, rest, value) if index == first else child for index, child in enumerate(raw)]
    return {key: _replaced(child, rest, value) if key == first else child for key, child in raw.items()}


def _lookup(raw: Any, keys: list[str | int]) -> Any:
    for key in keys:
        try:
            raw = raw[key]
        except (KeyError, IndexError, TypeError):
            return None
    return raw


def _fields(kind: Any, raw: Any, keys: list[str | int]) -> Iterator[str]:
    """The keys that the struct at `keys` knows."""
    value = _lookup(raw, keys)
    for struct in _structs(_type_at(kind, raw, keys)):
        if _fits(struct, value):
            if struct.tag_field is not None:
                yield struct.tag_field
            yield from (field.encode_name for field in struct.fields)


def _choices(kind: Any, raw: Any, keys: list[str | int]) -> Iterator[str]:
    """The values allowed at `keys`: a literal's, an enum's, or the tags of a union of structs."""
    for part in _parts(_type_at(kind, raw, keys)):
        if isinstance(part, types.LiteralType):
            yield from (str(value) for value in part.values)
        elif isinstance(part, types.EnumType):
            yield from (str(member.value) for member in part.cls)
    if keys:
        for struct in _structs(_type_at(kind, raw, keys[:-1])):
            if struct.tag_field == keys[-1]:
                yield str(struct.tag)


def _type_at(kind: Any, raw: Any, keys: list[str | int]) -> types.Type | None:
    """The declared type of the value at `keys`; a union of structs is followed by the tag that `raw` gives."""
    current: types.Type | None = types.type_info(kind)
    for depth, key in enumerate(keys):
        value = _lookup(raw, keys[:depth])
        current = next((found for part in _parts(current) if (found := _child(part, value, key)) is not None), None)
    return current


def _child(part: types.Type, value: Any, key: str | int) -> types.Type | None:
    if isinstance(part, types.StructType) and _fits(part, value):
        return next((field.type for field in part.fields if field.encode_name == key), None)
    if isinstance(part, types.DictType) and isinstance(value, dict):
        return part.value_type
    if isinstance(part, types.TupleType) and isinstance(key, int) and key < len(part.item_types):
        return part.item_types[key]
    if isinstance(part, types.CollectionType) and isinstance(value, list):
        return part.item_type
    return None


def _fits(struct: types.StructType, value: Any) -> bool:
    """Whether the data at hand is meant as this struct: by its tag where structs have tags."""
    return struct.tag_field is None or (isinstance(value, dict) and value.get(struct.tag_field) == struct.tag)


def _parts(of: types.Type | None) -> Iterator[types.Type]:
    if isinstance(of, types.Metadata):
        yield from _parts(of.type)
    elif isinstance(of, types.UnionType):
        for part in of.types:
            yield from _parts(part)
    elif of is not None:
        yield of


def _structs(of: types.Type | None) -> Iterator[types.StructType]:
    return (part for part in _parts(of) if isinstance(part, types.StructType))
