"""Lines with their places on pages → paragraphs in reading order, without page headers.

Odd: the order in which a file draws its text is trusted, since writers of PDF draw columns one after the other; only
where lines run across a gutter (scanners draw so) are the columns taken apart. Lengths are in points.
"""

import re
import unicodedata
from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import pairwise

import msgspec

BROKEN = "\ufffe"  # PDFium's mark for a word that goes on in the next line
_GAP = 1.45  # times the usual distance of lines, from which a paragraph ends
_SHIFT = 0.75  # of the letters' size, by which an index is raised or lowered
_SHORT = 0.88  # a line that ends before this share of its column ends a paragraph
_INDENT = 0.8  # of the letters' size
_EDGE = 2  # lines at the top and the bottom of a page that may be its header
_REPEATED = 0.3  # share of pages on which a header comes again
_WORD = re.compile(r"[^\W\d_]+(?:-[^\W\d_]+)*")
_BREAK = re.compile(rf"(\w*){BROKEN}\s*(\w*)")
_DIGITS = re.compile(r"\d+")
_NUMBER = re.compile(r"[-–—\s]*(?:\d{1,4}|[ivxlc]{1,7})[-–—\s]*", re.IGNORECASE)
_LEADERS = re.compile(r"(?: ?[.·…]){4,}")
_ACCENTS = dict(zip("¨´ˆ˜¯˘˙˚ˇ˝¸", map(chr, (776, 769, 770, 771, 772, 774, 775, 778, 780, 779, 807)), strict=True))
_ACCENTED = re.compile("([" + "".join(_ACCENTS) + r"]) ?([A-Za-zıȷ])")
_BULLET = re.compile(r"(?:[•‣◦▪–—*]|\(?\d{1,3}[.)]|\(?[a-z][.)])(?:\s|$)")


class Line(msgspec.Struct, frozen=True, array_like=True):
    """A line of text: its cells (parted by wide gaps), each with its left and right end, its baseline from the page's
    bottom, and its letters' size."""

    cells: tuple[tuple[str, float, float], ...]
    baseline: float
    size: float

    @property
    def text(self) -> str:
        return "  ".join(cell[0] for cell in self.cells)

    @property
    def left(self) -> float:
        return self.cells[0][1]

    @property
    def right(self) -> float:
        return self.cells[-1][2]


def text_of(pages: Sequence[Sequence[Line]]) -> str:
    """The text of a document."""
    bare = without_headers([in_columns(with_scripts(page)) for page in pages])
    parts: list[str] = []
    for page in bare:
        paragraphs = list(paragraphs_of(page))
        if parts and paragraphs and _goes_on(parts[-1], paragraphs[0]):
            parts[-1] = _joined(parts[-1], paragraphs.pop(0))
        parts += paragraphs
    return _LEADERS.sub(" ...", composed(mend("\n\n".join(parts))))


def with_scripts(page: Sequence[Line]) -> list[Line]:
    """The page's lines, those that PDFium parted at a raised or lowered letter whole again."""
    kept: list[Line] = []
    for line in page:
        last = kept[-1] if kept else None
        if (
            last is not None
            and abs(last.baseline - line.baseline) < _SHIFT * max(last.size, line.size)
            and -0.5 * last.size < line.left - last.right < 2 * last.size
            and not last.text.endswith(BROKEN)
        ):
            text, left, _ = last.cells[-1]
            first, _, right = line.cells[0]
            cells = (*last.cells[:-1], (f"{text} {first}", left, right), *line.cells[1:])
            larger = max(last, line, key=lambda one: one.size)
            kept[-1] = Line(cells, larger.baseline, larger.size)
        else:
            kept.append(line)
    return kept


def in_columns(page: Sequence[Line]) -> list[Line]:
    """The page's lines, those that run across two columns of prose taken apart: the left one first."""
    gutter = _gutter(page)
    if gutter is None:
        return list(page)
    above: list[Line] = []
    left: list[Line] = []
    right: list[Line] = []
    for line in page:
        first = tuple(cell for cell in line.cells if cell[2] <= gutter)
        second = tuple(cell for cell in line.cells if cell[1] >= gutter)
        if len(first) + len(second) < len(line.cells):  # across the gutter: a heading ends what came before
            above += [*left, *right, line]
            left, right = [], []
            continue
        left += [msgspec.structs.replace(line, cells=first)] if first else []
        right += [msgspec.structs.replace(line, cells=second)] if second else []
    return [*above, *left, *right]


def _gutter(page: Sequence[Line]) -> float | None:
    """Where a gap lies that parts two columns of prose in most lines; a table's cells are too short for that."""
    split = [line for line in page if len(line.cells) == 2 and all(len(cell[0]) >= 20 for cell in line.cells)]
    if len(split) < 6 or 2 * len(split) < len(page):
        return None
    inner = max(line.cells[0][2] for line in split)
    outer = min(line.cells[1][1] for line in split)
    return (inner + outer) / 2 if inner < outer else None


def without_headers(pages: Sequence[Sequence[Line]]) -> list[list[Line]]:
    """The pages without page numbers, and without what comes again at the top or the bottom of many pages."""
    seen: Counter[str] = Counter()
    for page in pages:
        seen.update({_DIGITS.sub("#", line.text) for line in _edges(page)})
    many = max(3.0, _REPEATED * len(pages))
    kept = []
    for page in pages:
        edges = {id(line) for line in _edges(page)}
        kept.append(
            [
                line
                for line in page
                if id(line) not in edges
                or not (seen[_DIGITS.sub("#", line.text)] >= many or (len(pages) > 1 and _NUMBER.fullmatch(line.text)))
            ]
        )
    return kept


def _edges(page: Sequence[Line]) -> list[Line]:
    """The highest and the lowest lines."""
    ranked = sorted(page, key=lambda line: line.baseline)
    return [*ranked[:_EDGE], *ranked[_EDGE:][-_EDGE:]]


def paragraphs_of(page: Sequence[Line]) -> Iterator[str]:
    """Lines joined to paragraphs, by their distance, their indent and where they end."""
    distances = sorted(
        above.baseline - below.baseline
        for above, below in pairwise(page)
        if 0 < above.baseline - below.baseline < 4 * max(1.0, above.size)
    )
    usual = distances[len(distances) // 2] if distances else 12.0
    sizes = sorted(line.size for line in page)
    for block in _blocks(page, usual, sizes[len(sizes) // 2] if sizes else 1.0):
        edge = sorted(line.right for line in block)[(9 * len(block)) // 10]
        base = min(line.left for line in block)
        parts = [block[0].text]
        for above, below in pairwise(block):
            starts = below.left - above.left > _INDENT * below.size and above.left - base < _INDENT * above.size
            short = above.right - base < _SHORT * (edge - base)
            table = len(below.cells) > 1 or len(above.cells) > 1 or _LEADERS.search(above.text)
            if starts or short or table or _BULLET.match(below.text):
                parts.append(below.text)
            else:
                parts[-1] = _joined(parts[-1], below.text)
        yield "\n".join(parts)


def _blocks(page: Sequence[Line], usual: float, size: float) -> Iterator[list[Line]]:
    block: list[Line] = []
    for line in page:
        if block:
            down = block[-1].baseline - line.baseline
            other = abs(line.size - block[-1].size) > 0.15 * max(line.size, block[-1].size)
            if (
                not 0 <= down <= _GAP * usual * max(1.0, line.size / size)
                or (other and down > 0.5 * usual)
                or line.left > block[-1].right + usual
            ):
                yield block
                block = []
        block.append(line)
    if block:
        yield block


def _goes_on(before: str, after: str) -> bool:
    """Whether a page's first paragraph goes on with the last one's sentence."""
    return after[:1].islower() and not before.rstrip().endswith((".", "!", "?", ":", ";"))


def _joined(before: str, after: str) -> str:
    return before + after if before.endswith(BROKEN) else f"{before} {after}"


def composed(text: str) -> str:
    """Accents that stand before their letter, as old fonts draw them, one letter with it."""

    def one(match: re.Match[str]) -> str:
        letter = {"ı": "i", "ȷ": "j"}.get(match[2], match[2])
        whole = unicodedata.normalize("NFC", letter + _ACCENTS[match[1]])
        return whole if len(whole) == 1 else match[0]

    return _ACCENTED.sub(one, text)


def mend(text: str) -> str:
    """Words that were broken at line ends, whole: with their hyphen where the text has them so elsewhere, or where it
    stands before a capital or a digit."""
    words = Counter(_WORD.findall(text))

    def whole(match: re.Match[str]) -> str:
        first, second = match[1], match[2]
        hyphened = f"{first}-{second}"
        if not second or not second[0].islower() or words[hyphened] > words[first + second]:
            return hyphened
        return first + second

    return _BREAK.sub(whole, text)
