"""How text is cut before BPE: one regular expression for both libraries.

Odd: Han runs are pieces of their own (Kimi's rule), so a merge never joins Chinese to Latin; letters keep their case
pattern (`fooBar` → `foo`, `Bar`) and take one leading space or sign; an English clitic stays with its word. No piece
holds a letter and a closing bracket after it, which is why no merge can ever spell a special token.
"""

import re
from collections.abc import Iterator

RUN = 25_000  # characters of one kind in a row
PART = 400_000  # characters handed over at once
_RUNS = re.compile(r"\s+|\S+")

_MARKS = r"\p{Lm}\p{Lo}\p{M}"


def pattern(digits: int) -> str:
    """Alternatives in order of preference; a run of digits is cut every `digits`."""
    upper = rf"[\p{{Lu}}\p{{Lt}}{_MARKS}&&[^\p{{Han}}]]"
    lower = rf"[\p{{Ll}}{_MARKS}&&[^\p{{Han}}]]"
    lead, clitic = r"[^\r\n\p{L}\p{N}]?", r"(?i:'s|'t|'re|'ve|'m|'ll|'d)?"
    return "|".join(
        (
            r"\p{Han}+",
            f"{lead}{upper}*{lower}+{clitic}",
            f"{lead}{upper}+{lower}*{clitic}",
            r"\p{N}" if digits == 1 else rf"\p{{N}}{{1,{digits}}}",
            r" ?[^\s\p{L}\p{N}]+[\r\n]*",
            r"\s*[\r\n]+",
            r"\s+(?!\S)",
            r"\s+",
        )
    )


OWN = pattern(1)
KIMI = pattern(3)


def byte_alphabet() -> dict[str, int]:
    """The printable character that byte-level BPE shows for each of the 256 bytes."""
    printable = [*range(0x21, 0x7F), *range(0xA1, 0xAD), *range(0xAE, 0x100)]
    others = [byte for byte in range(256) if byte not in printable]
    return {chr(b): b for b in printable} | {chr(256 + place): byte for place, byte in enumerate(others)}


def parts(text: str) -> Iterator[str]:
    """Cuts what tiktoken's regular expression engine can't take (a million spaces overflow its stack), as Kimi does:
    every 400 000 characters, and inside those after 25 000 characters of blanks or of non-blanks in a row."""
    if len(text) <= RUN:
        yield text
        return
    for start in range(0, len(text), PART):
        chunk = text[start : start + PART]
        last = 0
        for run in _RUNS.finditer(chunk):
            for cut in range(run.start() + RUN, run.end(), RUN):
                yield chunk[last:cut]
                last = cut
        yield chunk[last:]
