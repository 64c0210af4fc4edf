"""Pages with a gold text, for bench/extraction.py: from packages, or from a clone of a public benchmark.

The pages are third parties' and stay in the cache; only their scores are printed.
"""

import ast
import gzip
import json
import re
from dataclasses import dataclass
from pathlib import Path

from trivium.data.text.charset import decode_page

_ROLE = re.compile(r":[a-zA-Z0-9_:+-]+:`([^`]*)`")
_TARGET = re.compile(r"\s*<[^<>`]*>")
_DIRECTIVE = re.compile(r"^\s*(?:\.\. .*|:[a-zA-Z ]+:.*)$", re.MULTILINE)
_COMMENTED = re.compile(r"^\.\. (?!\w+::|\[|\|)[^\n]*\n(?:[ \t]+[^\n]*\n|\n(?=[ \t]))*", re.MULTILINE)


@dataclass(frozen=True)
class Page:
    """`gold` is the text to find; where there is none, `inside` must be found and `outside` must not."""

    name: str
    markup: str
    gold: str | None = None
    inside: tuple[str, ...] = ()
    outside: tuple[str, ...] = ()


def newspaper(root: Path) -> list[Page]:
    """News pages of newspaper4k's tests with the text that its authors expect."""
    data = root / "tests/data"
    found = []
    for gold in sorted((data / "txt").glob("*.txt")):
        page = data / "html" / f"{gold.stem}.html"
        if page.is_file():
            found.append(Page(name=gold.stem, markup=_decoded(page.read_bytes()), gold=gold.read_text("utf-8")))
    return found


def realworld(root: Path) -> list[Page]:
    """Pages of trafilatura 1.0's real-world tests with the strings that its author asserts, read from the source."""
    source = (root / "tests/realworld_tests.py").read_text("utf-8")
    files: dict[str, str] = {}
    expected: dict[str, tuple[list[str], list[str]]] = {}
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Assign) and getattr(node.targets[0], "id", "") == "MOCK_PAGES":
            files = ast.literal_eval(node.value)
        if isinstance(node, ast.FunctionDef) and node.name == "test_extract":
            address = ""
            for statement in [line for part in node.body for line in ([part, *getattr(part, "body", [])])]:
                if isinstance(statement, ast.Assign) and isinstance(statement.value, ast.Call):
                    address = ast.literal_eval(statement.value.args[0])
                elif isinstance(statement, ast.Assert):
                    for test in ast.walk(statement.test):
                        if isinstance(test, ast.Compare) and isinstance(test.left, ast.Constant):
                            inside, outside = expected.setdefault(address, ([], []))
                            side = outside if isinstance(test.ops[0], ast.NotIn) else inside
                            side.append(str(test.left.value))
    found = []
    for address, (inside, outside) in sorted(expected.items()):
        page = root / "tests/cache" / files.get(address, "-")
        if page.is_file():
            markup = _decoded(page.read_bytes())
            found.append(Page(name=address, markup=markup, inside=tuple(inside), outside=tuple(outside)))
    return found


def manual(root: Path, limit: int = 60) -> list[Page]:
    """Pages of the Python manual against their reST sources, whose markup is taken off as far as patterns can."""
    base = root / "usr/share/doc/python3.11/html"
    sources = sorted((base / "_sources").rglob("*.rst.txt"))
    step = max(1, len(sources) // limit)
    found = []
    for source in sources[::step][:limit]:
        name = source.relative_to(base / "_sources").as_posix().removesuffix(".rst.txt")
        page = base / f"{name}.html"
        gold = _plain(source.read_text("utf-8"))
        if page.is_file() and len(gold) > 500:
            found.append(Page(name=name, markup=_decoded(page.read_bytes()), gold=gold))
    return found


def clone(folder: Path) -> list[Page]:
    """A clone of article-extraction-benchmark (ground-truth.json) or of Mozilla's readability (test/test-pages).

    Raises FileNotFoundError when the folder is neither.
    """
    truth = folder / "ground-truth.json"
    if truth.is_file():
        golds = json.loads(truth.read_text("utf-8"))
        return [
            Page(
                name=name,
                markup=_decoded(gzip.decompress((folder / f"html/{name}.html.gz").read_bytes())),
                gold=golds[name]["articleBody"],
            )
            for name in sorted(golds)
        ]
    cases = folder / "test/test-pages"
    if not cases.is_dir():
        raise FileNotFoundError(f"{folder} has neither ground-truth.json nor test/test-pages")
    return [
        Page(
            name=case.name,
            markup=_decoded((case / "source.html").read_bytes()),
            gold=_text((case / "expected.html").read_text("utf-8")),
        )
        for case in sorted(cases.iterdir())
    ]


def _decoded(body: bytes) -> str:
    return decode_page(body)[0]


def _text(html: str) -> str:
    from resiliparse.extract.html2text import extract_plain_text
    from resiliparse.parse.html import HTMLTree

    return extract_plain_text(HTMLTree.parse(html), preserve_formatting=False, alt_texts=False)


def _plain(rest: str) -> str:
    rest = _COMMENTED.sub("", rest)
    rest = _ROLE.sub(lambda match: _TARGET.sub("", match[1]).lstrip("~!"), rest)
    return _TARGET.sub("", _DIRECTIVE.sub("", rest))
