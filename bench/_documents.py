"""Documents for benches of dedup: real paragraphs put together anew, with planted copies whose origin is known.

Odd: a few hundred MB of real text are too few for a million documents, so a document is five real paragraphs drawn at
random; two documents share a paragraph now and then, which no threshold takes for a copy. Every fourth is a copy of an
earlier one with a few words replaced, every twentieth the same text again.
"""

import html
import random
import re
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

INPUTS = Path.home() / ".cache/trivium/inputs"
_TAGS = re.compile(
    r"<script.*?</script>|<style.*?</style>|<(/?(?:p|li|h[1-6]|div|td|pre|br))\b[^>]*>|<[^>]+>", re.S | re.I
)
_SPACE = re.compile(r"\s+")
NEAR, SAME = 0.25, 0.05  # shares of documents that are copies
PARAGRAPHS = 5


class Planted(NamedTuple):
    """A document: `origin` is the number of the one that it copies, -1 for one of its own; `edits` words differ."""

    text: str
    origin: int
    edits: int


def paragraphs(most_bytes: int = 120_000_000) -> list[str]:
    """Paragraphs of 200 to 1500 characters in the pages that `trivium inputs fetch` brought; each text once."""
    found: dict[str, None] = {}
    size = 0
    for path in sorted(INPUTS.rglob("*")):
        if path.suffix not in (".html", ".htm", ".xhtml", ".txt", ".rst") or not path.is_file():
            continue
        raw = path.read_bytes().decode("utf-8", "replace")
        text = html.unescape(_TAGS.sub(lambda tag: "\n\n" if tag[1] else "", raw)) if "htm" in path.suffix else raw
        for part in re.split(r"\n\s*\n", text):
            line = _SPACE.sub(" ", part).strip()
            if 200 <= len(line) <= 1500 and line not in found:
                found[line] = None
                size += len(line)
        if size > most_bytes:
            break
    return list(found)


def documents(count: int, pool: list[str], seed: int = 0) -> Iterator[Planted]:
    """`count` documents, the same for the same seed; the first n are the same for any count."""
    draw = random.Random(seed)
    recent: list[tuple[int, str]] = []
    for number in range(count):
        kind = draw.random()
        if recent and kind < NEAR + SAME:
            origin, text = recent[draw.randrange(len(recent))]
            words = text.split(" ")
            edits = draw.randrange(1, max(2, len(words) // 40)) if kind < NEAR else 0
            for _ in range(edits):
                words[draw.randrange(len(words))] = pool[draw.randrange(len(pool))].split(" ", 1)[0]
            yield Planted(" ".join(words), origin, edits)
            continue
        text = "\n\n".join(pool[draw.randrange(len(pool))] for _ in range(PARAGRAPHS))
        if len(recent) < 20_000:
            recent.append((number, text))
        else:
            recent[draw.randrange(len(recent))] = (number, text)
        yield Planted(text, -1, 0)
