"""Style rules as they are written in a clean page: nothing that no picture shows, files by their short names."""

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from trivium.data.web.clean.collected import Rule
from trivium.data.web.clean.files import Files

# Nothing of these can be seen in a picture of a page that nobody touches.
_UNSEEN = {
    "cursor", "will-change", "touch-action", "user-select", "-webkit-user-select", "pointer-events", "scroll-behavior",
    "-webkit-tap-highlight-color", "-webkit-text-size-adjust", "text-size-adjust", "-webkit-overflow-scrolling",
    "-webkit-font-smoothing", "text-rendering", "overscroll-behavior", "scroll-snap-type", "resize",
}  # fmt: skip
_FACE = ("font-family", "font-style", "font-weight", "font-stretch", "src", "unicode-range")


class Styles:
    """Writes rules; `files` gets the pictures and fonts that they name."""

    def __init__(self, files: Files) -> None:
        self._files = files

    def sheet(self, rules: Sequence[Rule], inline: Iterable[str]) -> str:
        """The text of a style element; `inline` are the page's style attributes, which may use what rules define."""
        kept = list(self._kept(rules))
        texts = [*_bodies(kept), *inline]
        used = _used(texts)
        spoken = " ".join(texts).lower()
        lines: list[str] = []
        for rule in kept:
            lines += self._written(rule, used, spoken, "")
        return "\n".join(lines)

    def inline(self, text: str) -> str:
        """A style attribute."""
        return "; ".join(self._declarations(text))

    def _kept(self, rules: Sequence[Rule]) -> Iterator[Rule]:
        for rule in rules:
            if rule.kind == "block":
                inner = tuple(self._kept(rule.rules))
                if inner:
                    yield Rule(kind="block", head=rule.head, body="", rules=inner)
            elif rule.kind == "rule":
                body = "\n".join(self._declarations(rule.body))
                if body:
                    yield Rule(kind="rule", head=rule.head, body=body)
            else:
                yield rule

    def _written(self, rule: Rule, used: set[str], spoken: str, indent: str) -> list[str]:
        if rule.kind == "block":
            inner = [line for one in rule.rules for line in self._written(one, used, spoken, f"{indent}  ")]
            return [f"{indent}{rule.head} {{", *inner, f"{indent}}}"] if inner else []
        if rule.kind == "rule":
            body = [
                line for line in rule.body.split("\n") if not line.startswith("--") or line.partition(":")[0] in used
            ]
            return [f"{indent}{rule.head} {{", *(f"{indent}  {line};" for line in body), f"{indent}}}"] if body else []
        if rule.kind == "font":
            return self._face(rule, indent) if rule.head.lower() in spoken else []
        if rule.kind == "frames" and rule.head.lower() not in spoken:
            return []
        if rule.kind == "property" and rule.head not in used:
            return []
        text = rule.head if rule.kind == "statement" else self._named(rule.body)
        return [f"{indent}{line}" for line in text.splitlines()]

    def _face(self, rule: Rule, indent: str) -> list[str]:
        found = {name: value for name, value in _parsed(rule.body) if name in _FACE}
        sources = [self._files.name(address, font=True) for address in _addresses(found.get("src", []))]
        kept = next((name for name in sources if name), "")
        if not kept:
            return []
        lines = [f"{name}: {_text(value)};" for name, value in found.items() if name != "src"]
        return [
            f"{indent}@font-face {{",
            *(f"{indent}  {line}" for line in [*lines, f"src: url({kept});"]),
            f"{indent}}}",
        ]

    def _declarations(self, text: str) -> list[str]:
        """`name: value` of all that can be seen, in order; those whose file is not kept are left out."""
        found = []
        for name, value, important in _declared(text):
            if name in _UNSEEN or name.startswith(("transition", "-webkit-transition", "-moz-", "-ms-", "-o-")):
                continue
            if self._rename(value):
                found.append(f"{name}: {_text(value)}{' !important' if important else ''}")
        return found

    def _named(self, text: str) -> str:
        """A text of rules with its files renamed; for what is kept as a whole."""
        import tinycss2

        nodes = tinycss2.parse_component_value_list(text)
        self._rename(nodes)
        return str(tinycss2.serialize(nodes))

    def _rename(self, nodes: Sequence[Any]) -> bool:
        """Puts short names in place of addresses; whether all of them are kept."""
        whole = True
        for node in nodes:
            if node.type == "url" or (node.type == "function" and node.lower_name == "url"):
                string = (
                    node if node.type == "url" else next((one for one in node.arguments if one.type == "string"), None)
                )
                if string is None or string.value.startswith(("data:", "#")):
                    continue
                name = self._files.name(string.value)
                whole = whole and bool(name)
                string.value, string.representation = name, f"url({name})" if node.type == "url" else f'"{name}"'
            elif node.type == "function":
                whole = self._rename(node.arguments) and whole
            elif node.type in ("() block", "[] block", "{} block"):
                whole = self._rename(node.content) and whole
        return whole


def _declared(text: str) -> Iterator[tuple[str, list[Any], bool]]:
    import tinycss2

    for node in tinycss2.parse_declaration_list(text, skip_comments=True, skip_whitespace=True):
        if node.type == "declaration":
            yield node.name if node.name.startswith("--") else node.lower_name, node.value, node.important


def _parsed(text: str) -> Iterator[tuple[str, list[Any]]]:
    for name, value, _ in _declared(text):
        yield name, value


def _text(value: Sequence[Any]) -> str:
    import tinycss2

    return " ".join(str(tinycss2.serialize(value)).split())


def _addresses(value: Sequence[Any]) -> Iterator[str]:
    for node in value:
        if node.type == "url":
            yield node.value
        elif node.type == "function" and node.lower_name == "url":
            yield from (one.value for one in node.arguments if one.type == "string")


def _bodies(rules: Iterable[Rule]) -> Iterator[str]:
    for rule in rules:
        if rule.kind != "font":
            yield rule.body
        yield from _bodies(rule.rules)


def _used(texts: Sequence[str]) -> set[str]:
    """The custom properties that something shown depends on, through others too."""
    import tinycss2

    asked: dict[str, set[str]] = {}
    reached: set[str] = set()
    for text in texts:
        for line in text.split("\n"):
            name = line.partition(":")[0].strip()
            found = set(_variables(tinycss2.parse_component_value_list(line)))
            if name.startswith("--"):
                asked.setdefault(name, set()).update(found)
            else:
                reached |= found
    todo = list(reached)
    while todo:
        for name in asked.get(todo.pop(), ()):
            if name not in reached:
                reached.add(name)
                todo.append(name)
    return reached


def _variables(nodes: Iterable[Any]) -> Iterator[str]:
    for node in nodes:
        if node.type == "function":
            if node.lower_name == "var":
                yield from (one.value for one in node.arguments[:2] if one.type == "ident")
            yield from _variables(node.arguments)
        elif node.type in ("() block", "[] block", "{} block"):
            yield from _variables(node.content)
