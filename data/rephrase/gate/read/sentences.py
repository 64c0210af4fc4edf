"""Where sentences end, in any script: a mark that ends one, before white space, or anywhere in CJK; lines part blocks.

A stop after a number, an initial or a usual abbreviation ends nothing; neither does one before a lower-case letter.
"""

import re
from itertools import pairwise

# A closing quotation mark or bracket belongs to the sentence before it.
_END = re.compile(
    r"[.!?…]+[\"'”’»)\]]*(?=\s)|[。！？｡]+[”’」』）]*|[।۔؟]+(?=\s|$)|\n\s*\n|\n(?=\s*(?:[-*•#>|]|\d{1,2}[.)]))"
)
_ABBREVIATION = re.compile(
    r"(?:^|[\s(])(?:[A-Za-zÀ-ÖØ-öø-ÿА-я]|\d{1,2}|e\.g|i\.e|etc|cf|vs|ca|approx|no|nos|vol|fig|figs|eq|sec|ch|pp?|ed|eds|Mr|Mrs|Ms|Dr|St"
    r"|Prof|Jr|Sr|Inc|Ltd|al|Jan|Feb|Mar|Apr|Jun|Jul|Aug|Sept?|Oct|Nov|Dec|z\.\s?B|d\.\s?h|u\.\s?a|bzw|usw|Nr|Abb|Kap|Art|Mio|Mrd|Jh"
    r"|St|p\.\s?ex|env|chap|n|Sra?|Ud|aprox|núm|pág|т\.\s?е|т\.\s?д|г|гг|в|тыс|млн|млрд|рис|см|U\.S|a\.m|p\.m)\.$",
    re.IGNORECASE,
)
_WORDS = re.compile(r"\w")


def sentences(text: str) -> list[tuple[int, int]]:
    """Start and stop of each sentence that holds a letter or digit, without the white space around it."""
    cuts = [0]
    for match in _END.finditer(text):
        if match[0].startswith(".") and not match[0].startswith("..") and _goes_on(text, match):
            continue
        cuts.append(match.end())
    cuts.append(len(text))
    found = []
    for start, stop in pairwise(cuts):
        piece = text[start:stop]
        left = len(piece) - len(piece.lstrip())
        right = len(piece.rstrip())
        if right > left and _WORDS.search(piece):
            found.append((start + left, start + right))
    return found


def _goes_on(text: str, match: re.Match[str]) -> bool:
    """Whether the stop is no end: lower case follows it, or it belongs to an abbreviation."""
    following = text[match.end() : match.end() + 12].lstrip()
    if following[:1].islower():
        return True
    return len(match[0]) == 1 and bool(_ABBREVIATION.search(text[max(0, match.start() - 12) : match.end()]))
