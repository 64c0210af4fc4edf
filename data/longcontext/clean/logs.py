"""Machine-written lines: with a time or level in front, or one pattern over and over with other numbers in it."""

import re
from collections import Counter

_MONTH = r"(?:Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sep|Oct|Nov|Dec)"
_STAMPS = (
    r"[\[(<]?\d{4}-\d{2}-\d{2}[T ]\d{2}:\d{2}",  # 2026-01-31 12:59
    r"[\[(<]?\d{2}:\d{2}:\d{2}[.,\]\s]",
    _MONTH + r" [ \d]\d \d{2}:\d{2}:\d{2}",  # syslog
    r"\[?(?:DEBUG|INFO|WARN|WARNING|ERROR|TRACE|FATAL)\b[\]: ]",
    r"\[\s*\d+\.\d{6}\]",  # the kernel's seconds
    r"\d{1,3}(?:\.\d{1,3}){3} \S+ \S+ \[",  # a web server's address
)
_STAMPED = re.compile(r"\s*(?:" + "|".join(_STAMPS) + ")")
_VARIABLE = re.compile(r"0x[0-9A-Fa-f]+|\b[0-9A-Fa-f]{8,}\b|\d+")
_REPEATS = 8  # lines of one pattern before they count


def log_characters(text: str) -> float:
    """Share of the characters of lines that look like a log's."""
    lines = [line for line in text.splitlines() if line.strip()]
    if not lines:
        return 0.0
    patterns = [_VARIABLE.sub("0", line.strip()) for line in lines]
    times = Counter(patterns)
    distinct: dict[str, set[str]] = {}
    for pattern, line in zip(patterns, lines, strict=True):
        if times[pattern] >= _REPEATS:
            distinct.setdefault(pattern, set()).add(line)
    total = machine = 0
    for pattern, line in zip(patterns, lines, strict=True):
        total += len(line)
        numbered = len(distinct.get(pattern, ())) >= _REPEATS and len(pattern.split()) >= 3
        machine += len(line) * (numbered or bool(_STAMPED.match(line)))
    return machine / total
