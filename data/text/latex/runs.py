"""Stretches of plain words, each made one letter while LaTeX is parsed: the parser takes a letter at a time.

Odd: the letter right behind a command may be its argument (`\\'ecole`, `\\hat x`), so it never begins a stretch, and
names of environments stay as they are. Letters come from Unicode's last private planes; when they are used up, words
stay words. Measured on the LaTeX of texlive-latex-base-doc: twice as fast.
"""

import re

_FIRST, _LAST = 0xF0000, 0x10FFFD
_STRETCH = re.compile(
    r"\\(?:begin|end)\s*\{[^{}\n]{0,100}\}"
    r"|\\(?:[A-Za-z@]+\*?[ \t]*\n?[ \t]*|.)[A-Za-z0-9]?"
    r"|([A-Za-z0-9,.;:!?()/=+](?:[A-Za-z0-9,.;:!?()/=+ ]|-(?!-)|'(?!')|\n(?![ \t]*\n)[ \t]*){2,})"
)
_PRIVATE = re.compile("[\U000f0000-\U0010ffff]")


class Runs:
    """Stretches by their letter."""

    def __init__(self) -> None:
        self._letters: dict[str, str] = {}

    def shortened(self, text: str) -> str:
        return _STRETCH.sub(self._letter, _PRIVATE.sub("", text))

    def whole(self, text: str) -> str:
        """`text` with every stretch in its place."""
        return text.translate({ord(letter): stretch for stretch, letter in self._letters.items()})

    def _letter(self, match: re.Match[str]) -> str:
        stretch = match[1]
        if stretch is None:
            return match[0]
        stretch = stretch.replace("\n", " ").replace("'", "’")
        letter = self._letters.get(stretch)
        if letter is None:
            code = _FIRST + len(self._letters)
            if code > _LAST:
                return stretch
            letter = self._letters[stretch] = chr(code)
        return letter
