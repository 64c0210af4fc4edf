"""Taking stretches out of a text without moving what stays."""

from collections.abc import Iterable


def blank(text: str, spans: Iterable[tuple[int, int]]) -> str:
    """The text with a blank for each character of the stretches, line breaks kept."""
    parts, place = [], 0
    for start, stop in sorted(spans):
        if stop <= place:
            continue
        parts.append(text[place:start])
        parts.append("".join("\n" if character == "\n" else " " for character in text[max(start, place) : stop]))
        place = stop
    return "".join((*parts, text[place:]))
