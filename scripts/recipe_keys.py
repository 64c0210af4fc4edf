"""Every key of a corpus recipe with type, default and meaning: makes docs/corpora/recipes.md from the structs.

    python scripts/recipe_keys.py            writes the page
    python scripts/recipe_keys.py --check    says whether it is what the structs say; exit code 1 if not

Odd: a key's meaning is the comment at its line, else the sentences of the struct's docstring that name it in
backticks, here or in a base. A key with neither raises, so a new key can't come without a word about it.
"""

import inspect
import re
import sys
import types
from collections.abc import Iterator
from enum import Enum
from functools import cache
from pathlib import Path
from typing import Annotated, Any, Literal, Union, get_args, get_origin, get_type_hints

import msgspec

from trivium.data.config import Strict
from trivium.pipelines.corpora.recipe import Recipe, SourceConfig, StageKind

PAGE = Path(__file__).resolve().parent.parent / "docs" / "corpora" / "recipes.md"
HEAD = """# Every key of a corpus recipe

Made by `scripts/recipe_keys.py` from the code that reads recipes; a test holds the two together. What a corpus is for
stands in [corpora.md](../corpora.md), what stages do in the pages that it names. A key without a default must be given.
`--set sources.NAME.KEY=VALUE` and `--set stages.KIND.KEY=VALUE` change a key for one build, also a key inside a key
(`stages.svg_draw.draw.look.min_ink`). A path in a recipe is relative to the recipe, one given by `--set` to where the
command runs.
"""
_BOUNDS = {"ge": "≥ {}", "gt": "> {}", "le": "≤ {}", "lt": "< {}", "min_length": "at least {}"}
_SENTENCE = re.compile(r"(?<=\.)\s+(?=[`A-Z])")
_LONG = 240  # characters of a default that is written out


def page() -> str:
    """The whole page as Markdown."""
    parts: dict[str, type[Strict]] = {}
    text = [_section("The file", Recipe, parts)]
    contents = [_contents("", [("The file", "the-file")])]
    for title, union in (("Sources", SourceConfig), ("Stages", StageKind)):
        text.append(f"## {title}\n")
        kinds = {str(kind.__struct_config__.tag): kind for kind in get_args(union)}
        contents.append(_contents(f"{title}: ", [(tag, f"kind-{tag}") for tag in kinds]))
        shared = _shared(list(kinds.values()))
        if shared:
            text.append(f"Every kind has {', '.join(f'`{key}`' for key in shared)}:\n")
            text.append(_table(next(iter(kinds.values())), parts, only=shared))
        text += [_section(f"`kind: {tag}`", kinds[tag], parts, level=3, without=shared) for tag in kinds]
    text.append("## Parts\n\nStructs that the keys above hold, by the names in their types.\n")
    done: set[str] = set()
    while left := [name for name in parts if name not in done]:
        done.update(left)
        text += [_section(name, parts[name], parts, level=3) for name in left]
    contents.append(_contents("Parts: ", [(name, name.lower()) for name in parts]))
    return "\n".join([HEAD, *contents, *text])


def _contents(title: str, places: list[tuple[str, str]]) -> str:
    return f"{title}{', '.join(f'[{name}](#{anchor})' for name, anchor in places)}.\n"


def _section(
    title: str, kind: type[Strict], parts: dict[str, type[Strict]], *, level: int = 2, without: tuple[str, ...] = ()
) -> str:
    keys = tuple(key.name for key in msgspec.structs.fields(kind) if key.name not in without)
    about = _about(kind)
    table = _table(kind, parts, only=keys) if keys else "No keys of its own.\n"
    return f"{'#' * level} {title}\n\n" + (f"{about}\n\n" if about else "") + table


def _shared(kinds: list[type[Strict]]) -> tuple[str, ...]:
    """Keys that all kinds have from one base, with one default."""
    found = [{(key.name, repr(key.default)) for key in msgspec.structs.fields(kind)} for kind in kinds]
    both = set.intersection(*found)
    return tuple(key.name for key in msgspec.structs.fields(kinds[0]) if (key.name, repr(key.default)) in both)


def _table(kind: type[Strict], parts: dict[str, type[Strict]], *, only: tuple[str, ...]) -> str:
    hints = get_type_hints(kind, include_extras=True)
    rows = ["| key | type | default | meaning |", "|---|---|---|---|"]
    for key in msgspec.structs.fields(kind):
        if key.name in only:
            cells = (f"`{key.name}`", _type(hints[key.name], parts), _default(key), meaning(kind, key.name))
            rows.append(f"| {' | '.join(cell.replace('|', chr(92) + '|') for cell in cells)} |")
    return "\n".join(rows) + "\n"


def _number(value: float) -> str:
    """Alike for 0 and 0.0: `typing` keeps of equal annotations whichever was made first."""
    return f"{int(value):,}" if value == int(value) else f"{value:g}"


def _type(hint: Any, parts: dict[str, type[Strict]]) -> str:
    """A type in words; structs are noted in `parts`."""
    origin, given = get_origin(hint), get_args(hint)
    if origin is Annotated:
        bounds = [form.format(_number(getattr(meta, name))) for meta in given[1:] for name, form in _BOUNDS.items()
                  if getattr(meta, name, None) is not None]  # fmt: skip
        return ", ".join([_type(given[0], parts), *bounds])
    if origin is Literal:
        return " or ".join(f"`{one}`" for one in given)
    if origin in (Union, types.UnionType):
        kinds = [one for one in given if one not in (type(None), msgspec.UnsetType)]
        if len(kinds) > 5:
            return "one of the kinds below"
        return " or ".join(_type(one, parts) for one in kinds)
    if origin is tuple and given[-1:] == (...,):
        return f"list of {_type(given[0], parts)}"
    if origin is tuple:
        return f"[{', '.join(_type(one, parts) for one in given)}]"
    if origin is dict:
        return f"{_type(given[0], parts)} → {_type(given[1], parts)}"
    if isinstance(hint, type) and issubclass(hint, Enum):
        return " or ".join(f"`{one.value}`" for one in hint)
    if isinstance(hint, type) and issubclass(hint, Strict):
        while not inspect.get_annotations(hint):  # a limit that only knows its scores is a Limit
            hint = hint.__base__
        name = hint.__name__
        if parts.setdefault(name, hint) is not hint:  # another of this name came first
            name = hint.__module__.split(".")[-2].capitalize() + name
            assert parts.setdefault(name, hint) is hint, f"several structs are named {name}"
        return f"[{name}](#{name.lower()})" + _inside(hint, parts)
    return {str: "text", int: "whole number", float: "number", bool: "true or false"}[hint]


def _inside(kind: type[Strict], parts: dict[str, type[Strict]]) -> str:
    """Where the structs inside a struct are described: `draw.look.min_ink` is found from `draw`."""
    hints = get_type_hints(kind)
    held = {name: hint for name, hint in hints.items() if isinstance(hint, type) and issubclass(hint, Strict)}
    links = [f"`{name}`: {_type(hint, parts)}" for name, hint in held.items()]
    return f" ({', '.join(links)})" if links else ""


def _default(key: msgspec.structs.FieldInfo) -> str:
    if key.required:
        return "–"
    value = key.default if key.default is not msgspec.NODEFAULT else key.default_factory()
    if value is msgspec.UNSET or value is None:
        return "left out"
    built = msgspec.to_builtins(value)
    if isinstance(value, Strict):
        own = _unlike(value)
        return _cut(own) if own else "its own defaults"
    return _cut(built)


def _unlike(value: Strict) -> dict[str, Any]:
    """The keys whose values are not a struct's own defaults; all of those that have none."""
    found: dict[str, Any] = {}
    for key in msgspec.structs.fields(type(value)):
        own = getattr(value, key.name)
        usual = key.default if key.default_factory is msgspec.NODEFAULT else key.default_factory()
        if own != usual:
            found[key.name] = _unlike(own) if isinstance(own, Strict) else msgspec.to_builtins(own)
    return found


def _cut(built: Any) -> str:
    if isinstance(built, dict) and len(built) > 2 and len(set(map(repr, built.values()))) == 1:
        return f"{next(iter(built.values())):g} for each of {', '.join(f'`{name}`' for name in built)}"
    if isinstance(built, int) and not isinstance(built, bool):
        return f"{built:,}"
    shown = msgspec.json.encode(built).decode().replace(",", ", ").replace("\\n", "⏎")
    if len(shown) <= _LONG:
        return f"`{shown}`"
    return f"{len(built)} of them, in the code" if isinstance(built, list | tuple) else "in the code"


def _about(kind: type[Strict]) -> str:
    """The docstring's first sentence, and those that name no key."""
    keys = {key.name for key in msgspec.structs.fields(kind)}
    said = _sentences(kind)
    return " ".join(said[:1] + [one for one in said[1:] if not keys & set(re.findall(r"`(\w+)", one))])


def meaning(kind: type[Strict], key: str) -> str:
    """What a key means: its comment, the sentences of which one begins with it, else those that name it in passing.

    Raises LookupError when nothing says so.
    """
    passing: list[str] = []
    for base in _bases(kind):
        comment = _comments(base).get(key)
        if comment:
            return comment
        said = [one for one in _sentences(base) if re.search(rf"`{key}\b", one)]
        if any(one.startswith(f"`{key}`") for one in said):
            return " ".join(said).removeprefix(f"`{key}`: ")
        passing = passing or said
    if passing:
        return " ".join(passing)
    raise LookupError(
        f"{kind.__qualname__}.{key} has no meaning; write a comment behind it, or `{key}` in the docstring"
    )


def _bases(kind: type[Strict]) -> Iterator[type[Strict]]:
    return (base for base in kind.__mro__ if base is not Strict and issubclass(base, Strict))


@cache
def _sentences(kind: type[Strict]) -> list[str]:
    """The docstring by sentence, also at a semicolon before a key."""
    keys = "|".join(key.name for key in msgspec.structs.fields(kind)) or "-"
    text = inspect.cleandoc(kind.__dict__.get("__doc__") or "")
    parts = [" ".join(part.split()) for part in text.split("\n\n") if part]
    whole = [one for part in parts for one in _SENTENCE.split(part)]
    return [re.sub(";$", ".", one) for part in whole for one in re.split(rf"(?<=;) (?=`(?:{keys})\b)", part)]


@cache
def _comments(kind: type[Strict]) -> dict[str, str]:
    """The comments behind a class's keys, or on the lines above one."""
    found: dict[str, str] = {}
    above: list[str] = []
    for line in inspect.getsource(kind).splitlines():
        bare = line.strip()
        if bare.startswith("# "):
            above.append(bare[2:])
            continue
        key = re.match(r"(\w+): ", bare)
        if key:
            _, hash_, comment = bare.rpartition("  # ")
            said = comment if hash_ and not comment.startswith(("type:", "noqa")) else " ".join(above)
            found.setdefault(key[1], said)
        above = []
    return found


def main(arguments: list[str]) -> int:
    text = page()
    if "--check" not in arguments:
        PAGE.write_text(text, encoding="utf-8")
        return 0
    if PAGE.read_text(encoding="utf-8") == text:
        return 0
    print(f"{PAGE} is not what the structs say; run python scripts/recipe_keys.py", file=sys.stderr)
    return 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
