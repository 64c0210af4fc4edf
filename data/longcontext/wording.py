"""The words of synthetic rows, as data: frames, statements, questions and names, from one YAML file.

A template holds `{field}`s. `fill` writes it, `pattern` reads it: a template that can be written can be found again.
"""

import re
import string
from functools import lru_cache
from pathlib import Path

from trivium.data.config import Strict, load_yaml

DEFAULT = Path(__file__).with_name("wording.yaml")

_NUMBER = r"\d+"
_NAME = r"[A-Z][a-z]+ [A-Z][a-z]+"
FIELDS = {
    "number": _NUMBER,
    "step": _NUMBER,
    "count": _NUMBER,
    "bytes": _NUMBER,
    "line": _NUMBER,
    "other": _NUMBER,
    "value": _NUMBER,
    "numbers": r"\d+(?:, \d+)*",
    "entity": _NAME,
    "attribute": r"[a-z]+(?: [a-z]+)*?",
    "register": r"[A-Z]{3}\d{2}",
    "source": r"[A-Z]{3}\d{2}",
    "color": r"[a-z]+",
    "shape": r"[a-z]+",
    "other_color": r"[a-z]+",
    "other_shape": r"[a-z]+",
    "title": r"[^\n]*",
    "licence": r"[^\n]*",
    "sentence": r"[^“”\n]+",
    "text": r"[^\n]*(?:\n[^\n]*)*",
}
# What each list of templates must hold, so that a mistake in a file of one's own is found when it is read.
_STATEMENTS = {
    "facts": {"attribute", "entity", "value"},
    "events": {"entity", "value"},
    "roots": {"register", "value"},
    "links": {"register", "source"},
}
_EDITS = {
    "replace": {"line", "text"},
    "delete": {"line"},
    "insert": {"line", "text"},
    "swap": {"line", "other"},
}
_QUESTIONS = {
    "needle": {"attribute", "entity"},
    "needles": {"entity"},
    "chain": {"register"},
    "edits": {"number", "count"},
    "find": {"title", "color", "shape"},
    "find_two": {"title", "color", "shape", "other_color", "other_shape"},
    "count": {"title", "color", "shape"},
    "count_licence": {"licence"},
    "order": {"text"},
    "most": {"numbers"},
    "least": {"numbers"},
    "quote": {"sentence"},
    "copy": {"number", "sentence"},
    "code_of_picture": set(),
    "picture_of_code": {"text"},
}


class Frame(Strict, frozen=True, kw_only=True):
    """One way to set off the parts of a row. Each line here begins a line of the row and occurs in no page."""

    intro: str  # begins the row
    document: str  # above a page
    edit: str  # above a change
    note: str  # above a note
    questions: str  # above all questions
    question: str  # above one
    answer: str  # above its answer

    def __post_init__(self) -> None:
        wanted = {
            "document": {"number", "title", "licence", "bytes"},
            "edit": {"step", "number"},
            "question": {"number", "text"},
            "answer": {"number"},
        }
        for name in ("document", "edit", "note", "questions", "question", "answer"):
            has_fields(name, getattr(self, name), wanted.get(name, set()))


class Wording(Strict, frozen=True, kw_only=True):
    """Everything that is said in a row beside its pages."""

    frames: tuple[Frame, ...]  # one is chosen for each row
    first_names: tuple[str, ...]  # first halves of the names in statements
    last_names: tuple[str, ...]  # second halves
    attributes: tuple[str, ...]  # what a statement gives a number for
    statements: dict[str, tuple[str, ...]]  # by kind of task
    edits: dict[str, tuple[str, ...]]  # by kind of task
    questions: dict[str, tuple[str, ...]]  # by kind of task

    def __post_init__(self) -> None:
        for label, wanted in (("statements", _STATEMENTS), ("edits", _EDITS), ("questions", _QUESTIONS)):
            given: dict[str, tuple[str, ...]] = getattr(self, label)
            if set(given) != set(wanted):
                raise ValueError(f"{label} holds {sorted(given)}; give exactly {sorted(wanted)}")
            for name, templates in given.items():
                if not templates:
                    raise ValueError(f"{label}.{name} is empty; give at least one template")
                for template in templates:
                    has_fields(f"{label}.{name}", template, wanted[name])
        for label, few in (("first_names", 8), ("last_names", 8), ("attributes", 2)):
            if len(set(getattr(self, label))) < few:
                raise ValueError(f"{label}: give at least {few} different ones")
        if not self.frames:
            raise ValueError("frames is empty; give at least one")


def has_fields(label: str, template: str, wanted: set[str]) -> None:
    """Raises ValueError unless a template has exactly these fields."""
    found = {name for _, name, _, _ in string.Formatter().parse(template) if name is not None}
    if found != wanted:
        raise ValueError(f"{label}: {template!r} has the fields {sorted(found)}; it needs {sorted(wanted)}")


@lru_cache(maxsize=8)
def load_wording(path: Path = DEFAULT) -> Wording:
    """Reads a wording file. Raises InputError or ConfigError."""
    return load_yaml(path, Wording)


def fill(template: str, **fields: object) -> str:
    return template.format(**fields)


@lru_cache(maxsize=1024)
def pattern(template: str) -> re.Pattern[str]:
    """Finds what `fill` wrote; each field is a named group."""
    parts = []
    for literal, name, _, _ in string.Formatter().parse(template):
        parts.append(re.escape(literal))
        if name is not None:
            parts.append(f"(?P<{name}>{FIELDS[name]})")
    return re.compile("".join(parts))


@lru_cache(maxsize=64)
def line_start(template: str) -> re.Pattern[str]:
    """Finds the template's first line that is not empty, up to its text, at a line's start: the mark of a part."""
    line = next(line for line in template.splitlines() if line.strip()).partition("{text}")[0]
    return re.compile("^" + pattern(line).pattern, re.MULTILINE)
