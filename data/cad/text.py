"""The text of a CAD script in pieces: parameters, features, the result."""

import re

import msgspec

_PARAMETER = re.compile(r"^([a-z][a-z0-9_]*) = (\d+)$")
_RESULT = re.compile(r"^result = ")
_ENDS = re.compile(
    r"^(?:result = |def |class |with BuildPart|with BuildSketch\(\) as|[a-z_]+ = (?:GridLocations|PolarLocations))"
)
_KNOWN_PLURALS = ("s", "teeth", "feet")
_SINGULAR = ("the boss", "the recess")


class Feature(msgspec.Struct, frozen=True, kw_only=True):
    """Lines `first` to `last` (without it) that make one feature; `name` is what the comment before them says.

    `removable`: it adds or takes something by itself, and no later line speaks of what it names.
    """

    first: int
    last: int
    name: str
    removable: bool

    @property
    def plural(self) -> bool:
        """By its head noun: "the holes of the bosses", "the flat of the shaft"."""
        if " and " in self.name and not re.search(r" (?:with|through|between) ", self.name):
            return True
        head = re.split(r" (?:in|of|on|for|with|through|inside|at|and|between) ", self.name)[0]
        return head.endswith(_KNOWN_PLURALS) and head not in _SINGULAR


class Script(msgspec.Struct, frozen=True, kw_only=True):
    """`result` is the line that names the result, -1 when there is none."""

    lines: tuple[str, ...]
    parameters: dict[str, int]
    features: tuple[Feature, ...]
    result: int

    def text_of(self, feature: Feature) -> str:
        return "\n".join(self.lines[feature.first : feature.last])

    def replaced(self, feature: Feature, text: str) -> str:
        return _text([*self.lines[: feature.first], *text.split("\n"), *self.lines[feature.last :]])

    def without(self, feature: Feature) -> str:
        """The script without the feature and the comment that names it; parameters that only it used go too."""
        lines = [*self.lines[: feature.first - 1], *self.lines[feature.last :]]
        used = "\n".join(line for line in lines if not _PARAMETER.match(line))
        kept = [line for line in lines if not ((found := _PARAMETER.match(line)) and not _speaks(used, found.group(1)))]
        return _text(kept)

    def with_parameter(self, name: str, value: int) -> str:
        return _text(
            [
                f"{name} = {value}" if line.startswith(f"{name} = ") and _PARAMETER.match(line) else line
                for line in self.lines
            ]
        )

    def appended(self, text: str) -> str:
        return _text([*self.lines, *text.split("\n")])


def parse(code: str) -> Script:
    lines = tuple(code.rstrip("\n").split("\n"))
    parameters = {found.group(1): int(found.group(2)) for line in lines if (found := _PARAMETER.match(line))}
    result = max((number for number, line in enumerate(lines) if _RESULT.match(line)), default=-1)
    return Script(lines=lines, parameters=parameters, features=tuple(_features(lines)), result=result)


def parameter_words(name: str) -> str:
    return name.replace("_", " ")


def _features(lines: tuple[str, ...]) -> list[Feature]:
    found = []
    for number, line in enumerate(lines):
        name = line.strip().removeprefix("# ")
        if not line.strip().startswith("# ") or not name.startswith("the "):
            continue
        indent = len(line) - len(line.lstrip())
        last = number + 1
        while last < len(lines) and not _over(lines[last], indent):
            last += 1
        text = "\n".join(lines[number + 1 : last])
        made = set(re.findall(r"^\s*([a-z_]+) = ", text, re.MULTILINE)) - set(
            re.findall(r"^\s*([a-z_]+) [-+&]= ", text, re.MULTILINE)
        )
        later = "\n".join(lines[last:])
        acts = bool(re.search(r"[-+]= |Mode\.SUBTRACT|Hole\(|\b(?:chamfer|fillet)\(", text))
        whole = not any(_speaks(later, one) for one in made) or bool(
            re.search(r"^\s*(\w+) = (?:chamfer|fillet)\(", text, re.MULTILINE)
        )
        found.append(Feature(first=number + 1, last=last, name=name, removable=acts and whole))
    return found


def _over(line: str, indent: int) -> bool:
    """Whether a feature ends before this line."""
    if not line.strip():
        return True
    deep = len(line) - len(line.lstrip())
    return deep < indent or (deep == indent and (line.strip().startswith("# ") or bool(_ENDS.match(line))))


def _speaks(text: str, name: str) -> bool:
    return bool(re.search(rf"\b{re.escape(name)}\b", text))


def _text(lines: list[str]) -> str:
    return "\n".join(lines) + "\n"
