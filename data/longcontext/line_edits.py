"""Edits of a text's lines, told in words, applied."""

from trivium.data.longcontext.wording import pattern


def apply(text: str, edit: str, templates: dict[str, tuple[str, ...]]) -> str:
    """The text after an edit in words. Raises ValueError when the words fit no template, or a line is not there."""
    lines = text.split("\n")
    for kind, choices in templates.items():
        for template in choices:
            match = pattern(template).fullmatch(edit)
            if match is None:
                continue
            at = int(match["line"])
            if not 1 <= at <= len(lines):
                raise ValueError(f"line {at} of {len(lines)}")
            if kind == "delete":
                return "\n".join(lines[: at - 1] + lines[at:])
            if kind == "replace":
                return "\n".join([*lines[: at - 1], match["text"], *lines[at:]])
            if kind == "insert":
                return "\n".join([*lines[:at], match["text"], *lines[at:]])
            other = int(match["other"])
            if not 1 <= other <= len(lines):
                raise ValueError(f"line {other} of {len(lines)}")
            lines[at - 1], lines[other - 1] = lines[other - 1], lines[at - 1]
            return "\n".join(lines)
    raise ValueError(f"no edit: {edit[:80]!r}")
